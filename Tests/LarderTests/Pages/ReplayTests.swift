import DiskCache
import HTTPTypes
import Logging
import Primitives
import TestSupport
import Testing
import WebArchive

@testable import Larder

@Suite("Replays of captured pages")
struct ReplayTests {
    private static let place = ReplayPlace(host: "cache.example:8080", path: "/pages/k/view/t/")
    private static let csp = HTTPField.Name("Content-Security-Policy")!

    private func answer(
        _ url: String, _ kind: Reference.Kind = .image, status: Int = 200, type: String?, fields: HTTPFields = [:]
    ) -> ReplayAnswer {
        var fields = fields
        fields[.contentType] = type
        let record = CaptureRecord(
            url: url, kind: kind, date: Timestamp(milliseconds: 0),
            answer: CaptureRecord.Answer(status: status, fields: fields, digest: [1, 2], length: 2))
        return ReplayAnswer.answer(to: WebURL(url)!, record, at: Self.place)
    }

    @Test(
        "A body that a browser could read as a document is rewritten, also where the page does not show it as one",
        arguments: [
            (.frame, "text/html", .html, "text/html; charset=utf-8"), (.frame, nil, .html, "text/html; charset=utf-8"),
            (.image, "text/html; charset=latin1", .html, "text/html; charset=utf-8"),
            // Browsers read these as HTML or XML, too.
            (.image, "text/html charset=utf-8", .html, "text/html; charset=utf-8"),
            (.image, "text/html(x)", .html, "text/html; charset=utf-8"),
            (.image, "a/b, Text/HTML", .html, "text/html; charset=utf-8"),
            (.image, "text/html, x/y+xml", .html, "text/html; charset=utf-8"),
            (.frame, "text/xsl", .xml, "application/xml; charset=utf-8"),
            (.image, "image/png, image/gif", nil, "application/octet-stream"),
            (.image, "png", nil, "application/octet-stream"),
            (.frame, "text/plain; charset=Shift_JIS", nil, "text/plain; charset=Shift_JIS"),
            (.frame, "text/plain; charset=\"a;b\"", nil, "text/plain"),
            (.image, "image/svg+xml", .xml, "image/svg+xml; charset=utf-8"),
            (.script, "application/xhtml+xml", .xml, "application/xhtml+xml; charset=utf-8"),
            (.style, "text/plain", .css, "text/css; charset=utf-8"),
            (.preload, "text/css", .css, "text/css; charset=utf-8"),
            (.image, nil, nil, "application/octet-stream"),
            (.image, "multipart/x-mixed-replace; boundary=b", nil, "application/octet-stream"),
            (.image, "image/png", nil, "image/png"), (.script, "text/javascript", nil, "text/javascript"),
        ] as [(Reference.Kind, String?, ArchivedDocument.Format?, String)])
    func formats(kind: Reference.Kind, type: String?, format: ArchivedDocument.Format?, sent: String) {
        let answer = answer("https://h/x", kind, type: type)
        let found: ArchivedDocument.Format? = if case .rewritten(_, let format) = answer.body { format } else { nil }
        #expect(found == format)
        #expect(answer.fields[.contentType] == sent)
    }

