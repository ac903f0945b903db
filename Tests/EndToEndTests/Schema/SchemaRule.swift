/// The requirement of a schema keyword, or of several keywords that have a meaning only together.
indirect enum SchemaRule: Sendable {
    /// The schema `false`.
    case never
    case reference(String)
    case types(Set<SchemaType>)
    /// `enum` and `const`.
    case constants([JSONValue])
    case all([[SchemaRule]])
    case any([[SchemaRule]])
    case one([[SchemaRule]])
    case not([SchemaRule])
    /// `contains`: at least one item fits.
    case contains([SchemaRule])
    /// `dependentRequired`: a member requires other members.
    case dependent([String: [String]])
    /// `contentMediaType: application/json` with `contentSchema`: a text that is JSON.
    case jsonText([SchemaRule])
    /// `properties`, `additionalProperties` and `required`.
    case members(named: [String: [SchemaRule]], others: [SchemaRule]?, required: [String])
    case memberNames([SchemaRule])
    case memberCount(ClosedRange<Int>)
    case items([SchemaRule])
    case itemCount(ClosedRange<Int>)
    case uniqueItems
    case range(Double, Double)
    case greater(than: Double)
    case length(ClosedRange<Int>)
    case pattern(String)
    case dateTime

    /// Whether a text is a date-time of RFC 3339 §5.6, with a day that the calendar has. A leap second is allowed in
    /// any minute.
    static func isDateTime(_ text: String) -> Bool {
        let form = /(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|[+-](\d\d):(\d\d))/
        guard text.utf8.allSatisfy({ $0 < 0x80 }), let match = text.wholeMatch(of: form)?.output,
            let year = Int(match.1), let month = Int(match.2), let day = Int(match.3),
            let hour = Int(match.4), let minute = Int(match.5), let second = Int(match.6)
        else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        let offset = (Int(match.7 ?? "0") ?? 99, Int(match.8 ?? "0") ?? 99)
        return (1...12).contains(month) && (1...days[month - 1]).contains(day)
            && hour < 24 && minute < 60 && second <= 60 && offset.0 < 24 && offset.1 < 60
    }
}

/// The types of JSON Schema.
enum SchemaType: String, Sendable {
    case null, boolean, object, array, number, integer, string

    /// Whether the value is of this type; `1.0` is an integer (JSON Schema 2020-12 §6.1.1).
    func includes(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.null, .null), (.boolean, .bool), (.object, .object), (.array, .array), (.string, .string),
            (.number, .number):
            true
        case (.integer, .number(let number)):
            number.rounded() == number && number.isFinite
        default:
            false
        }
    }
}

/// Compiles schemas into rules.
struct SchemaCompiler {
    /// The document in which references are looked up.
    let document: JSONValue
    /// The rules behind each reference so far. A reference that is being compiled has empty rules here, so that a
    /// schema may contain itself.
    private(set) var definitions: [String: [SchemaRule]] = [:]

    /// Keywords that only inform the reader.
    private static let annotations: Set<String> = [
        "title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly", "$comment",
        "x-enum-varnames",
    ]
    /// Formats that are not checked, because they only inform the reader.
    private static let uncheckedFormats: Set<String> = [
        "uri", "uri-reference", "iri", "int32", "int64", "double", "binary", "origin-rule", "params-text",
        "entry-prefix", "host",
    ]

    init(document: JSONValue) {
        self.document = document
    }

    mutating func compile(_ schema: JSONValue, at path: String) throws -> [SchemaRule] {
        if case .bool(let allowed) = schema { return allowed ? [] : [.never] }
        guard case .object(var keywords) = schema else {
            throw JSONSchema.Fault(path: path, reason: "\(schema) is no schema")
        }
        // `x-also` is the document's own keyword. Its schema is the other form of a value, because client generators
        // need a single type.
        if let also = keywords.removeValue(forKey: "x-also") {
            let main = try compile(.object(keywords), at: path)
            return [.any([main, try compile(also, at: "\(path)/x-also")])]
        }
        var rules: [SchemaRule] = []
        for (keyword, argument) in keywords.sorted(by: { $0.key < $1.key }) {
            let place = "\(path)/\(keyword)"
            guard let rule = try compile(keyword, argument, among: keywords, at: place) else {
                throw JSONSchema.Fault(path: place, reason: "\(argument) is no argument of \(keyword)")
            }
            rules += rule
        }
        return rules
    }

