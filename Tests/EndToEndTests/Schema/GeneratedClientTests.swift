import Primitives
import TestSupport
import Testing

/// The rules that openapi.yaml must follow because client generators otherwise generate broken clients.
/// `scripts/check-clients` compiles the clients.
@Suite("openapi.yaml for generated clients")
struct GeneratedClientTests {
    /// Visits all objects of the document with their paths, except examples, which are no part of the description.
    private static func walk(_ visit: (_ path: String, _ value: [String: JSONValue]) -> Void) throws {
        func walk(_ value: JSONValue, _ path: String) {
            if case .array(let elements) = value {
                for (index, element) in elements.enumerated() { walk(element, "\(path)/\(index)") }
            }
            guard case .object(let members) = value else { return }
            visit(path, members)
            for (name, member) in members where !["example", "examples"].contains(name) {
                walk(member, "\(path)/\(name)")
            }
        }
        walk(try OpenAPIDocument.repository().root, "")
    }

    private static func faults(
        _ judge: (_ path: String, _ value: [String: JSONValue]) -> Bool
    ) throws -> [String] {
        var faults: [String] = []
        try walk { path, value in
            if judge(path, value) { faults.append(path) }
        }
        return faults
    }

    @Test("In openapi.yaml, no schema has several types besides null")
    func types() throws {
        let faults = try Self.faults { path, value in
            (value["type"]?.arrayValue ?? []).count { $0 != .string("null") } > 1
        }
        #expect(faults == [])
    }

    @Test("In openapi.yaml, every enumeration has a type")
    func enumerations() throws {
        let faults = try Self.faults { path, value in value["enum"]?.arrayValue != nil && value["type"] == nil }
        #expect(faults == [])
    }