    @Test("Every answer of a replay is confined, and repeats no field that reaches beyond the replay")
    func confinement() {
        let fields: HTTPFields = [
            HTTPField.Name("Link")!: "<//h>; rel=preconnect", HTTPField.Name("Refresh")!: "0;url=//h",
            Self.csp: "script-src *", HTTPField.Name("Report-To")!: "{}", .setCookie: "a=b",
            HTTPField.Name("X-Own")!: "dropped", .contentLanguage: "de",
        ]
        let record = CaptureRecord(
            url: "https://h/m", kind: .frame, date: Timestamp(milliseconds: 0),
            answer: CaptureRecord.Answer(status: 301, fields: [.location: "/n#f"], digest: nil, length: 0))
        let moved = ReplayAnswer.answer(to: WebURL("https://h/m")!, record, at: Self.place)
        #expect(moved.status == 301 && moved.fields[.location] == "/pages/k/view/t/https://h/n#f")
        let missing = ReplayAnswer.answer(to: WebURL("https://h/<x>")!, nil, at: Self.place)
        #expect(missing.status == 404)
        let image = answer("https://h/x", type: "image/png", fields: fields)
        #expect(image.fields[.contentLanguage] == "de")
        #expect(missing.fields[Self.csp] == "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'")
        for answer in [moved, image] {
            let policy = answer.fields[values: Self.csp]
            #expect(policy.count == 1)
            #expect(
                policy[0].hasPrefix("sandbox; default-src 'none'; img-src cache.example:8080/pages/k/view/t/ data:"))
            #expect(policy[0].contains("script-src 'none'") && policy[0].contains("form-action 'none'"))
            #expect(answer.fields[HTTPField.Name("X-Content-Type-Options")!] == "nosniff")
            #expect(answer.fields[HTTPField.Name("Referrer-Policy")!] == "no-referrer")
            for name in ["Link", "Refresh", "Report-To", "Set-Cookie", "X-Own"] {
                #expect(answer.fields[HTTPField.Name(name)!] == nil, "\(name)")
            }
        }
    }

    @Test(
        "A host with other characters than those of host names gets no policy",
        arguments: ["", "h; script-src *", "h/x", "h\n"])
    func hosts(host: String) {
        #expect(!ReplayPlace(host: host, path: "/").isValid)
    }

    private func withPage(
        _ body: (PageManager, PageViewer, DiskCache, ScriptedOrigin, ManualClock) async throws -> Void
    ) async throws {
        let origin = try ScriptedOrigin { request, connection in
            switch request.target {
            case "/": try connection.respond(302, fields: [.location: "/page"], body: "")
            case "/page":
                let html =
                    "<meta charset=latin1><link rel=stylesheet href=s.css><img src='i(1).png'><a href=/other>é</a>"
                try connection.respond(fields: [.contentType: "text/html"], body: html)
            case "/s.css": try connection.respond(fields: [.contentType: "text/css"], body: "b{c:url(i%281%29.png)}")
            case "/i(1).png", "/i%281%29.png":
                try connection.respond(fields: [.contentType: "image/png"], body: "image")
            default: try connection.respond(404, body: "missing")
            }
        }
        defer { origin.stop() }
        try await TestCaptures.withOne { captures async throws in
            let manager = PageManager(
                tools: captures.tools, directory: captures.directory,
                events: NamespaceEvents(hub: EventHub(), namespace: "default", clock: SystemClock()), schemes: ["http"],
                browsers: nil,
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
            let clock = ManualClock()
            let viewer = PageViewer(cache: captures.cache, clock: clock, metrics: PageCounters())
            try await body(manager, viewer, captures.cache, origin, clock)
        }
    }

    private func capture(_ manager: PageManager, _ origin: ScriptedOrigin) async throws -> String {
        let request = PageRequest(url: try CanonicalURL(origin.url("/")))
        let status = await withCheckedContinuation { continuation in
            _ = try? manager.capture(request) { continuation.resume(returning: $0) }
        }
        #expect(status.state == .complete)
        return status.key
    }

    private func open(_ viewer: PageViewer, _ key: String) async throws -> PageViewer.Ticket {
        try await withCheckedContinuation { continuation in
            viewer.open(key) { continuation.resume(returning: $0) }
        }.get()
    }

    private func get(
        _ viewer: PageViewer, _ ticket: PageViewer.Ticket, _ url: String
    ) async -> Result<PageViewer.Answer, PageViewer.Failure> {
        await withCheckedContinuation { continuation in
            viewer.answer(ticket.text, key: ticket.key, url: url, at: Self.place) { continuation.resume(returning: $0) }
        }
    }

    private func text(_ answer: Result<PageViewer.Answer, PageViewer.Failure>) throws -> String {
        String(decoding: Array(try answer.get().body.bytes()), as: UTF8.self)
    }

    @Test("A replay shows the page and its resources from the cache alone")
    func replay() async throws {
        try await withPage { manager, viewer, _, origin, _ in
            let key = try await capture(manager, origin)
            let count = origin.requestCount
            let ticket = try await open(viewer, key)
            #expect(ticket.url == origin.url("/page"))
            let view = Self.place.path + origin.url("")
            let page = try text(await get(viewer, ticket, ticket.url))
            #expect(page.contains("<link rel=stylesheet href=\"\(view)/s.css\">"))
            #expect(page.contains("<img src='\(view)/i(1).png'>"))
            #expect(page.contains("<a href=\"\(view)/other\">Ã©</a>"))
            #expect(try text(await get(viewer, ticket, origin.url("/i(1).png"))) == "image")
            #expect(try text(await get(viewer, ticket, origin.url("/i%281%29.png"))) == "image")
            #expect(try text(await get(viewer, ticket, origin.url("/%69(1%29.png"))) == "image")
            #expect(try text(await get(viewer, ticket, origin.url("/s.css"))).contains("\(view)/i%281%29.png"))
            #expect(try await get(viewer, ticket, origin.url("/")).get().status == 302)
            let other = await get(viewer, ticket, origin.url("/other"))
            #expect(try other.get().status == 404)
            #expect(try text(other).contains(origin.url("/other")))
            #expect(origin.requestCount == count)
        }
    }

    @Test("A ticket ends with its time, and when its page is purged or captured again")
    func endings() async throws {
        try await withPage { manager, viewer, cache, origin, clock in
            let key = try await capture(manager, origin)
            let old = try await open(viewer, key)
            #expect(try await get(viewer, old, old.url).get().status == 200)
            clock.advance(by: PageViewer.ticketLife - .seconds(1))
            #expect(try await get(viewer, old, old.url).get().status == 200)
            clock.advance(by: PageViewer.ticketLife)
            guard case .failure(.ticket) = await get(viewer, old, old.url) else {
                Issue.record("an old ticket is valid")
                return
            }
            let second = try await open(viewer, key)
            _ = try await capture(manager, origin)
            guard case .failure(.absent) = await get(viewer, second, second.url) else {
                Issue.record("a replaced capture is shown")
                return
            }
            let third = try await open(viewer, key)
            #expect(try await get(viewer, third, third.url).get().status == 200)
            try await cache.remove(key)
            guard case .failure(.absent) = await get(viewer, third, third.url) else {
                Issue.record("a purged page is shown")
                return
            }
            await #expect(throws: PageViewer.Failure.self) { try await open(viewer, key) }
            for url in ["", "relative", "javascript:alert(1)", "file:///etc/passwd"] {
                guard case .failure(.invalid) = await get(viewer, third, url) else {
                    Issue.record("\(url) is valid")
                    return
                }
            }
        }
    }

    @Test("A table keeps the values that were used last, within its weight")
    func table() {
        var table = WeightedTable<Int, String>(limit: 100)
        for number in 0..<4 { table.insert("\(number)", for: number, weight: 25) }
        #expect(table.value(for: 0) == "0")
        table.insert("4", for: 4, weight: 25)
        #expect(table.value(for: 1) == nil && table.value(for: 0) == "0" && table.weight == 100)
        table.insert("too heavy", for: 5, weight: 26)
        #expect(table.value(for: 5) == nil)
        table.insert("lighter", for: 0, weight: 5)
        #expect(table.weight == 80)
    }
}
