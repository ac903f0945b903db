import Foundation

/// `openapi.yaml`, parsed to check the server's responses against it (see ``violations(of:)``).
struct OpenAPIDocument: Sendable {
    /// The whole document.
    let root: JSONValue
    /// All operations, sorted by path and method.
    let operations: [Operation]

    /// A method on a path.
    struct Operation: Sendable {
        /// The `operationId`.
        let id: String
        /// The method in capitals.
        let method: String
        /// The path template, such as `/entries/{key}/content`.
        let path: String
        /// The parameters of the operation and of its path item.
        let parameters: [Parameter]
        /// The schemas of the request's body, by media type; empty when the operation takes no body. For JSON lines,
        /// the schema describes a line.
        let requestContent: [String: JSONSchema]
        let responses: [Int: Response]
        /// The `default` response, by which the call passes on the response of another server; `nil` when all responses
        /// are the server's own.
        let passedOn: Response?

        /// Whether the last parameter of the path is the whole rest of the target, including slashes and query. The
        /// parameter has `x-rest-of-target: true`, because OpenAPI has no keyword for such a parameter.
        var takesRest: Bool { parameters.contains(where: \.isRest) }

        /// The path as a router writes it: `/entries/:key/content`, `/fetch/*`.
        var routePattern: String {
            let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            return parts.enumerated().map { index, part in
                if takesRest, index == parts.count - 1 { return "*" }
                return part.hasPrefix("{") ? ":" + part.dropFirst().dropLast() : String(part)
            }.joined(separator: "/")
        }

        /// Whether the path of a target matches the path template.
        fileprivate func matches(_ target: String) -> Bool {
            let template = path.split(separator: "/", omittingEmptySubsequences: false)
            if takesRest {
                let segments = target.split(
                    separator: "/", maxSplits: template.count - 1, omittingEmptySubsequences: false)
                return segments.count == template.count && segments.last != ""
                    && Self.matches(segments.dropLast(), template.dropLast())
            }
            let segments = target.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
            return segments.count == template.count && Self.matches(segments[...], template[...])
        }

        private static func matches(_ segments: ArraySlice<Substring>, _ template: ArraySlice<Substring>) -> Bool {
            zip(template, segments).allSatisfy { $0.hasPrefix("{") ? !$1.isEmpty : $0 == $1 }
        }
    }

    /// A parameter in the path, the query or the header.
    struct Parameter: Sendable {
        let name: String
        /// The second name from `x-alias`; `nil` when the parameter has a single name.
        let alias: String?
        /// `path`, `query` or `header`.
        let location: String
        let isRequired: Bool
        /// See ``Operation/takesRest``.
        let isRest: Bool
        let schema: JSONSchema
    }

    /// The documented response of a status.
    struct Response: Sendable {
        /// The response fields, by lower-case name.
        let headers: [String: Header]
        /// The schemas of the body, by media type; empty for a response without a body.
        let content: [String: JSONSchema]
    }

    /// A documented response field.
    struct Header: Sendable {
        let isRequired: Bool
        let schema: JSONSchema
    }

    /// The reason why the document is not usable, with the place in the document.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private static let methods: Set<String> = ["get", "head", "put", "post", "patch", "delete", "options", "trace"]

