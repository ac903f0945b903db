import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Replays over HTTP")
struct ReplayRouteTests {
    private static let csp = "Content-Security-Policy"

    private func key(_ origin: ScriptedOrigin, _ path: String = "/") -> String { md5(origin.url(path)) + "-page" }

    @Test("The banner frames the replay, documents of the replay lead to captured URLs only, and a missing URL is 404")
    func replay() async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            _ = try await server.capture(["url": .string(origin.url("/"))])
            let place = try await server.openView(key(origin))
            let count = origin.requests.count
            let banner = try await server.get(place)
            #expect(banner.status == 200 && banner["Content-Type"] == "text/html; charset=utf-8")
            #expect(banner.text.contains("<iframe src=\"\(place)\(origin.url("/"))\""))
            #expect(banner.text.contains("<a href=\"\(origin.url("/"))\"") && banner.text.contains(PageOrigin.title))
            let policy = try #require(banner[Self.csp])
            #expect(policy.hasPrefix("default-src 'none'; ") && policy.contains("\(place); "), "\(policy)")
            let page = try await server.get(place + origin.url("/"))
            #expect(page.text.contains("\(place)\(origin.url("/image.png"))"))
            #expect(page[Self.csp]?.hasPrefix("sandbox; default-src 'none'; ") == true && page["Set-Cookie"] == nil)
            let sheet = try await server.get(place + origin.url("/style.css"))
            #expect(sheet.text == "h1 { background: url(\"\(place)\(origin.url("/back.png"))\") }")
            #expect(try await server.get(place + origin.url("/image.png")).text == "PNG of /image.png")
            let head = try await server.client.request("HEAD", place + origin.url("/image.png"))
            #expect(head.status == 200 && head.body.isEmpty && head["Content-Type"] == "image/png")
            for url in [origin.url("/other"), origin.url("/image.png?x"), "https://never.example/"] {
                let missing = try await server.get(place + url)
                #expect(missing.status == 404 && missing.text.contains("Not captured"))
            }
            #expect(try await server.get(place + "nonsense").status == 400)
            #expect(origin.requests.count == count)
            #expect(server.service.metrics.pages.views.value == 1)
        }
    }

    @Test("A replay needs the ticket of its page, and a purged page ends its replay")
    func tickets() async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for path in ["/", "/partial"] { _ = try await server.capture(["url": .string(origin.url(path))]) }
            let place = try await server.openView(key(origin))
            let ticket = try #require(place.split(separator: "/").last)
            let others = [
                "/pages/\(key(origin))/view/\(ticket.reversed().map(String.init).joined())/",
                "/pages/\(key(origin, "/partial"))/view/\(ticket)/", "/pages/none/view/\(ticket)/",
                "/@none/pages/\(key(origin))/view/\(ticket)/", "/pages/\(key(origin))/view//",
            ]
            for other in others {
                for url in ["", origin.url("/")] { #expect(try await server.get(other + url).status == 404) }
            }
            #expect(try await server.get(place + origin.url("/")).status == 200)
            server.clock.advance(by: .seconds(3500))
            #expect(try await server.get(place + origin.url("/")).status == 200)
            #expect(try await server.client.request("DELETE", "/pages/\(key(origin))").status == 200)
            #expect(try await server.get(place + origin.url("/")).status == 404)
            #expect(try await server.get(place).status == 404)
        }
    }

    @Test("A replay needs no token and answers alike for unknown namespaces and tickets; opening it needs a token")
    func tokens() async throws {
        let origin = try PageOrigin.start()
        defer { origin.stop() }
        let tokens = try TestTokens([
            TestTokens.Plan(name: "ci", namespaces: ["ci"]), TestTokens.Plan(name: "all", namespaces: nil),
        ])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            var admin = tokens.fields("all", for: "/namespaces/ci")
            admin[.contentType] = "application/json"
            let made = try await server.client.request(
                "PUT", "/namespaces/ci", fields: admin, body: Array("{}".utf8))
            #expect(made.status == 200)
            let page = try await server.capture(
                ["url": .string(origin.url("/"))], fields: tokens.fields("ci", for: "/pages"))
            #expect(page.status == 200)
            // The namespace comes from the token, and a browser sends no token for the frames of a replay.
            let place = try await server.openView(key(origin), fields: tokens.fields("ci", for: "/pages"))
            #expect(place.hasPrefix("/@ci/pages/"))
            #expect(try await server.get(place).status == 200)
            #expect(try await server.get(place + origin.url("/style.css")).status == 200)
            let path = String(place.dropFirst("/@ci".count))
            var answers: Set<String> = []
            for prefix in ["", "/@none", "/@default"] {
                let reply = try await server.get(prefix + path + origin.url("/"))
                #expect(reply.status == 404)
                answers.insert(reply.text)
            }
            #expect(answers.count == 1)
            for path in ["", "/view", "/resources", "/text"] {
                #expect(try await server.get("/@ci/pages/\(key(origin))\(path)").status == 401)
            }
        }
    }

    @Test("After a restart and without its origin, a page has a replay")
    func restart() async throws {
        let directory = try TemporaryDirectory()
        let origin = try PageOrigin.start()
        let urls = ["/", "/style.css", "/image.png", "/back.png"].map { origin.url($0) }
        let key = key(origin)
        let bodies = try await TestServer.with(directory: directory) { (server) async throws in
            _ = try await server.capture(["url": .string(origin.url("/"))])
            return try await Self.bodies(of: urls, key, server)
        }
        origin.stop()
        try await TestServer.with(directory: directory) { (server) async throws in
            #expect(try await Self.bodies(of: urls, key, server) == bodies)
            #expect(try await server.get("/pages/\(key)").member("lastCapture") == nil)
        }
    }

    private static func bodies(of urls: [String], _ key: String, _ server: TestServer) async throws -> [String] {
        let place = try await server.openView(key)
        var bodies: [String] = []
        for url in urls {
            let reply = try await server.get(place + url)
            #expect(reply.status == 200)
            bodies.append(reply.text.replacing(place, with: "PLACE"))
        }
        return bodies
    }
}
