import DiskCache
import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing
import WebArchive

@testable import Larder

@Suite("Static captures of pages")
struct OriginCaptureTests {
    private static let html: HTTPFields = [.contentType: "text/html"]

    private func origin(
        _ pages: [String: (type: String, body: String)],
        _ other: @escaping @Sendable (ScriptedOrigin.Request, ScriptedOrigin.Connection) throws -> Bool = { _, _ in
            false
        }
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            if try other(request, connection) { return }
            guard let page = pages[request.target] else {
                return try connection.respond(404, body: "missing")
            }
            try connection.respond(fields: [.contentType: page.type], body: page.body)
        }
    }

    @Test("A capture has the page, its style sheets, their imports and fonts, images, frames and modules, each once")
    func whole() async throws {
        let origin = try origin([
            "/": (
                "text/html",
                """
                <title>A page</title><link rel=stylesheet href=s.css><img src=i.png srcset="i.png 1x, j.png 2x">
                <iframe src=f.html></iframe><script type=module src=m.mjs></script><a href=never.html></a>
                <form action=never></form><link rel=preconnect href=never>
                """
            ),
            "/s.css": ("text/css", "@import 't.css'; @font-face { src: url(f.woff2) }"),
            "/t.css": ("text/css", "b { background: url(i.png) }"), "/i.png": ("image/png", "i"),
            "/j.png": ("image/png", "j"), "/f.woff2": ("font/woff2", "f"),
            "/f.html": ("text/html", "<img src=k.png>"), "/k.png": ("image/png", "k"),
            "/m.mjs": ("text/javascript", "import './n.mjs'"), "/n.mjs": ("text/javascript", "1"),
        ])
        defer { origin.stop() }
        try await TestCaptures.withOne { captures async throws in
            let (result, page) = try await captures.capture(origin.url("/"))
            #expect(result.outcome == .complete)
            #expect(result.title == "A page")
            #expect(
                result.paths == [
                    "/", "/f.html", "/f.woff2", "/i.png", "/j.png", "/k.png", "/m.mjs", "/n.mjs", "/s.css", "/t.css",
                ])
            #expect(origin.requests.count == result.paths.count)
            let image = try #require(result.record("/i.png")?.answer?.digest)
            guard case .hit(let held) = try captures.cache.resource(image), case .bytes(let bytes) = held.body else {
                Issue.record("the image is not stored")
                return
            }
            #expect(bytes.withUnsafeBytes { Array($0) } == Array("i".utf8))
            #expect(CaptureRecord.records(in: CaptureRecord.text(of: result.records)) == result.records)
            page.abandon()
        }
    }

    @Test("Redirects are followed, and each is a record")
    func redirects() async throws {
        let origin = try origin(["/page/": ("text/html", "<img src=i>"), "/page/i": ("image/png", "i")]) {
            request, connection in
            guard request.target == "/start" else { return false }
            try connection.respond(302, fields: [.location: "page/"], body: "moved")
            return true
        }
        defer { origin.stop() }
        try await TestCaptures.withOne { captures async throws in
            let (result, _) = try await captures.capture(origin.url("/start"))
            #expect(result.outcome == .complete)
            #expect(result.records.map { $0.answer?.status } == [302, 200, 200])
            #expect(result.records[result.page].url == origin.url("/page/"))
            #expect(result.records[0].answer?.digest == nil)
        }
    }

    @Test("Cookies of the origin and of the caller go only to their host, and no record has them")
    func cookies() async throws {
        let other = try origin(["/o.png": ("image/png", "o")])
        defer { other.stop() }
        // The other origin has another host, because cookies ignore ports.
        let foreign = other.url("/o.png").replacing("127.0.0.1", with: "localhost")
        let origin = try origin(["/i.png": ("image/png", "i")]) { request, connection in
            guard request.target == "/" else { return false }
            let fields: HTTPFields = [.contentType: "text/html", .setCookie: "sid=1; Path=/; HttpOnly"]
            try connection.respond(fields: fields, body: "<img src=i.png><img src='\(foreign)'>")
            return true
        }
        defer { origin.stop() }
        try await TestCaptures.withOne { captures async throws in
            let secret: HTTPFields = [.authorization: "Bearer secret"]
            let (result, _) = try await captures.capture(origin.url("/"), fields: secret, cookies: ["own=2"])
            #expect(origin.requests.map { $0["Cookie"] } == ["own=2", "own=2; sid=1"])
            // One field each: RFC 6265 §5.4.
            #expect(origin.requests.map { $0.fields[fields: .cookie].count } == [1, 1])
            #expect(origin.requests.allSatisfy { $0["Authorization"] == "Bearer secret" })
            #expect(other.requests.allSatisfy { $0["Cookie"] == nil && $0["Authorization"] == nil })
            #expect(other.requests.count == 1)
            let text = String(decoding: CaptureRecord.text(of: result.records), as: UTF8.self)
            #expect(!text.contains("sid=1") && !text.contains("own=2") && !text.contains("secret"))
        }
    }

    @Test("The cookies of a browser and those of a capture are joined, and each name counts once")
    func joinedCookies() {
        #expect(CaptureCookies.joined(nil, "a=1; b=2") == "a=1; b=2")
        #expect(CaptureCookies.joined("b=3", "a=1; b=2") == "b=3; a=1")
        #expect(CaptureCookies.joined("a=1; b=3", "a=1") == "a=1; b=3")
    }

    @Test("A caller's cookies go to the page's origin only, not to another port of its host")
    func ownCookies() {
        var cookies = CaptureCookies()
        // The second cookie replaces the first, and goes to the same origin only.
        for value in 0...1 { cookies.setOwn("own=\(value)", for: WebURL("https://h.example/a/b")!) }
        cookies.set("set=2", by: WebURL("https://h.example/a/b")!)
        #expect(cookies.header(for: WebURL("https://h.example/a/")!) == "set=2; own=1")
        #expect(cookies.header(for: WebURL("https://h.example/c")!) == "own=1")
        for url in ["https://h.example:8443/a/", "http://h.example/a/"] {
            #expect(cookies.header(for: WebURL(url)!) == "set=2", "\(url)")
        }
        #expect(cookies.header(for: WebURL("https://www.h.example/a/")!) == nil)
        cookies.set("set=; Max-Age=0", by: WebURL("https://h.example/a/b")!)
        #expect(cookies.header(for: WebURL("https://h.example/a/")!) == "own=1")
    }

    @Test("A page with an error status is no page, and a refused resource is missing", arguments: [403, 404, 500])
    func refusals(_ status: Int) async throws {
        let origin = try origin(["/page": ("text/html", "<img src=i>")]) { request, connection in
            guard request.target != "/page" else { return false }
            try connection.respond(status, fields: [.contentType: "text/html"], body: "x")
            return true
        }
        defer { origin.stop() }
        try await TestCaptures.withOne { captures async throws in
            #expect(try await captures.capture(origin.url("/")).result.outcome == .failed)
            let outcome = try await captures.capture(origin.url("/page")).result.outcome
            // A live page would lack a resource that does not exist, too.
            #expect(outcome == (status == 404 ? .complete : .partial))
        }
    }

    @Test("A resource that fails once is fetched again, and a resource that fails twice is missing with its reason")
    func failures() async throws {
        let attempts = Recorder<String>()
        let origin = try origin(["/": ("text/html", "<img src=once><img src=twice><img src=absent>")]) {
            request, connection in
            guard request.target == "/once" || request.target == "/twice" else { return false }
            attempts.append(request.target)
            let isFirst = attempts.elements.filter { $0 == request.target }.count == 1
            let fails = isFirst || request.target == "/twice"
            try connection.respond(fails ? 503 : 200, fields: [.contentType: "image/png"], body: "x")
            return true
        }
        defer { origin.stop() }
        try await TestCaptures.withOne { captures async throws in
            let (result, _) = try await captures.capture(origin.url("/"))
            #expect(result.outcome == .partial)
            #expect(result.record("/once")?.answer?.status == 200)
            #expect(result.record("/twice")?.problem == "the origin answered with status 503")
            #expect(result.record("/absent")?.answer?.status == 404)
            #expect(attempts.elements.sorted() == ["/once", "/once", "/twice", "/twice"])
        }
    }

    @Test("A body over the limit, a page over its time, and a cancelled capture end the capture as such")
    func limits() async throws {
        let release = Gate("the slow body may end")
        let origin = try origin([
            "/": ("text/html", "<img src=large><img src=i>"),
            "/large": ("image/png", String(repeating: "x", count: 5000)),
            "/i": ("image/png", "i"), "/slow": ("text/html", "<img src=stuck>"),
        ]) { request, _ in
            guard request.target == "/stuck" else { return false }
            try release.waitBlocking()
            return false
        }
        defer {
            release.open()
            origin.stop()
        }
        try await TestCaptures.withOne { captures async throws in
            var limits = CaptureLimits()
            limits.resourceBytes = 4000
            let large = try await captures.capture(origin.url("/"), limits: limits).result
            #expect(large.outcome == .partial)
            #expect(large.record("/large")?.problem == "the body is longer than the limit")
            #expect(large.record("/i")?.answer?.status == 200)
            // The document and its markup must arrive within this time, also on a busy machine.
            limits.time = .seconds(3)
            let slow = try await captures.capture(origin.url("/slow"), limits: limits).result
            #expect(slow.outcome == .partial)
            #expect(slow.record("/stuck")?.problem == "the time limit of the capture had passed")
            let cancelled = try await captures.capture(origin.url("/slow")) { $0.cancel() }.result
            #expect(cancelled.outcome == .cancelled)
            // The owner of a purged capture cancels the capture at each advance.
            let purged = try await captures.capture(origin.url("/slow"), advanced: { $0.cancel() }).result
            #expect(purged.outcome == .cancelled)
        }
    }
}
