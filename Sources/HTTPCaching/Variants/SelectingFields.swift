import HTTPTypes

/// The values of the request fields named by an answer's Vary, taken from the request that brought the answer (RFC 9111
/// §4.1). Values with the same meaning by the definition of their field are equal.
package struct SelectingFields: Hashable, Sendable {
    /// In lower case, sorted, without repetitions.
    package let names: [String]
    /// `nil` when the request did not have the field, which differs from an empty value.
    private let values: [String?]

    /// `nil` when no request can be known to select the answer: Vary has `*`, alone or among names, or an invalid name.
    package init?(vary fields: HTTPFields, request: HTTPFields) {
        var names: Set<String> = []
        for line in fields[values: .vary] {
            var scanner = FieldScanner(line)
            guard let list = scanner.list({ $0.token()?.lowercased() }), !list.contains("*") else { return nil }
            names.formUnion(list)
        }
        self.names = names.sorted()
        values = self.names.map { Self.value(of: $0, in: request) }
    }

    /// Whether every named field has the same value in both requests, or is absent from both.
    package func matches(_ request: HTTPFields) -> Bool {
        var candidate = Candidate(request)
        return matches(&candidate)
    }

    func matches(_ candidate: inout Candidate) -> Bool {
        zip(names, values).allSatisfy { name, value in candidate.value(of: name) == value }
    }

    /// Caches the normalised values of a request.
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

    /// Reads ``text``; `nil` when it has another form.
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
