import Primitives
import TestSupport
import Testing

/// Rules that generators of clients need, or else they make clients that fail. `scripts/check-clients` compiles the
/// clients.
@Suite("openapi.yaml, for generated clients")
struct GeneratedClientTests {
    /// Every value of the document, with the path that leads to it. Examples are no part of the description.
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

    @Test("No schema has a default where a value that is left out means that nothing changes")
    func defaults() throws {
        // The server does the same for these, whether they are sent or not.
        let known = ["/DownloadRequest/properties/updateExpiry", "/DownloadRequest/properties/refresh"]
        let faults = try Self.faults { path, value in
            let isSchema = path.hasPrefix("/components/schemas/") || path.contains("/requestBody/")
            return isSchema && value["default"] != nil && !known.contains { path.hasSuffix($0) }
        }
        #expect(faults == [])
    }

    @Test("A download with the declared defaults keeps an entry as it is: pinned, and fresh as long")
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

    @Test("A download that is sent without a pin, in any form, unpins nothing", arguments: ["json", "form", "batch"])
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
}
