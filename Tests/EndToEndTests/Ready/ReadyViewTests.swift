import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

/// Ready answers of replays. An answer is ready if the cache was not asked for any entry.
@Suite("Ready answers of replays")
struct ReadyViewTests {
    private func expectAtHand(
        _ isExpected: Bool, _ server: TestServer, _ path: String, fields: HTTPFields = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        let before = server.space.cache.memoryStatistics.hits
        let reply = try await server.get(path, fields: fields)
        let isAtHand = server.space.cache.memoryStatistics.hits == before && reply.status == 200
        #expect(isAtHand == isExpected, sourceLocation: sourceLocation)
        return reply
    }

    /// Captures a page, and requests its document and its image until their answers are ready.
    private func withView(
        tokens: TestTokens? = nil,
        _ body: (TestServer, _ key: String, _ document: String, _ image: String) async throws -> Void
    ) async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        try await TestServer.with(tokens: tokens?.store) { (server) async throws in
            let fields = tokens?.fields("all", for: "/pages") ?? [:]
            let page = try await server.capture(["url": .string(origin.url("/"))], fields: fields)
            let key = try #require(page.member("key")?.stringValue)
            let place = try await server.openView(key, fields: fields)
            let (document, image) = (place + origin.url("/"), place + origin.url("/image.png"))
            for path in [document, image] {
                let first = try await server.get(path)
                _ = try await server.get(path)
                let ready = try await expectAtHand(true, server, path)
                #expect(ready.status == 200 && ready.body == first.body)
                #expect(ready.fields.filter { $0.name != .date } == first.fields.filter { $0.name != .date })
            }
            try await body(server, key, document, image)
        }
    }

    @Test("The ready answers of a replay end with the page, and with a new capture that replaces theirs")
    func purge() async throws {
        try await withView { (server, key, document, image) async throws in
            #expect(try await server.client.request("DELETE", "/pages/\(key)").status == 200)
            for path in [document, image] { #expect(try await server.get(path).status == 404) }
        }
        try await withView { (server, key, document, image) async throws in
            let page = try await server.get("/pages/\(key)")
            let url = try #require(page.member("url")?.stringValue)
            #expect(try await server.capture(["url": .string(url)]).status == 200)
            for path in [document, image] { #expect(try await server.get(path).status == 404) }
        }
    }

    @Test("A ready answer counts as a use of its ticket, and ends with the ticket")
    func ticket() async throws {
        try await withView { (server, _, document, image) async throws in
            for _ in 0..<3 {
                server.clock.advance(by: .seconds(3000))
                _ = try await expectAtHand(true, server, document)
            }
            // The ticket belongs to the whole replay.
            _ = try await expectAtHand(true, server, image)
            server.clock.advance(by: .seconds(3700))
            for path in [document, image] { #expect(try await server.get(path).status == 404) }
        }
    }

    @Test("Each host, which the policy of the answer names, has a ready answer of its own")
    func hosts() async throws {
        try await withView { (server, _, document, _) async throws in
            let fields: HTTPFields = [HTTPField.Name("Host")!: "other.example"]
            let other = try await expectAtHand(false, server, document, fields: fields)
            #expect(other["Content-Security-Policy"]?.contains("other.example/") == true)
            let again = try await expectAtHand(true, server, document, fields: fields)
            #expect(again["Content-Security-Policy"] == other["Content-Security-Policy"])
            let own = try await expectAtHand(true, server, document)
            #expect(own["Content-Security-Policy"]?.contains("other.example") == false)
        }
    }

    @Test("A server with tokens gives ready answers to a ticket, and no other answer without a token")
    func tokens() async throws {
        let tokens = try TestTokens([TestTokens.Plan(name: "all", namespaces: nil)])
        try await withView(tokens: tokens) { (server, key, document, image) async throws in
            for path in ["/pages/\(key)", "/pages/\(key)/view", "/pages/\(key)/text", "/entries/\(key)/content"] {
                #expect(try await server.get(path).status == 401)
            }
        }
    }

    @Test("The requests of a sandboxed document, which come from another site, and HEAD get the ready answer")
    func browsers() async throws {
        try await withView { (server, _, document, image) async throws in
            for fields: HTTPFields in [
                [HTTPField.Name("Sec-Fetch-Site")!: "cross-site", HTTPField.Name("Sec-Fetch-Dest")!: "image"],
                [HTTPField.Name("Origin")!: "null", HTTPField.Name("Sec-Fetch-Site")!: "cross-site"],
            ] {
                let reply = try await expectAtHand(true, server, image, fields: fields)
                #expect(reply["Access-Control-Allow-Origin"] == "*")
            }
            let head = try await server.client.request("HEAD", document)
            #expect(head.status == 200 && head.body.isEmpty && head["Content-Security-Policy"] != nil)
            // A worker would run with the origin of this server.
            let worker: HTTPFields = [HTTPField.Name("Sec-Fetch-Dest")!: "serviceworker"]
            _ = try await expectAtHand(false, server, image, fields: worker)
        }
    }

    @Test("A namespace in the path has ready answers of its own")
    func namespaces() async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for name in ["one", "two"] {
                let made = try await server.client.request(
                    "PUT", "/namespaces/\(name)", fields: [.contentType: "application/json"], body: Array("{}".utf8))
                #expect(made.status == 200)
                let page = try await server.client.request(
                    "POST", "/@\(name)/pages",
                    fields: [.contentType: "application/json", HTTPField.Name("Prefer")!: "wait=60"],
                    body: Array("{\"url\": \"\(origin.url("/"))\"}".utf8))
                #expect(page.status == 200)
            }
            let key = md5(origin.url("/")) + "-page"
            let opened = try await server.get("/@one/pages/\(key)/view")
            let place = try #require(opened["Location"])
            let image = place + origin.url("/image.png")
            for _ in 0..<3 { #expect(try await server.get(image).status == 200) }
            #expect(place.hasPrefix("/@one/"))
            #expect(try await server.get("/@two" + image.dropFirst("/@one".count)).status == 404)
            #expect(try await server.get(String(image.dropFirst("/@one".count))).status == 404)
        }
    }

    @Test("Parts and conditions have answers of their own")
    func conditions() async throws {
        try await withView { (server, _, document, image) async throws in
            let whole = try await expectAtHand(true, server, image)
            let tag = try #require(whole[.eTag])
            #expect(whole[.acceptRanges] == "bytes")
            let part = try await server.get(image, fields: [.range: "bytes=1-2"])
            #expect(part.status == 206 && part.body == Array(whole.body[1...2]))
            #expect(part["Content-Security-Policy"] == whole["Content-Security-Policy"])
            let same = try await server.get(image, fields: [.ifNoneMatch: tag])
            #expect(same.status == 304 && same.body.isEmpty && same[.eTag] == tag)
            #expect(try await server.get(image, fields: [.range: "bytes=5000-"]).status == 416)
            let other = try await server.get(image, fields: [.range: "bytes=1-2", .ifRange: "\"other\""])
            #expect(other.status == 200 && other.body == whole.body)
            // Larder makes documents anew, so they have no validator.
            let page = try await server.get(document, fields: [.range: "bytes=1-2"])
            #expect(page.status == 200 && page[.eTag] == nil && page[.acceptRanges] == nil)
        }
    }
}
