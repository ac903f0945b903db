import HTTPTypes
import Primitives
import TestSupport
import Testing

/// RFC 9110 §13: the conditions of requests that change an entry, a namespace or a download.
@Suite("Preconditions of PUT, PATCH and DELETE")
struct WritePreconditionTests {
    private static let jsonURL = "http://c.example/x"
    private static let jsonPath = "/json?url=\(jsonURL.percentEncoded)"
    private static let json: HTTPFields = [.contentType: "application/json"]
    private static let longAgo = "Thu, 01 Jan 1970 00:00:00 GMT"

    /// A call that changes stored entries or a namespace.
    struct Call: Sendable, CustomTestStringConvertible {
        var method: String
        var path: String
        var text = ""
        /// Whether the resource has an ETag and a date.
        var isTagged = true

        var testDescription: String { "\(method) \(path)" }
    }

    static let calls = [
        Call(method: "PUT", path: "/entries/k/content?ttl=600", text: "two"),
        Call(method: "PUT", path: "/entries/k/content?ttl=0", text: "two"),
        Call(method: "PUT", path: jsonPath + "&ttl=600", text: "[2]"),
        Call(method: "PUT", path: jsonPath + "&ttl=0", text: "[2]"),
        Call(method: "PATCH", path: "/entries/k", text: #"{"ttl": 5}"#),
        Call(method: "PATCH", path: "/entries/k", text: #"{"ttl": 0}"#),
        Call(method: "PATCH", path: "/entries/\(md5(jsonURL))", text: #"{"tags": ["t"]}"#),
        Call(method: "DELETE", path: "/entries/k"),
        Call(method: "DELETE", path: "/entries/\(md5(jsonURL))"),
        Call(method: "DELETE", path: "/entries?all=true", isTagged: false),
        Call(method: "DELETE", path: "/entries?host=c.example&dryRun=true", isTagged: false),
        Call(method: "PUT", path: "/namespaces/a", text: #"{"version": "2"}"#, isTagged: false),
        Call(method: "DELETE", path: "/namespaces/a", isTagged: false),
    ]

    /// Runs `body` with a server that holds the entry `k`, JSON for a URL, and the namespace `a`.
    private func withEntries(_ body: (TestServer) async throws -> Void) async throws {
        try await TestServer.with { (server) async throws in
            #expect(try await server.put("k", Array("one".utf8), query: "ttl=600").status == 200)
            let stored = try await server.client.request("PUT", Self.jsonPath, fields: Self.json, text: "[1]")
            #expect(stored.status == 200)
            try await server.putNamespace("a", ["version": "1"])
            try await body(server)
        }
    }

    private func send(_ call: Call, _ fields: HTTPFields, to server: TestServer) async throws -> HTTPReply {
        var fields = fields
        if !call.text.isEmpty { fields[.contentType] = "application/json" }
        return try await server.client.request(call.method, call.path, fields: fields, text: call.text)
    }

    private func etag(of call: Call, on server: TestServer) async throws -> String {
        let path = call.path.contains("/k") ? "/entries/k/content" : Self.jsonPath
        return try #require(try await server.get(path)["ETag"])
    }

    @Test("A call gets 412 and changes no state if its condition does not hold", arguments: calls)
    func refused(call: Call) async throws {
        try await withEntries { (server) async throws in
            var conditions: [HTTPFields] = [[.ifMatch: "\"other\""], [.ifNoneMatch: "*"], [.ifMatch: ""]]
            if call.isTagged {
                let etag = try await etag(of: call, on: server)
                // RFC 9110 §13.1.1: If-Match compares strongly, If-None-Match weakly.
                conditions += [
                    [.ifNoneMatch: etag], [.ifNoneMatch: "\"other\", W/\(etag)"], [.ifMatch: "W/\(etag)"],
                    [.ifUnmodifiedSince: Self.longAgo], [.ifMatch: etag, .ifNoneMatch: etag],
                ]
            }
            for fields in conditions {
                let reply = try await send(call, fields, to: server)
                #expect(reply.status == 412, "\(fields): \(reply.text)")
                #expect(try await server.get("/entries/k/content").text == "one")
                #expect(try await server.get("/entries/k").member("expiresInSeconds") == 600)
                #expect(try await server.get(Self.jsonPath).text == "[1]")
                #expect(try await server.get("/namespaces/a").member("version") == "1")
            }
        }
    }

    @Test("A call succeeds if its condition holds", arguments: calls)
    func allowed(call: Call) async throws {
        var conditions: [HTTPFields] = [
            [.ifMatch: "*"], [.ifNoneMatch: "\"other\""],
            // RFC 9110 §13.1.3: If-Modified-Since is for GET and HEAD only.
            // RFC 9110 §13.1.4: a value that is no date is ignored.
            [.ifModifiedSince: "Fri, 31 Dec 2100 00:00:00 GMT"], [.ifUnmodifiedSince: "yesterday"],
        ]
        conditions.append(
            call.isTagged
                ? [.ifUnmodifiedSince: "Fri, 31 Dec 2100 00:00:00 GMT"] : [.ifUnmodifiedSince: Self.longAgo])
        for fields in conditions {
            try await withEntries { (server) async throws in
                #expect(try await send(call, fields, to: server).status == 200, "\(fields)")
            }
        }
        if call.isTagged {
            try await withEntries { (server) async throws in
                // RFC 9110 §13.2.2: If-Unmodified-Since is ignored beside If-Match.
                let fields: HTTPFields = [
                    .ifMatch: "\"x\", \(try await etag(of: call, on: server))", .ifUnmodifiedSince: Self.longAgo,
                ]
                #expect(try await send(call, fields, to: server).status == 200)
            }
        }
    }

    @Test(
        "A PUT gets 412 before the server asks for the body with 100 Continue, if the PUT's condition fails",
        arguments: calls)
    func beforeTheBody(call: Call) async throws {
        try await withEntries { (server) async throws in
            for expectation in ["Expect: 100-continue\r\n", ""] {
                let reply = try await server.client.withConnection { connection in
                    try connection.send(
                        "\(call.method) \(call.path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n"
                            + "Content-Type: application/json\r\nIf-None-Match: *\r\n\(expectation)\r\n")
                    if expectation.isEmpty { try connection.send([UInt8](repeating: 0x20, count: 60_000)) }
                    return try connection.readReply(to: call.method)
                }
                #expect(reply.status == 412)
                #expect(reply.interim.isEmpty)
            }
        }
    }

    @Test("Of several racing PUTs with If-None-Match: *, or with the same ETag in If-Match, exactly one succeeds")
    func race() async throws {
        try await TestServer.with { (server) async throws in
            let calls = [
                ("/entries/new/content", "data"), ("/json?url=http://c.example/new", "[1]"), ("/namespaces/new", "{}"),
            ]
            for (path, text) in calls {
                var fields = Self.json
                fields[.ifNoneMatch] = "*"
                let statuses = try await concurrently(12) { [fields] _ in
                    try await server.client.request("PUT", path, fields: fields, text: text).status
                }
                #expect(statuses.filter { $0 == 200 }.count == 1, "\(path): \(statuses)")
                #expect(statuses.filter { $0 == 412 }.count == 11, "\(path): \(statuses)")
            }
            let fields: HTTPFields = [.ifMatch: try #require(try await server.get("/entries/new/content")["ETag"])]
            let bodies = try await concurrently(12) { [fields] number in
                try await server.client.request(
                    "PUT", "/entries/new/content", fields: fields, text: "body \(number)"
                ).status
            }
            #expect(bodies.filter { $0 == 200 }.count == 1, "\(bodies)")
        }
    }

    @Test("A PUT with If-None-Match gets 412 if another request stores a body while the PUT's body arrives")
    func changedMeanwhile() async throws {
        try await TestServer.with { (server) async throws in
            for path in ["/entries/k/content", "/json?url=http://c.example/k"] {
                let upload = try RawConnection(port: server.api.port)
                defer { upload.close() }
                try upload.send(
                    "PUT \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 3\r\n"
                        + "If-None-Match: *\r\nExpect: 100-continue\r\n\r\n")
                #expect(try await blocking { try upload.readHead().status } == 100)
                #expect(
                    try await server.client.request("PUT", path, fields: Self.json, text: "[2]").status == 200)
                try upload.send("[1]")
                #expect(try await blocking { try upload.readReply(to: "PUT").status } == 412)
                #expect(try await server.get(path).text == "[2]")
            }
        }
    }

    /// RFC 9110 §13.2.1: a server ignores conditions if without them the answer would be neither 2xx nor 412.
    @Test(
        "If a request has an error in its head or names a missing entry, it gets this error even if its condition fails"
    )
    func otherErrorsFirst() async throws {
        try await withEntries { (server) async throws in
            let fields: HTTPFields = [.ifMatch: "\"other\"", .contentType: "application/json"]
            let cases: [(Int, String, String, String)] = [
                (404, "DELETE", "/entries/none", ""), (404, "DELETE", "/entries/\(md5("http://c.example/none"))", ""),
                (404, "PATCH", "/entries/none", #"{"ttl": 5}"#), (404, "DELETE", "/namespaces/none", ""),
                (404, "DELETE", "/downloads/none", ""), (400, "PUT", "/entries/k/content?ttl=x", "two"),
                (400, "PUT", "/json?url=x", "[2]"), (400, "DELETE", "/entries", ""),
                (400, "DELETE", "/entries?state=old", ""), (400, "PATCH", "/entries/k?x=1", "{}"),
                (400, "PUT", "/namespaces/A", "{}"),
            ]
            for (status, method, path, text) in cases {
                let reply = try await server.client.request(method, path, fields: fields, text: text)
                #expect(reply.status == status, "\(method) \(path): \(reply.text)")
            }
            var text = fields
            text[.contentType] = "text/plain"
            #expect(try await server.client.request("PATCH", "/entries/k", fields: text, text: "{}").status == 415)
            // A PUT of a missing entry would succeed without its condition, so the condition counts (RFC 9110 §13.1.1).
            #expect(try await server.put("none", [1], fields: [.ifMatch: "*"]).status == 412)
            #expect(try await server.putNamespace("none").status == 200)
        }
    }

    @Test("The conditions of a DELETE by the MD5 of a URL must hold for all entries of the URL together")
    func allForAURL() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=600"], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let path = "/entries/\(md5(origin.url("/a")))"
            _ = try await server.get("/fetch/\(origin.url("/a"))")
            try await poll("the response to be stored") { server.service.totals.entries == 1 }
            // No entry has this key, but without the condition the DELETE would remove the stored response of the URL.
            #expect(try await server.client.request("DELETE", path, fields: [.ifMatch: "*"]).status == 412)
            _ = try await server.download(["url": .string(origin.url("/a")), "ttl": 600])
            let other: HTTPFields = [.ifMatch: "\"other\""]
            #expect(try await server.client.request("DELETE", path, fields: other).status == 412)
            #expect(server.service.totals.entries == 2)
            let etag = try #require(try await server.get(path + "/content")["ETag"])
            let reply = try await server.client.request("DELETE", path, fields: [.ifMatch: etag])
            #expect(try reply.member("removed") == 2)
        }
    }

    @Test("Larder compares If-Unmodified-Since with the origin's Last-Modified, or if absent, with the time of storing")
    func dates() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let isDated = request.target == "/dated"
            try connection.respond(
                fields: isDated ? [.lastModified: "Sat, 31 Jan 2026 08:05:09 GMT"] : [:], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for (path, before, at) in [
                ("/dated", "Sat, 31 Jan 2026 08:05:08 GMT", "Sat, 31 Jan 2026 08:05:09 GMT"),
                ("/bare", Self.longAgo, server.clock.now().httpDate),
            ] {
                let url = origin.url(path)
                _ = try await server.download(["url": .string(url), "ttl": 600])
                func remove(_ date: String) async throws -> Int {
                    let fields: HTTPFields = [.ifUnmodifiedSince: date]
                    return try await server.client.request("DELETE", "/entries/\(md5(url))", fields: fields).status
                }
                #expect(try await remove(before) == 412, "\(path)")
                #expect(try await remove(at) == 200, "\(path)")
            }
        }
    }

    @Test("A DELETE cancels a running download if its condition holds, and otherwise the download continues")
    func cancelling() async throws {
        try await TestServer.withGatedOrigin { server, origin, _ in
            let url = origin.url("/a")
            let prefer = HTTPField.Name("Prefer")!
            let started = try await server.client.request(
                "POST", "/download", fields: [.contentType: "application/json", prefer: "respond-async"],
                text: #"{"url": "\#(url)"}"#)
            #expect(started.status == 202)
            let path = "/downloads/\(md5(url))"
            #expect(try await server.client.request("DELETE", path, fields: [.ifMatch: "\"x\""]).status == 412)
            #expect(try await server.get(path).member("state") == "running")
            #expect(try await server.client.request("DELETE", path, fields: [.ifMatch: "*"]).status == 200)
        }
    }

    @Test(
        "In openapi.yaml, every PUT, PATCH and DELETE except those of /fetch documents 412 and the fields of conditions"
    )
    func documented() async throws {
        for operation in try OpenAPIDocument.repository().operations {
            guard ["PUT", "PATCH", "DELETE"].contains(operation.method), operation.passedOn == nil else { continue }
            #expect(operation.responses[412] != nil, "\(operation.id)")
            let names = Set(operation.parameters.map(\.name))
            #expect(names.isSuperset(of: ["If-Match", "If-None-Match", "If-Unmodified-Since"]), "\(operation.id)")
        }
    }
}
