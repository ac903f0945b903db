import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Ready answers of /fetch and /json")
struct ReadyFetchTests {
    /// Fetches through the gateway, and waits until the response is stored. `isAtHand` tells whether the answer was
    /// ready.
    private func fetch(
        _ server: TestServer, _ url: String, _ fields: HTTPFields = [:]
    ) async throws -> (reply: HTTPReply, isAtHand: Bool) {
        let before = server.space.cache.hitsAtHand
        let reply = try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + url, fields: fields)
        try await server.waitForFetches()
        return (reply, server.space.cache.hitsAtHand > before)
    }

    private func warm(_ server: TestServer, _ url: String, _ fields: HTTPFields = [:]) async throws -> HTTPReply {
        for _ in 0..<3 { _ = try await fetch(server, url, fields) }
        let (reply, isAtHand) = try await fetch(server, url, fields)
        #expect(isAtHand)
        return reply
    }

    @Test("Age and the ttl of Cache-Status are correct in a ready answer to the last millisecond (RFC 9111 §5.1, §4.2)")
    func age() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60", .age: "7"], body: "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            #expect(try await warm(server, url)[.age] == "7")
            for second in [1, 2, 50, 52] {
                server.clock.advance(by: .seconds(second - (second == 1 ? 0 : second == 2 ? 1 : second == 50 ? 2 : 50)))
                let (reply, isAtHand) = try await fetch(server, url)
                #expect(isAtHand)
                #expect(reply[.age] == String(7 + second))
                #expect(reply["Cache-Status"]?.hasPrefix("larder; hit; ttl=\(53 - second); key=") == true)
                #expect(reply.text == "body")
            }
            server.clock.advance(by: .milliseconds(999))
            #expect(try await fetch(server, url).reply[.age] == "59")
            server.clock.advance(by: .milliseconds(1))
            let (reply, isAtHand) = try await fetch(server, url)
            #expect(!isAtHand)
            #expect(reply["Cache-Status"]?.contains("fwd=stale") == true)
            #expect(origin.requestCount == 2)
        }
    }

    @Test("When the clock is set back, Larder drops the ready answer and makes a new ready answer")
    func setBack() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            server.clock.advance(by: .seconds(10))
            _ = try await warm(server, url)
            server.clock.advance(by: .seconds(-5))
            let (reply, isAtHand) = try await fetch(server, url)
            #expect(!isAtHand)
            #expect(reply.text == "body")
            #expect(try await fetch(server, url).isAtHand)
        }
    }

    @Test("The ready answer of a variant serves only requests that select the variant (RFC 9111 §4.1)")
    func vary() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=60", .vary: "Accept-Language"], body: request["Accept-Language"] ?? "-"
            )
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            for language in ["de", "en", nil, "DE"] {
                let fields: HTTPFields = language.map { [.acceptLanguage: $0] } ?? [:]
                #expect(try await warm(server, url, fields).text.lowercased() == language?.lowercased() ?? "-")
            }
            for language in ["en", "de", nil, "de"] {
                let fields: HTTPFields = language.map { [.acceptLanguage: $0] } ?? [:]
                // Every store for the URL ends the ready answers of the URL.
                #expect(try await fetch(server, url, fields).reply.text == language ?? "-")
                let (reply, isAtHand) = try await fetch(server, url, fields)
                #expect(isAtHand)
                #expect(reply.text == language ?? "-")
            }
            var both = HTTPFields()
            both.append(HTTPField(name: .acceptLanguage, value: "de"))
            both.append(HTTPField(name: .acceptLanguage, value: "en"))
            #expect(try await fetch(server, url, both).reply.text != "de")
        }
    }

    @Test("A new response with another Vary ends the ready answer of its URL (RFC 9111 §4)")
    func newVariant() async throws {
        let origin = try ScriptedOrigin { request, connection in
            var fields: HTTPFields = [.cacheControl: "max-age=60"]
            if request.index > 0 { fields[.vary] = "Accept-Language" }
            try connection.respond(fields: fields, body: "answer \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            #expect(try await warm(server, url).text == "answer 0")
            server.clock.advance(by: .seconds(2))
            // The new response is stored beside the first, under another key. A request without the field selects the
            // later response.
            _ = try await fetch(server, url, [.cacheControl: "no-cache"])
            #expect(try await fetch(server, url).reply.text == "answer 1")
        }
    }

    @Test("Requests with a ttl and requests without a ttl never share a ready answer (RFC 9111 §5.2.2.5)")
    func ttl() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "no-store"], body: "answer \(request.index)")
        }
        defer { origin.stop() }
        let ttl = try #require(HTTPField.Name("Larder-TTL"))
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            #expect(try await warm(server, url, [ttl: "60"]).text == "answer 0")
            let (reply, isAtHand) = try await fetch(server, url)
            #expect(!isAtHand)
            #expect(reply.text == "answer 1")
            #expect(try await !fetch(server, url, [ttl: "61"]).isAtHand)
        }
    }

    @Test("A POST to a URL ends the URL's ready answer (RFC 9111 §4.4)")
    func invalidated() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "answer \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            #expect(try await warm(server, url).text == "answer 0")
            _ = try await HTTPClient(port: server.api.port).request("POST", "/fetch/" + url, body: [1])
            try await server.waitForFetches()
            #expect(try await fetch(server, url).reply.text == "answer 2")
        }
    }

    @Test(
        "Browser requests of every kind get ready answers with the same sandbox policy",
        arguments: [
            ("document", "text/html,*/*;q=0.8"), ("iframe", "text/html"), ("fencedframe", "text/html"),
            ("image", "image/avif,image/webp,*/*;q=0.8"), ("script", "*/*"), ("empty", "application/json"),
            (nil, "text/html"), (nil, "*/*"),
        ] as [(String?, String)])
    func browser(destination: String?, accept: String) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60", .contentType: "text/html"], body: "<p>")
        }
        defer { origin.stop() }
        var fields: HTTPFields = [.accept: accept]
        fields[HTTPField.Name("Sec-Fetch-Dest")!] = destination
        fields[HTTPField.Name("Upgrade-Insecure-Requests")!] = destination == "document" ? "1" : nil
        try await TestServer.with { (server) async throws in
            for _ in 0..<2 {
                let reply = try await warm(server, origin.url("/a"), fields)
                #expect(reply.fields[values: .contentSecurityPolicy] == ["sandbox; default-src 'none'"])
                #expect(reply.fields[values: .xContentTypeOptions] == ["nosniff"])
                #expect(reply[.vary] == "Sec-Fetch-Dest, Service-Worker")
                // A second later, Larder makes a new ready answer.
                server.clock.advance(by: .seconds(1))
            }
        }
    }

    @Test("Each spelling of the url and params of JSON has its own ready answer, and a PUT replaces all of them")
    func json() async throws {
        try await TestServer.with { (server) async throws in
            let path = "/json?url=http%3A%2F%2Fa.example%2F&params=%7B%22a%22%3A1%7D"
            _ = try await server.client.request(
                "PUT", path, fields: [.contentType: "application/json"], text: #"{"b": 2}"#)
            for _ in 0..<3 { _ = try await server.get(path) }
            let before = server.space.cache.hitsAtHand
            #expect(try await server.get(path).text == #"{"b": 2}"#)
            #expect(server.space.cache.hitsAtHand == before + 1)
            // The first request with another target finds no ready answer, and is answered from the same entry.
            let spelled = "/json?params=%7B%22a%22%3A+1%7D&url=HTTP%3A%2F%2FA.example.%3A80%2Fx%2F.."
            #expect(try await server.get(spelled).text == #"{"b": 2}"#)
            #expect(server.space.cache.hitsAtHand == before + 1)
            for _ in 0..<3 { #expect(try await server.get(spelled).text == #"{"b": 2}"#) }
            #expect(server.space.cache.hitsAtHand > before + 1)
            _ = try await server.client.request(
                "PUT", path, fields: [.contentType: "application/json"], text: #"{"b": 3}"#)
            for target in [path, spelled] { #expect(try await server.get(target).text == #"{"b": 3}"#) }
        }
    }

    @Test("A response with an unknown status is served repeatedly from the cache")
    func madeUpStatus() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(700, fields: [.cacheControl: "max-age=60"], body: "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for _ in 0..<6 {
                let reply = try await fetch(server, origin.url("/a")).reply
                #expect(reply.status == 700)
                #expect(reply.text == "body")
            }
            #expect(origin.requestCount == 1)
        }
    }

    @Test("A ttl in a request with credentials does not make the answer stay fresh longer for other callers")
    func grantOfAnother() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "public, max-age=10"], body: "answer \(request.index)")
        }
        defer { origin.stop() }
        let ttl = try #require(HTTPField.Name("Larder-TTL"))
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await fetch(server, url, [ttl: "3600", .authorization: "Bearer a"])
            for _ in 0..<5 { #expect(try await fetch(server, url, [ttl: "3600"]).reply.text == "answer 0") }
            server.clock.advance(by: .seconds(11))
            #expect(try await fetch(server, url, [ttl: "3600"]).reply.text == "answer 1")
        }
    }

    @Test("A later variant with Vary answers requests that match it, despite a variant without Vary (RFC 9111 §4.1)")
    func laterVariant() async throws {
        let origin = try ScriptedOrigin { request, connection in
            var fields: HTTPFields = [.cacheControl: "max-age=60"]
            if request["Accept-Language"] != nil { fields[.vary] = "Accept-Language" }
            try connection.respond(fields: fields, body: request["Accept-Language"] ?? "any")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await fetch(server, url)
            server.clock.advance(by: .seconds(2))
            _ = try await fetch(server, url, [.acceptLanguage: "de", .cacheControl: "no-cache"])
            #expect(try await warm(server, url).text == "any")
            #expect(try await fetch(server, url, [.acceptLanguage: "de"]).reply.text == "de")
        }
    }

    @Test("A requested variant gets a ready answer again each time after another variant is stored")
    func manyVariants() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(
                fields: [.cacheControl: "max-age=60", .vary: "Accept-Language"], body: request["Accept-Language"] ?? "-"
            )
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await warm(server, url)
            for number in 0..<8 {
                _ = try await fetch(server, url, [.acceptLanguage: "x-\(number)"])
                _ = try await fetch(server, url)
                #expect(try await fetch(server, url).isAtHand)
            }
        }
    }
}
