import HTTPTypes
import Primitives
import TestSupport
import Testing

/// A filter in another spelling than that of the held entry selects the entry, or gets 400. The filter never gets an
/// empty result.
@Suite("Filters in every spelling of a URL, a host and a prefix")
struct FilterSpellingTests {
    private static let json: HTTPFields = [.contentType: "application/json"]

    private func filtered(_ name: String, _ value: String) -> String { "/entries?\(name)=\(value.percentEncoded)" }

    @Test("A host, prefix or URL in any spelling lists and removes the held entry")
    func spellings() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        let base = origin.url("")
        let filters = [
            ("host", "b\u{FC}cher.example"), ("host", "B\u{DC}CHER.example"), ("host", "xn--bcher-kva.example."),
            ("host", "::1"), ("host", "[0:0::1]"), ("host", "127.0.0.1"), ("host", "127.1"),
            ("prefix", "http://b\u{FC}cher.example/"), ("prefix", "http://xn--bcher-kva.example:80/"),
            ("prefix", "http://[0::1]:9/"), ("prefix", base + "/m\u{FC}n"), ("prefix", base + "/m%c3%bcnchen"),
            ("prefix", base + "/%6D"), ("prefix", base.replacing("http", with: "HTTP") + "/m"),
            ("prefix", base + "/./m"), ("prefix", base + "/x/../m"), ("prefix", base + "/"), ("prefix", base),
            ("url", base + "/x/../m\u{FC}nchen/a"), ("url", "HTTP://B\u{DC}cher.example:80/x#top"),
        ]
        try await TestServer.with { (server) async throws in
            for (name, value) in filters {
                for url in ["http://b\u{FC}cher.example/x", "http://[::1]:9/y"] {
                    let path = "/json?ttl=60&url=\(url.percentEncoded)"
                    _ = try await server.client.request("PUT", path, fields: Self.json, text: "[1]")
                }
                _ = try await server.download(["url": .string(base + "/m%C3%BCnchen/a"), "ttl": 60])
                let path = filtered(name, value)
                #expect(try await server.get(path).member("entries")?.arrayValue?.count == 1, "\(name)=\(value)")
                let counted = try await server.client.request("DELETE", path + "&dryRun=true")
                #expect(try counted.member("removed") == 1, "\(name)=\(value)")
                let removed = try await server.client.request("DELETE", path)
                #expect(try removed.member("removed") == 1, "\(name)=\(value)")
            }
        }
    }

    @Test(
        "A host with a port and an ambiguous prefix get 400 with a hint",
        arguments: [
            ("host", "127.0.0.1:8080", "prefix=http://127.0.0.1:8080/"), ("host", "[::1]:80", "prefix=http://[::1]/"),
            ("host", "a/b", "not a valid host"), ("prefix", "example.com/", "starts with http://"),
            ("prefix", "http://b\u{FC}cher.example", "http://xn--bcher-kva.example/"),
            ("prefix", "http://a.example:80", "http://a.example/"), ("prefix", "http://a.example/%c", "%25"),
            ("prefix", "http://a.example/..", "dot segment"), ("prefix", "http://a.example/#x", "leave out the #"),
        ])
    func refused(name: String, value: String, words: String) async throws {
        try await TestServer.with { (server) async throws in
            for method in ["GET", "DELETE"] {
                let reply = try await server.client.request(method, filtered(name, value))
                #expect(reply.status == 400)
                #expect(try reply.member("pointer") == .string("/" + name))
                #expect(try reply.member("detail")?.stringValue?.contains(words) == true, "\(reply.text)")
            }
        }
    }

    @Test("A prefix of a caller's own key is matched as written")
    func keys() async throws {
        try await TestServer.with { (server) async throws in
            for key in ["Note.", "note", "HTTP:x", "%41"] { try await server.put(key, [1]) }
            for (prefix, key) in [("Note.", "Note."), ("n", "note"), ("HTTP:", "HTTP:x"), ("%4", "%41")] {
                let entries = try await server.get(filtered("prefix", prefix)).member("entries")?.arrayValue
                #expect(entries?.compactMap { $0["key"]?.stringValue } == [key])
            }
        }
    }

    @Test("A URL or prefix in any spelling removes the responses of /fetch in every spelling and variant")
    func responses() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=600", .vary: "Accept"], body: request["Accept"] ?? "")
        }
        defer { origin.stop() }
        let base = origin.url("")
        try await TestServer.with { (server) async throws in
            func fill() async throws {
                for target in ["/m%C3%BC?q=%c3", "/m%c3%bc?q=%c3", "/x/../m%C3%BC?q=%c3", "/other"] {
                    for type in ["text/plain", "text/csv"] {
                        let reply = try await server.client.withConnection { connection in
                            try connection.sendRequest("GET", "/fetch/\(base)\(target)", fields: [.accept: type])
                            return try connection.readReply()
                        }
                        #expect(reply.status == 200)
                    }
                }
                try await poll("all to be stored") { server.service.totals.entries == 8 }
            }
            for (name, value) in [
                ("url", base + "/m\u{FC}?q=%c3"), ("url", base + "/m%c3%BC?q=%c3"), ("prefix", base + "/m%c3%bc"),
                ("prefix", base + "/m"),
            ] {
                try await fill()
                let entries = try await server.get(filtered(name, value)).member("entries")?.arrayValue
                #expect(entries?.count == 6, "\(name)=\(value)")
                let reply = try await server.client.request("DELETE", filtered(name, value))
                #expect(try reply.member("removed") == 6, "\(name)=\(value)")
                #expect(server.service.totals.entries == 2)
            }
        }
    }

    @Test("A running /fetch of a purged URL in another spelling stores no response")
    func underWay() async throws {
        let gate = Gate("the origin's answer")
        let origin = try ScriptedOrigin { _, connection in
            try gate.waitBlocking()
            try connection.respond(fields: [.cacheControl: "max-age=600"], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            async let reply = server.get("/fetch/\(origin.url("/x/../a"))")
            try await origin.waitForRequests(1)
            #expect(try await server.client.request("DELETE", filtered("url", origin.url("/a"))).status == 200)
            gate.open()
            #expect(try await reply.text == "x")
            // A later request finds no stored response.
            let again = try await server.get("/fetch/\(origin.url("/x/../a"))")
            #expect(again["Cache-Status"]?.contains("fwd=uri-miss") == true)
        }
    }
}