    /// The rules of a keyword; empty for an annotation, and for a keyword that the rule of another keyword includes.
    /// `nil` when the argument is malformed.
    private mutating func compile(
        _ keyword: String, _ argument: JSONValue, among siblings: [String: JSONValue], at path: String
    ) throws -> [SchemaRule]? {
        switch keyword {
        case _ where Self.annotations.contains(keyword):
            return []
        case "$ref":
            return try argument.stringValue.map { [try reference($0, at: path)] }
        case "type":
            let names = argument.arrayValue ?? [argument]
            let types = names.compactMap { $0.stringValue.flatMap(SchemaType.init) }
            return types.count == names.count && !types.isEmpty ? [.types(Set(types))] : nil
        case "enum":
            return argument.arrayValue.map { [.constants($0)] }
        case "const":
            return [.constants([argument])]
        case "allOf":
            return try list(argument, at: path).map { [.all($0)] }
        case "anyOf":
            return try list(argument, at: path).map { [.any($0)] }
        case "oneOf":
            return try list(argument, at: path).map { [.one($0)] }
        case "not":
            return [.not(try compile(argument, at: path))]
        case "contains":
            return [.contains(try compile(argument, at: path))]
        case "dependentRequired":
            return argument.objectValue.map { members in
                [.dependent(members.mapValues { ($0.arrayValue ?? []).compactMap(\.stringValue) })]
            }
        case "contentMediaType":
            guard argument.stringValue == "application/json", let schema = siblings["contentSchema"] else { return nil }
            return [.jsonText(try compile(schema, at: path))]
        case "contentSchema":
            return siblings["contentMediaType"] == nil ? nil : []
        case "properties", "additionalProperties", "required":
            let keywords = ["properties", "additionalProperties", "required"].filter { siblings[$0] != nil }
            return keyword == keywords.first ? try members(siblings, at: path).map { [$0] } : []
        case "propertyNames":
            return [.memberNames(try compile(argument, at: path))]
        case "items":
            return [.items(try compile(argument, at: path))]
        case "uniqueItems":
            return argument.boolValue.map { $0 ? [.uniqueItems] : [] }
        case "minProperties", "maxProperties", "minItems", "maxItems", "minLength", "maxLength":
            return argument.countValue.map { [Self.size(keyword, $0)] }
        case "minimum":
            return argument.numberValue.map { [.range($0, .infinity)] }
        case "maximum":
            return argument.numberValue.map { [.range(-.infinity, $0)] }
        case "exclusiveMinimum":
            return argument.numberValue.map { [.greater(than: $0)] }
        // `x-pattern` replaces `pattern` where Go clients cannot apply a pattern: to a time, and to a text that may be
        // null.
        case "pattern", "x-pattern":
            return argument.stringValue.flatMap { (try? Regex($0)) == nil ? nil : [.pattern($0)] }
        case "format":
            guard let format = argument.stringValue else { return nil }
            if format == "date-time" { return [.dateTime] }
            return Self.uncheckedFormats.contains(format) ? [] : nil
        default:
            throw JSONSchema.Fault(path: path, reason: "the keyword is not known to the validator")
        }
    }

    private mutating func reference(_ name: String, at path: String) throws -> SchemaRule {
        guard let target = document.resolve(reference: name) else {
            throw JSONSchema.Fault(path: path, reason: "\(name) leads to nothing")
        }
        if definitions[name] == nil {
            definitions[name] = []
            definitions[name] = try compile(target, at: name)
        }
        return .reference(name)
    }

    private mutating func list(_ argument: JSONValue, at path: String) throws -> [[SchemaRule]]? {
        guard let schemas = argument.arrayValue, !schemas.isEmpty else { return nil }
        return try schemas.enumerated().map { try compile($1, at: "\(path)/\($0)") }
    }

    private mutating func members(_ keywords: [String: JSONValue], at path: String) throws -> SchemaRule? {
        guard let properties = (keywords["properties"] ?? .object([:])).objectValue,
            let names = (keywords["required"] ?? .array([])).arrayValue
        else { return nil }
        let required = names.compactMap(\.stringValue)
        guard required.count == names.count else { return nil }
        var named: [String: [SchemaRule]] = [:]
        for (name, schema) in properties { named[name] = try compile(schema, at: "\(path)/\(name)") }
        let others = try keywords["additionalProperties"].map { try compile($0, at: "\(path)/additionalProperties") }
        return .members(named: named, others: others, required: required)
    }

    private static func size(_ keyword: String, _ bound: Int) -> SchemaRule {
        let range = keyword.hasPrefix("min") ? bound...Int.max : 0...bound
        return switch keyword.dropFirst(3) {
        case "Properties": .memberCount(range)
        case "Items": .itemCount(range)
        default: .length(range)
        }
    }
}
