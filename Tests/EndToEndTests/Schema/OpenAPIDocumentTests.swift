import Testing

/// Tests of the test tool, and tests of `openapi.yaml` that need no server.
@Suite("openapi.yaml")
struct OpenAPIDocumentTests {
    static let small = """
        openapi: 3.1.0
        paths:
          /things/{id}:
            parameters:
              - {name: id, in: path, required: true, schema: {type: string}}
            get:
              operationId: getThing
              parameters:
                - {name: full, in: query, schema: {type: boolean}}
              responses:
                '200':
                  description: It.
                  headers:
                    X-Count: {required: true, schema: {type: integer, minimum: 0}}
                  content:
                    application/json: {schema: {$ref: '#/components/schemas/Thing'}}
                '304': {description: Same.}
                '404': {$ref: '#/components/responses/NotFound'}
            put:
              operationId: putThing
              requestBody:
                content:
                  application/json: {schema: {$ref: '#/components/schemas/Thing'}}
              responses:
                '200':
                  description: Lines.
                  content:
                    application/x-ndjson:
                      schema: {type: string}
                      x-itemSchema: {$ref: '#/components/schemas/Thing'}
          /things/all:
            delete:
              operationId: deleteAll
              responses:
                '200':
                  description: Words.
                  content:
                    text/plain; version=1: {schema: {type: string, pattern: '^ok'}}
          /through/{url}:
            parameters:
              - {name: url, in: path, required: true, x-rest-of-target: true, schema: {type: string}}
            get:
              operationId: through
              responses:
                '404': {$ref: '#/components/responses/NotFound'}
                default:
                  description: Anything that came through.
                  headers:
                    Via: {required: true, schema: {type: string}}
                  content:
                    '*/*': {schema: {description: Anything.}}
        components:
          schemas:
            Thing: {type: object, properties: {id: {type: integer}}, required: [id], additionalProperties: false}
          responses:
            NotFound:
              description: None.
              content:
                application/problem+json: {schema: {type: object, required: [status]}}
            MethodNotAllowed:
              description: None.
              headers:
                Allow: {required: true, schema: {type: string}}
              content:
                application/problem+json: {schema: {type: object, required: [status]}}
        """