    /// The text of the repository's `openapi.yaml`.
    static func repositoryText() throws -> String {
        var directory = URL(filePath: #filePath)
        for _ in 0..<4 { directory.deleteLastPathComponent() }
        return try String(contentsOf: directory.appending(path: "openapi.yaml"), encoding: .utf8)
    }

    /// Reads the repository's `openapi.yaml`.
    static func repository() throws -> OpenAPIDocument {
        try OpenAPIDocument(yaml: repositoryText())
    }

    /// Parses a document and compiles all its schemas, including unused schemas.
    ///
    /// - Throws: ``Fault``, `JSONSchema.Fault` or `JSONValue.YAMLError`. The error names the place in the document.
    init(yaml: String) throws {
        root = try JSONValue(yaml: yaml)
        for schema in (root["components"]?["schemas"]?.objectValue ?? [:]).values {
            _ = try JSONSchema(schema, in: root)
        }
        var operations: [Operation] = []
        let reader = Reader(root: root)
        for (path, item) in root["paths"]?.objectValue ?? [:] {
            for (method, operation) in item.objectValue ?? [:] where Self.methods.contains(method) {
                operations.append(try reader.operation(method.uppercased(), path, operation, in: item))
            }
        }
        guard !operations.isEmpty else { throw Fault(description: "the document has no operations") }
        self.operations = operations.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    /// The operation for a method and a target. Literal segments take precedence over parameters. A `HEAD` that is not
    /// documented itself is the `GET` of the path (RFC 9110 §9.3.2).
    func operation(method: String, target: String) -> Operation? {
        let candidates = self.operations(at: target)
        return candidates.first { $0.method == method } ?? candidates.first { method == "HEAD" && $0.method == "GET" }
    }

    /// All operations of the path template that fits a target best.
    func operations(at target: String) -> [Operation] {
        let fitting = operations.filter { $0.matches(target) }
        guard let best = fitting.min(by: { $0.path.count(where: { $0 == "{" }) < $1.path.count(where: { $0 == "{" }) })
        else { return [] }
        return fitting.filter { $0.path == best.path }
    }
}

/// Reads the parts of a document, and follows their references.
private struct Reader {
    let root: JSONValue

    func operation(
        _ method: String, _ path: String, _ operation: JSONValue, in item: JSONValue
    ) throws -> OpenAPIDocument.Operation {
        let place = "\(method) \(path)"
        guard let id = operation["operationId"]?.stringValue else { throw fault(place, "operationId is missing") }
        let parameters = try ((item["parameters"]?.arrayValue ?? []) + (operation["parameters"]?.arrayValue ?? []))
            .map { try parameter(resolve($0, place), place) }
        var responses: [Int: OpenAPIDocument.Response] = [:]
        var passedOn: OpenAPIDocument.Response?
        for (status, unresolved) in operation["responses"]?.objectValue ?? [:] {
            let response = try self.response(resolve(unresolved, place), "\(place) \(status)")
            if status == "default" {
                passedOn = response
                continue
            }
            guard let number = Int(status) else { throw fault(place, "the status \(status) is no number") }
            responses[number] = response
        }
        let body = try operation["requestBody"].map { try resolve($0, place) }
        return OpenAPIDocument.Operation(
            id: id, method: method, path: path, parameters: parameters,
            requestContent: try content(body?["content"], place), responses: responses, passedOn: passedOn)
    }

    func response(_ response: JSONValue, _ place: String) throws -> OpenAPIDocument.Response {
        var headers: [String: OpenAPIDocument.Header] = [:]
        for (name, unresolved) in response["headers"]?.objectValue ?? [:] {
            let header = try resolve(unresolved, place)
            headers[name.lowercased()] = OpenAPIDocument.Header(
                isRequired: header["required"]?.boolValue ?? false,
                schema: try JSONSchema(header["schema"] ?? .bool(true), in: root))
        }
        return OpenAPIDocument.Response(headers: headers, content: try content(response["content"], place))
    }

    private func parameter(_ parameter: JSONValue, _ place: String) throws -> OpenAPIDocument.Parameter {
        guard let name = parameter["name"]?.stringValue, let location = parameter["in"]?.stringValue else {
            throw fault(place, "a parameter has no name or no place")
        }
        guard let schema = parameter["schema"] else { throw fault(place, "the parameter \(name) has no schema") }
        return OpenAPIDocument.Parameter(
            name: name, alias: parameter["x-alias"]?.stringValue, location: location,
            isRequired: parameter["required"]?.boolValue ?? false,
            isRest: parameter["x-rest-of-target"]?.boolValue ?? false, schema: try JSONSchema(schema, in: root))
    }

    private func content(_ content: JSONValue?, _ place: String) throws -> [String: JSONSchema] {
        var schemas: [String: JSONSchema] = [:]
        for (type, media) in content?.objectValue ?? [:] {
            let isLines = MediaType(type).isJSONLines
            // `x-itemSchema` is the schema of each item of a body, like `itemSchema` in OpenAPI 3.2.
            let item = try media["x-itemSchema"].map { try JSONSchema($0, in: root) }
            if isLines, item == nil { throw fault(place, "\(type) has no x-itemSchema") }
            schemas[type] =
                try item.flatMap { isLines ? $0 : nil } ?? JSONSchema(media["schema"] ?? .bool(true), in: root)
        }
        return schemas
    }

    func resolve(_ value: JSONValue, _ place: String) throws -> JSONValue {
        guard let reference = value["$ref"]?.stringValue else { return value }
        guard let target = root.resolve(reference: reference) else {
            throw fault(place, "\(reference) has no target")
        }
        return target
    }

    private func fault(_ place: String, _ reason: String) -> OpenAPIDocument.Fault {
        OpenAPIDocument.Fault(description: "\(place): \(reason)")
    }
}

extension OpenAPIDocument {
    /// A response of `components/responses`; `nil` when the document has no response with this name.
    func sharedResponse(named name: String) throws -> Response? {
        let reader = Reader(root: root)
        return try root["components"]?["responses"]?[name].map { try reader.response($0, name) }
    }
}