    @Test("In openapi.yaml, no two named enumerations share a constant, because a client in Go would not compile")
    func constants() throws {
        let schemas = try OpenAPIDocument.repository().root["components"]?["schemas"]?.objectValue ?? [:]
        var owners: [String: [String]] = [:]
        for (name, schema) in schemas {
            guard let values = (schema["x-enum-varnames"] ?? schema["enum"])?.arrayValue else { continue }
            for value in values.compactMap(\.stringValue) {
                let constant = String(value.uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
                owners[constant, default: []].append(name)
            }
        }
        #expect(owners.filter { $0.value.count > 1 } == [:])
        #expect(owners.count > 50)
    }

    @Test("In openapi.yaml, an integer that may exceed 2³¹ has the format int64")
    func integers() throws {
        var count = 0
        let faults = try Self.faults { path, value in
            let types = value["type"].map { $0.arrayValue ?? [$0] } ?? []
            guard types.contains(.string("integer")) else { return false }
            count += 1
            let isSmall = value["maximum"]?.numberValue.map { $0 < 2_147_483_648 } ?? false
            return !isSmall && value["format"] != .string("int64")
        }
        #expect(faults == [])
        #expect(count > 30)
    }

    @Test("In openapi.yaml, every number has the format double")
    func numbers() throws {
        let faults = try Self.faults { path, value in
            value["type"] == .string("number") && value["format"] != .string("double")
        }
        #expect(faults == [])
    }

    @Test("In openapi.yaml, only a schema with a single type and without the format date-time has a pattern")
    func patterns() throws {
        let faults = try Self.faults { path, value in
            value["pattern"]?.stringValue != nil
                && (value["format"] == .string("date-time") || value["type"]?.arrayValue != nil)
        }
        #expect(faults == [])
    }

    @Test("In openapi.yaml, a parameter has a schema instead of content, and a header parameter is not an array")
    func parameters() throws {
        let faults = try Self.faults { path, value in
            guard let place = value["in"]?.stringValue, value["name"] != nil, place != "body" else { return false }
            if path.hasPrefix("/components/securitySchemes") { return false }
            let isArray = value["schema"]?["type"] == .string("array")
            return value["content"] != nil || value["schema"] == nil || (place == "header" && isArray)
        }
        #expect(faults == [])
    }

    @Test("In openapi.yaml, no member has a default if its absence means no change")
    func defaults() throws {
        // For these two fields, a request with the default has the same effect as a request without the field.
        let known = ["/DownloadRequest/properties/updateExpiry", "/DownloadRequest/properties/refresh"]
        let faults = try Self.faults { path, value in
            let isSchema = path.hasPrefix("/components/schemas/") || path.contains("/requestBody/")
            return isSchema && value["default"] != nil && !known.contains { path.hasSuffix($0) }
        }
        #expect(faults == [])
    }

    @Test("In openapi.yaml, every operation documents the general errors, and the errors of its tokens and bodies")
    func statuses() throws {
        let document = try OpenAPIDocument.repository()
        for operation in document.operations {
            let place = document.root["paths"]?[operation.path]?[operation.method.lowercased()]
            var expected: Set<Int> = [400, 408, 414, 431, 503]
            if place?["security"] != nil { expected.formUnion([401, 403, 421, 429]) }
            if place?["requestBody"] != nil, operation.passedOn == nil { expected.insert(413) }
            #expect(expected.subtracting(operation.responses.keys) == [], "\(operation.id)")
        }
    }

    @Test("A download that sends the documented default of every member keeps the pin and the expiry date of its entry")
    func declaredDefaults() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "a") }
        defer { origin.stop() }
        let schema = try OpenAPIDocument.repository().root["components"]?["schemas"]?["DownloadRequest"]
        let defaults = (schema?["properties"]?.objectValue ?? [:]).compactMapValues { $0["default"]?.boolValue }
        #expect(defaults.count == 2)
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await server.download(["url": .string(url), "ttl": 60, "pinned": true])
            let key = md5(url)
            for isSent in [false, true] {
                var request: [JSON.Member] = [.init("url", .string(url))]
                if isSent { request += defaults.map { JSON.Member($0.key, .bool($0.value)) } }
                server.clock.advance(by: .seconds(1))
                let reply = try await server.download(.object(request))
                #expect(try reply.member("outcome") == "cached")
                let entry = try await server.get("/entries/\(key)").json
                #expect(entry["pinned"] == true)
                #expect(entry["expiryDate"] == (try reply.member("entry", "expiryDate")))
            }
        }
    }

    @Test(
        "A download without a member for the pin keeps the pin of its entry: as JSON, as a form, and in a batch",
        arguments: ["json", "form", "batch"])
    func pinLeftOut(form: String) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.eTag: "\"1\""], body: "a")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await server.download(["url": .string(url), "ttl": 60, "pinned": true])
            for refresh in [false, true] {
                let reply: HTTPReply
                switch form {
                case "json": reply = try await server.download(["url": .string(url), "refresh": .bool(refresh)])
                case "form":
                    reply = try await server.client.request(
                        "POST", "/download", fields: [.contentType: "application/x-www-form-urlencoded"],
                        body: Array("url=\(url.percentEncoded)&refresh=\(refresh)".utf8))
                default:
                    reply = try await server.client.request(
                        "POST", "/downloads", fields: [.contentType: "application/json"],
                        body: Array(#"[{"url": "\#(url)", "refresh": \#(refresh)}]"#.utf8))
                }
                #expect(reply.status == 200)
                #expect(try await server.get("/entries/\(md5(url))").member("pinned") == true)
            }
            _ = try await server.client.request(
                "PATCH", "/entries/\(md5(url))", fields: [.contentType: "application/json"],
                body: Array(#"{"ttl": 5}"#.utf8))
            #expect(try await server.get("/entries/\(md5(url))").member("pinned") == true)
        }
    }

    @Test("The query parameter params has an alias that generated clients can use")
    func urlParams() async throws {
        try await TestServer.with { (server) async throws in
            let query = "url=http://h.example/&urlParams=\(#"{"a": 1}"#.percentEncoded)"
            let stored = try await server.client.request(
                "PUT", "/json?\(query)&ttl=60", fields: [.contentType: "application/json"], body: Array("[1]".utf8))
            #expect(try stored.member("url") == "http://h.example/?a=1")
            for name in ["params", "urlParams"] {
                let same = "url=http://h.example/&\(name)=\(#"{"a": 1}"#.percentEncoded)"
                #expect(try await server.get("/json?\(same)").text == "[1]")
                #expect(try await server.get("/explain?\(same)").member("hit") == true)
                #expect(try await server.get("/entries?\(same)").member("entries")?.arrayValue?.count == 1)
            }
            let twice = try await server.get("/json?\(query)&params=\(#"{"a": 1}"#.percentEncoded)")
            #expect(twice.status == 400)
        }
    }
}