    static let good = OpenAPIDocument.Exchange(
        method: "GET", target: "/things/1?full=true", status: 200,
        fields: [("content-type", "application/json"), ("X-Count", "5")], body: Array(#"{"id": 1}"#.utf8))

    /// A change that damages a good exchange, and words that a resulting violation must contain.
    struct Damage: Sendable, CustomTestStringConvertible {
        let words: String
        let apply: @Sendable (inout OpenAPIDocument.Exchange) -> Void
        var testDescription: String { words }

        init(_ words: String, _ apply: @escaping @Sendable (inout OpenAPIDocument.Exchange) -> Void) {
            self.words = words
            self.apply = apply
        }
    }

    static let damages = [
        Damage("does not document this status") { $0.status = 201 },
        Damage("x-count is missing") { $0.fields.removeLast() },
        Damage("is not of type integer") { $0.fields[1].value = "many" },
        Damage("is not in 0.0") { $0.fields[1].value = "-1" },
        Damage("media type text/html is not documented") { $0.fields[0].value = "text/html" },
        Damage("media type (none) is not documented") { $0.fields.removeFirst() },
        Damage("not JSON") { $0.body = Array("{".utf8) },
        Damage("id is missing") { $0.body = Array("{}".utf8) },
        Damage("/name: nothing is allowed here") { $0.body = Array(#"{"id": 1, "name": "x"}"#.utf8) },
        Damage("took the parameter extra") { $0.target += "&extra=1" },
        Damage("so 404 is expected") { $0.target = "/things" },
        Damage("so 405 is expected") { $0.method = "POST" },
        Damage("where no body is allowed") { $0.method = "HEAD" },
        Damage("where no body is allowed") { $0.status = 304 },
        Damage("took the media type text/csv") {
            $0.method = "PUT"
            $0.requestContentType = "text/csv"
        },
        Damage("request body: /id") {
            $0.method = "PUT"
            $0.target = "/things/1"
            $0.requestContentType = "application/json; charset=utf-8"
            $0.requestBody = Array(#"{"id": "1"}"#.utf8)
        },
        Damage("request body: /id") {
            $0.method = "PUT"
            $0.target = "/things/1"
            $0.requestContentType = "application/x-www-form-urlencoded"
            $0.requestBody = Array(#"{"id": "1"}"#.utf8)
        },
        Damage("line 2: the value: id is missing") {
            $0.method = "PUT"
            $0.fields[0].value = "application/x-ndjson"
            $0.body = Array("{\"id\": 1}\n{}\n".utf8)
        },
        Damage("the last line has no line end") {
            $0.method = "PUT"
            $0.fields[0].value = "application/x-ndjson"
            $0.body = Array("{\"id\": 1}".utf8)
        },
        Damage("media type text/plain is not documented") {
            $0.method = "DELETE"
            $0.target = "/things/all"
            $0.fields[0].value = "text/plain"
        },
        Damage("does not match ^ok") {
            $0.method = "DELETE"
            $0.target = "/things/all"
            $0.fields[0].value = "text/plain; charset=utf-8; version=1"
        },
        Damage("Allow is") {
            $0.method = "POST"
            $0.status = 405
            $0.fields = [("Content-Type", "application/problem+json"), ("Allow", "GET, PUT")]
            $0.body = Array(#"{"status": 405}"#.utf8)
        },
        Damage("via is missing") {
            $0.target = "/through/http://h/"
            $0.status = 299
        },
        Damage("status is missing") {
            $0.target = "/through/http://h/"
            $0.status = 404
            $0.fields[0].value = "application/problem+json"
        },
        Damage("so 404 is expected") { $0.target = "/through/" },
        Damage("status is missing") {
            $0.target = "/nothing"
            $0.status = 404
            $0.fields[0].value = "application/problem+json"
        },
    ]

    @Test("An exchange that conforms to the OpenAPI document has no violations")
    func goodExchange() throws {
        let document = try OpenAPIDocument(yaml: Self.small)
        #expect(try document.violations(of: Self.good).isEmpty)
        var head = Self.good
        head.method = "HEAD"
        head.body = []
        #expect(try document.violations(of: head).isEmpty, "HEAD is as GET, without the body")
        var refused = Self.good
        refused.method = "PATCH"
        refused.status = 405
        refused.fields = [("Allow", "GET, HEAD,PUT"), ("Content-Type", "application/problem+json")]
        refused.body = Array(#"{"status": 405}"#.utf8)
        #expect(try document.violations(of: refused).isEmpty)
    }

    @Test("The check of an exchange finds every deviation from the OpenAPI document", arguments: damages)
    func damagedExchange(_ damage: Damage) throws {
        var exchange = Self.good
        damage.apply(&exchange)
        let violations = try OpenAPIDocument(yaml: Self.small).violations(of: exchange)
        #expect(violations.contains { $0.contains(damage.words) }, "\(violations)")
    }

    @Test("A literal path segment takes precedence over a path parameter, and a path parameter is never empty")
    func pathMatching() throws {
        let document = try OpenAPIDocument(yaml: Self.small)
        #expect(document.operation(method: "DELETE", target: "/things/all")?.id == "deleteAll")
        #expect(document.operation(method: "GET", target: "/things/all") == nil)
        #expect(document.operation(method: "GET", target: "/things/a%2Fb?full=true")?.id == "getThing")
        #expect(document.operation(method: "GET", target: "/things/") == nil)
        let patterns = ["/things/all", "/things/:id", "/things/:id", "/through/*"]
        #expect(document.operations.map(\.routePattern) == patterns)
    }

    @Test("A parameter for the rest of the target includes slashes and the query, and is never empty")
    func restMatching() throws {
        let document = try OpenAPIDocument(yaml: Self.small)
        for rest in ["http://h/a//b?c=/d", "a", "/", "?"] {
            #expect(document.operation(method: "GET", target: "/through/\(rest)")?.id == "through")
        }
        for target in ["/through", "/through/", "/through?url=x", "/other/x"] {
            #expect(document.operation(method: "GET", target: target) == nil)
        }
    }

    @Test("Any response that /fetch passes on conforms, even if the document describes another answer for its status")
    func passedOnExchange() throws {
        let document = try OpenAPIDocument(yaml: Self.small)
        for status in [200, 299, 404, 599] {
            let exchange = OpenAPIDocument.Exchange(
                method: "GET", target: "/through/http://h/?any=thing", status: status,
                fields: [("Content-Type", "application/problem+json"), ("Via", "1.1 larder")], body: Array("{}".utf8))
            #expect(try document.violations(of: exchange).isEmpty)
        }
    }

    @Test("The parser supports all of the repository's openapi.yaml, and each operation has an id and a description")
    func repositoryDocument() throws {
        let document = try OpenAPIDocument.repository()
        #expect(Set(document.operations.map(\.id)).count == document.operations.count)
        for operation in document.operations {
            let place = document.root["paths"]?[operation.path]?[operation.method.lowercased()]
            #expect(
                place?["description"]?.stringValue?.contains("curl") == true, "\(operation.id) shows how to call it")
            #expect(place?["summary"]?.stringValue?.isEmpty == false, "\(operation.id) has a summary")
            let names = operation.path.matches(of: /\{(\w+)\}/).map { String($0.1) }
            #expect(operation.parameters.filter { $0.location == "path" }.map(\.name) == names, "\(operation.id)")
        }
        #expect(try document.sharedResponse(named: "NotFound") != nil)
        #expect(try document.sharedResponse(named: "MethodNotAllowed") != nil)
    }

    @Test("Every example in the repository's openapi.yaml is valid under its schema")
    func examples() throws {
        let document = try OpenAPIDocument.repository()
        var count = 0
        func walk(_ value: JSONValue, _ path: String) throws {
            if case .array(let elements) = value {
                for (index, element) in elements.enumerated() { try walk(element, "\(path)/\(index)") }
            }
            guard case .object(let members) = value else { return }
            // A media type, a parameter or a header has its examples beside its `schema`. The example of a schema is
            // inside the schema.
            let isSchema = members["schema"] == nil
            var examples = members["example"].map { [$0] } ?? []
            if !isSchema, let named = members["examples"]?.objectValue {
                examples += named.values.compactMap { $0["value"] }
            }
            for example in examples {
                let schema = try JSONSchema(members["schema"] ?? value, in: document.root)
                #expect(schema.violations(in: example).isEmpty, "\(path): \(schema.violations(in: example))")
                count += 1
            }
            for (name, member) in members where name != "example" && name != "examples" {
                try walk(member, "\(path)/\(name)")
            }
        }
        try walk(document.root, "")
        #expect(count > 30, "\(count) examples were found")
    }
}
