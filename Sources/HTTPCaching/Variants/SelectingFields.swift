import HTTPTypes

/// The values of the request fields named by an answer's Vary, taken from the request that brought the answer (RFC 9111
/// §4.1).
///
/// Values are normalised: values with the same meaning by the definition of their field are equal.
package struct SelectingFields: Hashable, Sendable {
    /// The field names without repetitions, in lower case, sorted.
    package let names: [String]
    /// The value for each name; `nil` when the request did not have the field, which differs from an empty value.
    private let values: [String?]

    /// Reads the fields of an answer and of the request that brought it. Returns `nil` when no request can be known to
    /// select the answer: Vary contains `*`, alone or among names, or a member that is not a name.
    ///
    /// - Parameters:
    ///   - fields: the fields of the answer.
    ///   - request: the fields of the request.
    package init?(vary fields: HTTPFields, request: HTTPFields) {
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

    /// Whether a request selects the answer: every named field has the same value in both requests, or is absent from
    /// both.
    package func matches(_ request: HTTPFields) -> Bool {
        var candidate = Candidate(request)
        return matches(&candidate)
    }

    /// Works like ``matches(_:)``, for a request that is compared with many answers.
    func matches(_ candidate: inout Candidate) -> Bool {
        zip(names, values).allSatisfy { name, value in candidate.value(of: name) == value }
    }

    /// A request with a cache of its normalised values.
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

    /// A unique text with a line for each named field: `name:value`, or `name` when the field is absent.
    package var text: String {
        zip(names, values).map { name, value in value.map { "\(name):\($0)" } ?? name }.joined(separator: "\n")
    }

    /// Reads ``text``. Returns `nil` when the text has another form.
    package init?(text: String) {
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
        // `names` contains only valid field names.
        let name = HTTPField.Name(name)!
        let lines = request[fields: name].map(\.latin1)
        return lines.isEmpty ? nil : QualityList.normalised(name: name, lines: lines)
    }
}
