/// A compiled schema of JSON Schema 2020-12, limited to the keywords that `openapi.yaml` uses.
///
/// The compiler follows every reference and throws on an unknown keyword, so that no rule of the document stays
/// unchecked unnoticed. Of the formats, only `date-time` is checked.
struct JSONSchema: Sendable {
    /// A rule that a value breaks.
    struct Violation: Equatable, CustomStringConvertible {
        /// The RFC 6901 pointer to the value; empty for the whole value.
        let path: String
        let reason: String

        var description: String { "\(path.isEmpty ? "the value" : path): \(reason)" }
    }

    /// The reason why a schema is not usable.
    struct Fault: Error, Equatable, CustomStringConvertible {
        /// The place in the schema.
        let path: String
        let reason: String

        var description: String { "schema \(path): \(reason)" }
    }

    private let rules: [SchemaRule]
    private let definitions: [String: [SchemaRule]]

    /// Compiles a schema.
    ///
    /// - Parameter document: the target of references such as `#/components/schemas/Entry`.
    /// - Throws: ``Fault`` on an unknown keyword or format, a malformed argument, or a dangling reference, anywhere in
    ///   the schema and behind its references.
    init(_ schema: JSONValue, in document: JSONValue) throws {
        var compiler = SchemaCompiler(document: document)
        rules = try compiler.compile(schema, at: "#")
        definitions = compiler.definitions
    }

    /// All rules that the value breaks; empty for a valid value.
    func violations(in value: JSONValue) -> [Violation] {
        check(value, rules, at: "")
    }

    private func check(_ value: JSONValue, _ rules: [SchemaRule], at path: String) -> [Violation] {
        rules.flatMap { check(value, $0, at: path) }
    }

    private func check(_ value: JSONValue, _ rule: SchemaRule, at path: String) -> [Violation] {
        func violated(_ reason: String, unless isKept: Bool) -> [Violation] {
            isKept ? [] : [Violation(path: path, reason: reason)]
        }
        switch rule {
        case .never:
            return violated("nothing is allowed here", unless: false)
        case .reference(let name):
            return check(value, definitions[name] ?? [.never], at: path)
        case .types(let types):
            let expected = types.map(\.rawValue).sorted().joined(separator: " or ")
            return violated("\(value) is not of type \(expected)", unless: types.contains { $0.includes(value) })
        case .constants(let allowed):
            let list = allowed.map(\.description).joined(separator: ", ")
            return violated("\(value) is none of: \(list)", unless: allowed.contains(value))
        case .all(let parts):
            return parts.flatMap { check(value, $0, at: path) }
        case .any(let parts):
            let outcomes = parts.map { check(value, $0, at: path) }
            return outcomes.contains(where: \.isEmpty) ? [] : nearest(of: outcomes, path)
        case .one(let parts):
            let outcomes = parts.map { check(value, $0, at: path) }
            let fitting = outcomes.count(where: \.isEmpty)
            if fitting == 0 { return nearest(of: outcomes, path) }
            return violated("\(fitting) schemas fit, not one", unless: fitting == 1)
        case .not(let schema):
            return violated("\(value) fits an excluded schema", unless: !check(value, schema, at: path).isEmpty)
        case .contains(let schema):
            guard let elements = value.arrayValue else { return [] }
            return violated("no item fits", unless: elements.contains { check($0, schema, at: path).isEmpty })
        case .dependent(let others):
            guard let members = value.objectValue else { return [] }
            let missing = others.filter { members[$0.key] != nil }.flatMap(\.value).filter { members[$0] == nil }
            return missing.sorted().map { Violation(path: path, reason: "\($0) is missing, but required") }
        case .jsonText(let schema):
            guard let text = value.stringValue else { return [] }
            guard let inner = try? JSONValue(parsing: text.utf8) else { return violated("no JSON text", unless: false) }
            return check(inner, schema, at: path)
        case .members(let named, let others, let required):
            return checkMembers(of: value, named, others, required, at: path)
        case .memberNames(let schema):
            return (value.objectValue ?? [:]).keys.sorted().flatMap { check(.string($0), schema, at: "\(path)/\($0)") }
        case .memberCount(let allowed):
            guard let members = value.objectValue else { return [] }
            return violated("\(members.count) members", unless: allowed.contains(members.count))
        case .items(let schema):
            return (value.arrayValue ?? []).enumerated().flatMap { check($1, schema, at: "\(path)/\($0)") }
        case .itemCount(let allowed):
            guard let elements = value.arrayValue else { return [] }
            return violated("\(elements.count) items", unless: allowed.contains(elements.count))
        case .uniqueItems:
            guard let elements = value.arrayValue else { return [] }
            return violated("two items are equal", unless: Set(elements).count == elements.count)
        case .range(let lower, let upper):
            guard let number = value.numberValue else { return [] }
            return violated("\(value) is not in \(lower)...\(upper)", unless: number >= lower && number <= upper)
        case .greater(let bound):
            guard let number = value.numberValue else { return [] }
            return violated("\(value) is not greater than \(bound)", unless: number > bound)
        case .length(let allowed):
            guard let count = value.stringValue?.unicodeScalars.count else { return [] }
            return violated("\(count) characters", unless: allowed.contains(count))
        case .pattern(let pattern):
            // The schema's compiler has refused malformed patterns. The pattern is compiled again here, because `Regex`
            // is not Sendable and cannot be stored.
            guard let text = value.stringValue, let regex = try? Regex(pattern) else { return [] }
            return violated("\(value) does not match \(pattern)", unless: text.firstMatch(of: regex) != nil)
        case .dateTime:
            guard let text = value.stringValue else { return [] }
            return violated("\(value) is no RFC 3339 date-time", unless: SchemaRule.isDateTime(text))
        }
    }

    /// Explains the failure of all alternatives by the alternative with the fewest violations.
    private func nearest(of outcomes: [[Violation]], _ path: String) -> [Violation] {
        [Violation(path: path, reason: "none of \(outcomes.count) schemas fits")]
            + (outcomes.min { $0.count < $1.count } ?? [])
    }

    private func checkMembers(
        of value: JSONValue, _ named: [String: [SchemaRule]], _ others: [SchemaRule]?, _ required: [String],
        at path: String
    ) -> [Violation] {
        guard let members = value.objectValue else { return [] }
        var violations = required.filter { members[$0] == nil }.map {
            Violation(path: path, reason: "\($0) is missing")
        }
        for (name, member) in members.sorted(by: { $0.key < $1.key }) {
            let place = path + "/" + name.replacing("~", with: "~0").replacing("/", with: "~1")
            if let schema = named[name] {
                violations += check(member, schema, at: place)
            } else if let others {
                violations += check(member, others, at: place)
            }
        }
        return violations
    }
}
