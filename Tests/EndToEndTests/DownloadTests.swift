import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("POST /download")
struct DownloadTests {
    @Test("A hit with updateExpiry moves the expiry date to now + ttl, and an entry without hits expires")
    func slidingExpiry() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "hello") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 20, "updateExpiry": true]
            let first = try await server.download(call)
            #expect(first.status == 200)
            #expect(try first.member("outcome") == "downloaded")
            let expiry = try #require(try first.member("entry", "expiryDate")?.date)
            #expect(expiry == server.clock.now() + .seconds(20))

            server.clock.advance(by: .seconds(15))
            let second = try await server.download(call)
            #expect(try second.member("outcome") == "cached")
            let moved = try #require(try second.member("entry", "expiryDate")?.date)
            #expect(moved == server.clock.now() + .seconds(20))
            #expect(moved == expiry + .seconds(15))

            server.clock.advance(by: .seconds(15))
            #expect(try await server.download(call).member("outcome") == "cached")
            #expect(origin.requestCount == 1)

            server.clock.advance(by: .seconds(20))
            #expect(try await server.download(call).member("outcome") == "downloaded")
            #expect(origin.requestCount == 2)
        }
    }

    @Test("A hit without updateExpiry does not move the expiry date")
    func fixedExpiry() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "hello") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 20, "updateExpiry": false]
            let first = try await server.download(call).member("entry", "expiryDate")
            server.clock.advance(by: .seconds(19))
            let second = try await server.download(call)
            #expect(try second.member("outcome") == "cached")
            #expect(try second.member("entry", "expiryDate") == first)
            server.clock.advance(by: .seconds(1))
            #expect(try await server.download(call).member("outcome") == "downloaded")
            #expect(origin.requestCount == 2)
        }
    }

    @Test("A hit with updateExpiry stores the ttl of its call, and a later hit without a ttl uses the stored ttl")
    func slideStoresTheCallsTTL() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "hello") }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let clock = ManualClock()
        let url = origin.url("/a")
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            _ = try await server.download(["url": .string(url), "ttl": 20])
            let slid = try await server.download(["url": .string(url), "ttl": 100, "updateExpiry": true])
            #expect(try slid.member("entry", "expiresInSeconds") == 100)
            clock.advance(by: .seconds(50))
            let again = try await server.download(["url": .string(url), "updateExpiry": true])
            #expect(try again.member("entry", "expiryDate")?.date == clock.now() + .seconds(100))
        }
        // The changed expiry survives a restart.
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            let entry = try await server.get("/entries?url=\(url.percentEncoded)").member("entries")?.arrayValue?.first
            #expect(entry?["expiryDate"]?.date == clock.now() + .seconds(100))
        }
    }

    @Test("An expired entry with an ETag is revalidated, not downloaded")
    func revalidation() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request["If-None-Match"] == "\"v1\"" {
                try connection.respond(304, fields: [.eTag: "\"v1\""])
            } else {
                try connection.respond(fields: [.eTag: "\"v1\""], body: "hello")
            }
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 20]
            let key = try #require(try await server.download(call).member("entry", "key")?.stringValue)
            server.clock.advance(by: .seconds(30))
            let second = try await server.download(call)
            #expect(try second.member("outcome") == "revalidated")
            #expect(try second.member("entry", "expiryDate")?.date == server.clock.now() + .seconds(20))
            #expect(try await server.get("/entries/\(key)/content").text == "hello")
            #expect(origin.requests.map { $0["If-None-Match"] } == [nil, "\"v1\""])
        }
    }

    @Test("A revalidation sends the entry's Last-Modified, and the origin's new body replaces the stored body")
    func changedBody() async throws {
        let date = "Sat, 31 Jan 2026 08:05:09 GMT"
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.lastModified: date], body: request.index == 0 ? "old" : "new")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 20]
            let key = try #require(try await server.download(call).member("entry", "key")?.stringValue)
            server.clock.advance(by: .seconds(30))
            #expect(try await server.download(call).member("outcome") == "downloaded")
            #expect(origin.requests.last?["If-Modified-Since"] == date)
            #expect(try await server.get("/entries/\(key)/content").text == "new")
        }
    }

    @Test("A call with refresh asks the origin although the entry is fresh")
    func refresh() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: "\(request.index)") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            _ = try await server.download(["url": .string(origin.url("/a")), "ttl": 1000])
            let second = try await server.download(["url": .string(origin.url("/a")), "refresh": true])
            #expect(try second.member("outcome") == "downloaded")
            #expect(origin.requestCount == 2)
        }
    }

    @Test("Within staleWhileRevalidate a caller immediately gets the stale entry, and a download replaces the entry")
    func staleWhileRevalidate() async throws {
        let gate = Gate("second answer")
        let origin = try ScriptedOrigin { request, connection in
            if request.index > 0 { try gate.waitBlocking() }
            try connection.respond(body: "body \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 20, "staleWhileRevalidate": 60]
            let key = try #require(try await server.download(call).member("entry", "key")?.stringValue)
            server.clock.advance(by: .seconds(30))
            #expect(try await server.download(call).member("outcome") == "stale")
            #expect(try await server.get("/entries/\(key)/content?stale=true").text == "body 0")
            gate.open()
            try await server.waitForSuccess(of: origin.url("/a"))
            #expect(try await server.get("/entries/\(key)/content").text == "body 1")
            #expect(origin.requestCount == 2)
        }
    }

    @Test("Within staleIfError a caller gets the stale entry instead of the origin's error, and later gets the error")
    func staleIfError() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(request.index == 0 ? 200 : 503, body: "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 20, "staleIfError": 60]
            _ = try await server.download(call)
            server.clock.advance(by: .seconds(30))
            #expect(try await server.download(call).member("outcome") == "stale")
            let strict = try await server.download(["url": .string(origin.url("/a")), "ttl": 20])
            #expect(strict.status == 502)
            #expect(try strict.member("originStatus") == 503)
            server.clock.advance(by: .seconds(60))
            #expect(try await server.download(call).status == 502)
        }
    }

    @Test(
        "A download without a ttl gets the origin's lifetime or the default ttl; no-store makes its entry stale at once"
    )
    func lifetimes() async throws {
        let cases: [(String, HTTPFields, Duration)] = [
            ("/s-maxage", [.cacheControl: "s-maxage=100, max-age=5"], .seconds(100)),
            ("/max-age", [.cacheControl: "max-age=50"], .seconds(50)),
            ("/age", [.cacheControl: "max-age=50", .age: "20"], .seconds(30)),
            ("/nothing", [:], .seconds(604_800)),
            ("/no-store", [.cacheControl: "no-store"], .zero),
            ("/no-cache", [.cacheControl: "no-cache, max-age=50"], .zero),
        ]
        let answers = Dictionary(uniqueKeysWithValues: cases.map { ($0.0, $0.1) })
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: answers[request.target] ?? [:], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for (path, _, lifetime) in cases {
                let reply = try await server.download(["url": .string(origin.url(path))])
                let expiry = try #require(try reply.member("entry", "expiryDate")?.date)
                #expect(expiry == server.clock.now() + lifetime, "\(path)")
                #expect(try reply.member("entry", "state") == (lifetime == .zero ? "stale" : "fresh"), "\(path)")
            }
        }
    }

    /// RFC 9110 §15.1 lists the heuristically cacheable statuses, and RFC 9111 §4.2.2 says how caches use them.
    @Test(
        "If neither caller nor origin states a lifetime, only heuristically cacheable statuses get the default ttl",
        arguments: [
            (200, "", 604_800), (203, "", 604_800), (204, "", 604_800), (201, "", 0), (202, "", 0), (205, "", 0),
            (207, "", 0), (226, "", 0), (299, "", 0), (202, "max-age=60", 60), (207, "no-cache", 0),
        ])
    func heuristicStatuses(status: Int, control: String, seconds: Int) async throws {
        let origin = try ScriptedOrigin { request, connection in
            var fields: HTTPFields = control.isEmpty ? [:] : [.cacheControl: control]
            if status == 205 { fields[.contentLength] = "0" }
            try connection.respond(status, fields: fields, body: status == 204 || status == 205 ? "" : "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = JSON.string(origin.url("/job"))
            let first = try await server.download(["url": url])
            #expect(try first.member("entry", "status") == .number(status))
            #expect(try first.member("entry", "expiresInSeconds") == .number(seconds))
            let second = try await server.download(["url": url])
            #expect(try second.member("outcome") == (seconds == 0 ? "downloaded" : "cached"))
            // The ttl of the caller decides for every status.
            let third = try await server.download(["url": url, "ttl": 30, "refresh": true])
            #expect(try third.member("entry", "expiresInSeconds") == 30)
            #expect(try await server.download(["url": url]).member("outcome") == "cached")
        }
    }

    @Test("An answer of status 202 stays stale after a revalidation if the 304 states no freshness")
    func revalidated202() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let isConditional = request["If-None-Match"] != nil
            try connection.respond(
                isConditional ? 304 : 202, fields: [.eTag: "\"1\""], body: isConditional ? "" : "soon")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let call: JSON = ["url": .string(origin.url("/job"))]
            for outcome in ["downloaded", "revalidated", "revalidated"] as [JSON] {
                let reply = try await server.download(call)
                #expect(try reply.member("outcome") == outcome)
                #expect(try reply.member("entry", "state") == "stale")
            }
        }
    }

    @Test("A caller's ttl overrides the origin's no-store, and a ttl of 0 stores an entry that is already stale")
    func callersTTL() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "no-store"], body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let kept = try await server.download(["url": .string(origin.url("/a")), "ttl": .number("0.5")])
            #expect(try kept.member("entry", "expiryDate")?.date == server.clock.now() + .milliseconds(500))
            #expect(try kept.member("entry", "expiresInSeconds") == .number("0.5"))
            let stale = try await server.download(["url": .string(origin.url("/b")), "ttl": 0])
            #expect(try stale.member("entry", "state") == "stale")
            let key = try #require(try stale.member("entry", "key")?.stringValue)
            #expect(try await server.get("/entries/\(key)/content").status == 404)
            #expect(try await server.get("/entries/\(key)/content?stale=true").text == "x")
        }
    }

    @Test("Larder sorts the params, form-encodes them and appends them to the URL, so they are part of the key")
    func params() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let params: JSON = ["b": [2, .number("1.50")], "a": "x y", "none": [], "c": true]
            let reply = try await server.download(["url": .string(origin.url("/p?z=1")), "params": params])
            #expect(origin.requests.first?.target == "/p?z=1&a=x+y&b=1.50&b=2&c=true")
            #expect(try reply.member("entry", "params") == params)
            let other: JSON = ["c": true, "a": "x y", "b": [.number("1.50"), 2]]
            let same = try await server.download(["url": .string(origin.url("/p?z=1")), "params": other])
            #expect(try same.member("outcome") == "cached")
        }
    }

    @Test("Larder sends the fields in headers to the origin, and the fields are part of the key")
    func fields() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(body: request["Accept-Language"] ?? "none")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = JSON.string(origin.url("/a"))
            let plain = try await server.download(["url": url])
            let german = try await server.download(["url": url, "headers": ["Accept-Language": "de"]])
            #expect(try plain.member("entry", "key") != german.member("entry", "key"))
            let key = try #require(try german.member("entry", "key")?.stringValue)
            #expect(try await server.get("/entries/\(key)/content").text == "de")
            let source = "\(origin.url("/a"))\naccept-language: de"
            #expect(key == md5(source))
        }
    }

    @Test("A download gets 502 and stores no entry if the origin's answer fails, is short, oversized or partial")
    func failures() async throws {
        let origin = try ScriptedOrigin { request, connection in
            switch request.target {
            case "/404": try connection.respond(404, body: "no")
            case "/short":
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
                connection.close()
            case "/short-gzip":
                // The gzip of "hello" without the last byte of its trailer. Content-Length is the length of these
                // bytes.
                let body: [UInt8] = [
                    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5,
                    0, 0,
                ]
                try connection.respond(fields: [.contentEncoding: "gzip"], body: body)
            case "/empty":
                try connection.send("HTTP/1.1 200 OK\r\n\r\n")
                connection.close()
            case "/framed-empty": try connection.respond(body: "")
            case "/large": try connection.respond(body: String(repeating: "x", count: 3000))
            default: try connection.respond(206, fields: [.contentRange: "bytes 0-0/9"], body: "x")
            }
        }
        defer { origin.stop() }
        try await TestServer.with(configure: { $0.entryLimit = 2000 }) { (server) async throws in
            let notFound = try await server.download(["url": .string(origin.url("/404"))])
            #expect(notFound.status == 502)
            #expect(try notFound.member("originStatus") == 404)
            let short = try await server.download(["url": .string(origin.url("/short"))])
            #expect(short.status == 502)
            #expect(try short.member("curlCode") == 18)
            let shortGzip = try await server.download(["url": .string(origin.url("/short-gzip"))])
            #expect(shortGzip.status == 502)
            #expect(try shortGzip.member("curlCode") == 61)
            #expect(try await server.download(["url": .string(origin.url("/empty"))]).status == 502)
            let large = try await server.download(["url": .string(origin.url("/large"))])
            #expect(large.status == 502)
            #expect(try large.member("limit") == 2000)
            #expect(try await server.download(["url": .string(origin.url("/part"))]).status == 502)
            #expect(try await server.get("/entries").member("entries") == [])

            let whole = try await server.download(["url": .string(origin.url("/framed-empty"))])
            #expect(whole.status == 200)
            #expect(try whole.member("entry", "contentLength") == 0)
        }
    }

    @Test(
        "A download from an origin that is not running gets 502, and the problem has libcurl's error code as curlCode")
    func connectionRefused() async throws {
        let port = try RefusingPort()
        try await TestServer.with { (server) async throws in
            let reply = try await server.download(["url": .string(port.url("/a"))])
            #expect(reply.status == 502)
            #expect(try reply.member("curlCode") == 7)
            #expect(reply["Content-Type"] == "application/problem+json")
        }
    }

    @Test("Each download from a host that DNS cannot resolve gets 502, and later downloads of other hosts succeed")
    func unknownHost() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for name in ["a", "b", "c"] {
                let reply = try await server.download(["url": .string("http://\(name).invalid/")])
                #expect(reply.status == 502)
                #expect(try reply.member("curlCode") == 6)
            }
            #expect(try await server.download(["url": .string(origin.url("/a"))]).status == 200)
        }
    }

    @Test("A URL with an address that is neither globally routable nor allowed gets 403, and no connection is made")
    func privateAddress() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "secret") }
        defer { origin.stop() }
        try await TestServer.with(configure: { $0.allowedOrigins = [] }) { (server) async throws in
            for host in ["127.0.0.1", "localhost", "127.1", "0x7f000001", "[::ffff:127.0.0.1]"] {
                let reply = try await server.download(["url": .string("http://\(host):\(origin.port)/")])
                #expect(reply.status == 403, "\(host)")
                #expect(try reply.member("pointer") == "/url")
            }
            let ftp = try await server.download(["url": "ftp://example.com/"])
            #expect(ftp.status == 403)
            #expect(origin.connectionCount == 0)
        }
    }
}
