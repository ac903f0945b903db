import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Durations in seconds, or with a unit")
struct DurationTests {
    private static let json: HTTPFields = [.contentType: "application/json"]
    private static let durations: [(text: String, seconds: Int)] = [
        ("20", 20), ("20.0", 20), ("20s", 20), ("15m", 900), ("1h", 3600), ("7d", 604_800), ("1.5h", 5400),
    ]

    /// Runs `body` with a server, its client and an origin.
    private func withServer(_ body: (TestServer, CheckedClient, ScriptedOrigin) async throws -> Void) async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in try await body(server, server.client, origin) }
    }

    /// The JSON of a duration: a string if the duration has a unit or `isText` is `true`, otherwise a number.
    private func value(_ text: String, _ isText: Bool) -> String {
        isText || "smhd".contains(text.last ?? "s") ? "\"\(text)\"" : text
    }

    @Test(
        "JSON, forms, batches, queries, PATCH and Larder-TTL accept the same durations; JSON also accepts them quoted",
        arguments: durations, [false, true])
    func everywhere(duration: (text: String, seconds: Int), isText: Bool) async throws {
        let (text, seconds) = duration
        let value: (String) -> String = { self.value($0, isText) }
        try await withServer { (server, client, origin) async throws in
            let expected = JSON.number(seconds)
            let url = origin.url("/a")
            let form = try await client.request(
                "POST", "/download", fields: [.contentType: "application/x-www-form-urlencoded"],
                text: "url=\(url.percentEncoded)&ttl=\(text)&staleIfError=\(text)&staleWhileRevalidate=\(text)")
            #expect(try form.member("entry", "expiresInSeconds") == expected, "\(form.text)")
            let body = try await client.request(
                "POST", "/download", fields: Self.json,
                text: #"{"url": "\#(origin.url("/b"))", "ttl": \#(value(text)), "staleIfError": \#(value(text))}"#)
            #expect(try body.member("entry", "expiresInSeconds") == expected, "\(body.text)")
            let batch = try await client.request(
                "POST", "/downloads", fields: Self.json,
                text: #"[{"url": "\#(origin.url("/c"))", "ttl": \#(value(text))}]"#)
            #expect(try batch.member("entry", "expiresInSeconds") == expected, "\(batch.text)")
            let data = try await client.request("PUT", "/entries/k/content?ttl=\(text)", text: "x")
            #expect(try data.member("expiresInSeconds") == expected)
            let stored = try await client.request("PUT", "/json?url=\(url)&ttl=\(text)", fields: Self.json, text: "[1]")
            #expect(try stored.member("expiresInSeconds") == expected)
            _ = try await client.request("PUT", "/entries/k/content?ttl=5", text: "x")
            let changed = try await client.request(
                "PATCH", "/entries/k", fields: Self.json, text: #"{"ttl": \#(value(text))}"#)
            #expect(try changed.member("expiresInSeconds") == expected)
            let space = try await client.request(
                "PUT", "/namespaces/a", fields: Self.json, text: #"{"defaultTTL": \#(value(text))}"#)
            #expect(try space.member("defaultTTL") == expected)
            // The ttl in Cache-Status is in whole seconds.
            let field = try await client.request(
                "GET", "/fetch/\(origin.url("/d"))", fields: [HTTPField.Name("Larder-TTL")!: text])
            #expect(field["Cache-Status"]?.contains("ttl=\(seconds)") == true, "\(field.fields)")
            let query = try await client.request(
                "GET", "/fetch?url=\(origin.url("/e").percentEncoded)&ttl=\(text)")
            #expect(query["Cache-Status"]?.contains("ttl=\(seconds)") == true, "\(query.fields)")
            #expect(server.service.totals.entries > 0)
        }
    }

    @Test(
        "An invalid duration is refused with a detail that shows the valid forms",
        arguments: [
            "-1", "1w", "h", "1h30m", "1 h", "soon", "nan", "36526d", "-1h", "", "+1h", "+20", "0x10", "20 ", "1,5",
        ])
    func refused(text: String) async throws {
        try await withServer { (_, client, origin) async throws in
            let url = origin.url("/a")
            let encoded = text.percentEncoded
            let calls: [(String, String, HTTPFields, String)] = [
                ("POST", "/download", Self.json, #"{"url": "\#(url)", "ttl": "\#(text)"}"#),
                (
                    "POST", "/download", [.contentType: "application/x-www-form-urlencoded"],
                    "url=\(url.percentEncoded)&staleIfError=\(encoded)"
                ),
                ("PUT", "/entries/k/content?ttl=\(encoded)", [:], "x"),
                ("PUT", "/json?url=\(url)&ttl=\(encoded)", Self.json, "[1]"),
                ("PATCH", "/entries/k", Self.json, #"{"ttl": "\#(text)"}"#),
                ("PUT", "/namespaces/a", Self.json, #"{"defaultTTL": "\#(text)"}"#),
                ("GET", "/fetch?url=\(url.percentEncoded)&ttl=\(encoded)", [:], ""),
            ]
            for (method, path, fields, body) in calls {
                let reply = try await client.request(method, path, fields: fields, text: body)
                #expect(reply.status == 400, "\(method) \(path)")
                let detail = try #require(try reply.member("detail")?.stringValue)
                #expect(detail.contains("or a number with a unit, such as 90s, 15m, 1h or 7d"), "\(detail)")
                #expect(try reply.member("pointer")?.stringValue?.isEmpty == false)
            }
            #expect(origin.requestCount == 0)
        }
    }

    @Test("In JSON, a boolean, null, an array and an object are refused as durations")
    func otherValues() async throws {
        try await withServer { (_, client, _) async throws in
            for value in ["true", "null", "[]", "{}", "[20]"] {
                let reply = try await client.request(
                    "PATCH", "/entries/k", fields: Self.json, text: "{\"ttl\": \(value)}")
                #expect(reply.status == 400, "\(value)")
                #expect(try reply.member("pointer") == "/ttl")
            }
        }
    }
}
