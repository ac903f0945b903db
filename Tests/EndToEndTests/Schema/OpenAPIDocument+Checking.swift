extension OpenAPIDocument {
    /// A request, and the response of the server.
    struct Exchange: Sendable {
        var method: String
        /// The path and query as sent.
        var target: String
        /// The type of the request's body; `nil` for a request without a body.
        var requestContentType: String?
        var requestBody: [UInt8] = []
        var status: Int
        /// All field lines, in their order.
        var fields: [(name: String, value: String)] = []
        var body: [UInt8] = []

        /// The first value of a field. The case of the field's name does not matter.
        fileprivate func field(_ name: String) -> String? {
            fields.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    /// All deviations of the exchange from the document; empty when the exchange is as documented.
    ///
    /// - An undocumented path must answer with the shared response `NotFound`. An undocumented method must answer with
    ///   `MethodNotAllowed`, and with exactly the documented methods in `Allow`, where GET includes HEAD.
    /// - Status, required fields, field values, media type and body of the response must be documented. If the
    ///   document has a `default`, a response of any status may match the `default`, because the server may pass on the
    ///   response of another server.
    /// - For a successful request, the query parameters and the JSON body must be documented, too.
    func violations(of exchange: Exchange) throws -> [String] {
        let path = String(exchange.target.prefix { $0 != "?" })
        let place = "\(exchange.method) \(path) \(exchange.status)"
        guard let operation = operation(method: exchange.method, target: exchange.target) else {
            return try violations(ofUndocumented: exchange).map { "\(place): \($0)" }
        }
        guard let response = operation.responses[exchange.status] ?? operation.passedOn else {
            return ["\(place): \(operation.id) does not document this status"]
        }
        var violations = self.violations(of: exchange, against: response)
        if let passedOn = operation.passedOn, self.violations(of: exchange, against: passedOn).isEmpty {
            violations = []
        }
        if (200..<300).contains(exchange.status) { violations += requestViolations(of: exchange, operation) }
        return violations.map { "\(place): \($0)" }
    }

    private func violations(ofUndocumented exchange: Exchange) throws -> [String] {
        let others = operations(at: exchange.target)
        let (expected, name) = others.isEmpty ? (404, "NotFound") : (405, "MethodNotAllowed")
        guard exchange.status == expected, let response = try sharedResponse(named: name) else {
            return ["this call is not documented, so \(expected) is expected"]
        }
        var violations = self.violations(of: exchange, against: response)
        if !others.isEmpty {
            var methods = Set(others.map(\.method))
            if methods.contains("GET") { methods.insert("HEAD") }
            let allowed = (exchange.field("Allow") ?? "").split(separator: ",").map { $0.trimming(" ") }
            if Set(allowed) != methods { violations.append("Allow is \(allowed), documented are \(methods.sorted())") }
        }
        return violations
    }

    private func violations(of exchange: Exchange, against response: Response) -> [String] {
        var violations: [String] = []
        for (name, header) in response.headers.sorted(by: { $0.key < $1.key }) {
            if let value = exchange.field(name) {
                violations += header.schema.violations(inText: value).map { "field \(name): \($0)" }
            } else if header.isRequired {
                violations.append("the field \(name) is missing")
            }
        }
        if exchange.method == "HEAD" || exchange.status == 304 || exchange.status == 204 {
            if !exchange.body.isEmpty { violations.append("\(exchange.body.count) bytes where no body is allowed") }
            return violations
        }
        if response.content.isEmpty {
            if !exchange.body.isEmpty {
                violations.append("a body of \(exchange.body.count) bytes, which is not documented")
            }
            return violations
        }
        let type = exchange.field("Content-Type")
        guard let (documented, schema) = MediaType.find(type, in: response.content) else {
            return violations + ["the media type \(type ?? "(none)") is not documented"]
        }
        // A partial body cannot be checked against the schema of the whole body.
        if exchange.status == 206 { return violations }
        return violations + Self.violations(inBody: exchange.body, documented, schema).map { "body: \($0)" }
    }

    private func requestViolations(of exchange: Exchange, _ operation: Operation) -> [String] {
        var violations: [String] = []
        // A path that takes the rest of the target takes its query, too.
        let split = operation.takesRest ? 0 : 1
        let query = exchange.target.split(separator: "?", maxSplits: split).dropFirst().first ?? ""
        let documented = Set(
            operation.parameters.filter { $0.location == "query" }.flatMap { [$0.name] + ($0.alias.map { [$0] } ?? []) }
        )
        for pair in query.split(separator: "&") {
            let name = String(pair.prefix { $0 != "=" })
            if !documented.contains(name) { violations.append("took the parameter \(name), which is not documented") }
        }
        guard var type = exchange.requestContentType else { return violations }
        // JSON may have other media types, too: see "Formats" in the document.
        let isBracketed = exchange.requestBody.first.map { "{[".utf8.contains($0) } ?? false
        if MediaType(type).isJSON || (MediaType(type).essence == "application/x-www-form-urlencoded" && isBracketed) {
            type = "application/json"
        }
        guard let (media, schema) = MediaType.find(type, in: operation.requestContent) else {
            return violations + ["took the media type \(type), which is not documented"]
        }
        return violations + Self.violations(inBody: exchange.requestBody, media, schema).map { "request body: \($0)" }
    }

    /// Checks a body by its media type. JSON is parsed and checked against the schema, newline-delimited JSON line by
    /// line. Other text is checked as a string. Bodies of forms and of any type (`*/*`) are not checked.
    private static func violations(inBody body: [UInt8], _ media: MediaType, _ schema: JSONSchema) -> [String] {
        func judge(_ text: some Sequence<UInt8>) -> [String] {
            guard let value = try? JSONValue(parsing: text) else { return ["it is not JSON"] }
            return schema.violations(in: value).map(\.description)
        }
        if media.isJSON { return judge(body) }
        if media.isJSONLines {
            if let last = body.last, last != UInt8(ascii: "\n") { return ["the last line has no line end"] }
            return body.split(separator: UInt8(ascii: "\n")).enumerated().flatMap { index, line in
                judge(line).map { "line \(index + 1): \($0)" }
            }
        }
        guard media.type == "text" || media.essence == "application/yaml" else { return [] }
        guard let text = String(validating: body, as: UTF8.self) else { return ["it is not UTF-8"] }
        return schema.violations(in: .string(text)).map(\.description)
    }
}

/// A media type with its parameters (RFC 9110 §8.3.1), as far as the document uses them.
struct MediaType: Equatable, Sendable {
    /// The type in lower case, such as `application/json`.
    let essence: String
    /// The parameters in their order, such as `version=0.0.4`.
    let parameters: [String]

    init(_ text: String) {
        let parts = text.lowercased().split(separator: ";").map { $0.trimming(" \t") }
        essence = parts.first ?? ""
        parameters = Array(parts.dropFirst())
    }

    /// The part before the slash.
    var type: Substring { essence.prefix { $0 != "/" } }
    var isJSON: Bool { essence == "application/json" || essence.hasSuffix("+json") }
    var isJSONLines: Bool { essence == "application/x-ndjson" || essence == "application/jsonl" }

    /// Whether this documented type covers a body of the type `other`, which needs every documented parameter.
    func covers(_ other: MediaType) -> Bool {
        essence == "*/*" || (essence == other.essence && parameters.allSatisfy(other.parameters.contains))
    }

    /// The documented media type that covers a Content-Type. An exact type takes precedence over a wildcard. Only the
    /// wildcard covers a missing Content-Type.
    static func find(_ contentType: String?, in content: [String: JSONSchema]) -> (MediaType, JSONSchema)? {
        let actual = MediaType(contentType ?? "")
        return content.map { (MediaType($0.key), $0.value) }
            .sorted { $0.0.essence > $1.0.essence }
            .first { $0.0.covers(actual) }
    }
}

extension JSONSchema {
    /// The violations of a value that travels as text in a response field. The text may mean a string, a number or a
    /// truth value.
    fileprivate func violations(inText text: String) -> [Violation] {
        let asString = violations(in: .string(text))
        guard !asString.isEmpty, let value = try? JSONValue(parsing: text.utf8) else { return asString }
        return violations(in: value)
    }
}

extension StringProtocol {
    fileprivate func trimming(_ characters: String) -> String {
        var rest = self[...]
        while let first = rest.first, characters.contains(first) { rest.removeFirst() }
        while let last = rest.last, characters.contains(last) { rest.removeLast() }
        return String(rest)
    }
}
