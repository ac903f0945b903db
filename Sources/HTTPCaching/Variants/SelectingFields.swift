import HTTPTypes

/// The request fields that an answer's Vary names, as the request had them that brought it (RFC 9111 §4.1).
///
/// Values are normalised: what the definition of a field says means the same is the same.
public struct SelectingFields: Hashable, Sendable {
    /// Each name once, in lower case, sorted.
    public let names: [String]
    /// The value for each name; `nil` when the request did not have the field, which is not the same as empty.
    private let values: [String?]

    /// What `fields`, those of an answer, say about `request`, those of the request that brought it. `nil` when no
    /// request can be known to select the answer: there is a `*` among the names, alone or not, or something that is
    /// no name.
    public init?(vary fields: HTTPFields, request: HTTPFields) {
        var names: Set<String> = []
        for line in fields[values: .vary] {
            var scanner = FieldScanner(line)
            while true {
                scanner.skipListSeparators()
                if scanner.isAtEnd { break }
                guard let name = scanner.token(), name != "*" else { return nil }
                scanner.skipSpace()
                guard scanner.isAtEnd || scanner.isAtListSeparator else { return nil }
                names.insert(name.lowercased())
            }
        }
        self.names = names.sorted()
        values = self.names.map { Self.value(of: $0, in: request) }
    }

    /// Whether a request selects the answer: every field that is named is the same, or absent from both.
    public func matches(_ request: HTTPFields) -> Bool {
        var candidate = Candidate(request)
        return matches(&candidate)
    }

    /// ``matches(_:)`` for a request that is held against many answers.
    func matches(_ candidate: inout Candidate) -> Bool {
        zip(names, values).allSatisfy { name, value in candidate.value(of: name) == value }
    }

    /// A request, with what was normalised of it already.
    struct Candidate {
        private let fields: HTTPFields
        private var values: [String: String?] = [:]

        init(_ fields: HTTPFields) {
            self.fields = fields
        }

        fileprivate mutating func value(of name: String) -> String? {
            if let known = values[name] { return known }
            let value = SelectingFields.value(of: name, in: fields)
            values.updateValue(value, forKey: name)
            return value
        }
    }

    /// One line for each field that is named, in one spelling only: `name:value`, or `name` for one that is absent.
    public var text: String {
        zip(names, values).map { name, value in value.map { "\(name):\($0)" } ?? name }.joined(separator: "\n")
    }

    /// Reads ``text``. `nil` when it is something else.
    public init?(text: String) {
        var names: [String] = []
        var values: [String?] = []
        for line in text.unicodeScalars.split(separator: "\n") {
            let name = String(line.prefix { $0 != ":" })
            guard HTTPField.Name(name)?.canonicalName == name, names.last.map({ $0 < name }) ?? true else { return nil }
            names.append(name)
            values.append(line.contains(":") ? String(line.drop { $0 != ":" }.dropFirst()) : nil)
        }
        self.names = names
        self.values = values
    }

    private static func value(of name: String, in request: HTTPFields) -> String? {
        // Every name here is a token.
        let name = HTTPField.Name(name)!
        let lines = request[fields: name].map(\.latin1)
        return lines.isEmpty ? nil : QualityList.normalised(name: name, lines: lines)
    }
}
