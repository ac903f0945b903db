import DiskCache
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Captured pages of subscriptions")
struct SubscribedPageTests {
    private static let type: HTTPFields = [.contentType: "text/html"]

    /// Holds the page `/page` with the subscription `pages`, and lets the origin give another answer.
    private static func withPage(
        _ answer: TestWeb.Document, _ body: (TestSubscriptions, TestWeb, CacheKey) async throws -> Void
    ) async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb()
            web["/page"] = .init(body: "<title>one</title>", fields: type)
            web["/other"] = .init(body: "<title>other</title>", fields: type)
            let urls: [JSON] = [.string(web.url("/page")), .string(web.url("/other"))]
            try await test.put("pages", ["source": ["capture": .array(urls)], "maxDelay": 0])
            #expect(try await test.wait("pages", generation: 1).held == 2)
            web["/page"] = answer
            try await test.refresh("pages")
            try await body(test, web, .page(canonical: web.url("/page")))
        }
    }

    @Test("A page that answers 404 or 410 leaves the set", arguments: [404, 410])
    func gone(status: Int) async throws {
        try await Self.withPage(.init(status: status)) { test, _, key in
            let report = try await test.wait("pages", generation: 2)
            #expect(report.held == 1 && report.missing.first?.reason?.contains("\(status)") == true)
            #expect(try await test.cache.stored(key.text)?.entry.held != true)
        }
    }

    @Test("A page that answers 401 or 403 keeps its capture, and waits for a day", arguments: [401, 403])
    func forbidden(status: Int) async throws {
        try await Self.withPage(.init(status: status)) { test, web, key in
            let report = try await test.wait("pages", generation: 2)
            #expect(report.held == 2 && !test.isPaused)
            #expect(try await test.cache.stored(key.text)?.entry.held == true)
            let due = test.service.queue.sync { test.service.sets.values.first?.machine.members[key.text]?.due }
            #expect(try #require(due) >= test.clock.now() + .seconds(86_400))
            #expect(web.origin.requests.count { $0.target == "/page" } == 2)
        }
    }

    @Test("The Retry-After of a page pauses its host, also for downloads", arguments: [429, 503])
    func paused(status: Int) async throws {
        try await Self.withPage(.init(status: status, fields: [.retryAfter: "3600"])) { test, web, key in
            try await test.wait("pages") { _ in test.isPaused }
            let report = try await test.wait("pages") { !$0.isRefreshing }
            #expect(report.held == 2)
            #expect(web.origin.requests.count { $0.target == "/page" } == 2)
            let request = DownloadRequest(url: try CanonicalURL(web.url("/file")))
            let error: DownloadError? = await withCheckedContinuation { continuation in
                test.server.namespaces.default.downloads.download(request) { result in
                    if case .failure(let error) = result {
                        continuation.resume(returning: error)
                    } else {
                        continuation.resume(returning: nil)
                    }
                }
            }
            #expect(error?.hostWish(at: test.clock.now())?.time == .seconds(3600))
        }
    }

    @Test("A subscription's capture asks no host that wants a pause for a part of a page; a caller's capture does")
    func pausedPart() async throws {
        try await TestSubscriptions.withOne { test in
            let (web, other) = (try TestWeb(), try TestWeb(["/image": "PNG"]))
            web["/page"] = .init(body: "<title>one</title><img src=\(other.url("/image"))>", fields: Self.type)
            let space = test.server.namespaces.default
            let origin = "http://127.0.0.1:\(other.origin.port)"
            space.downloads.tools.pauses.pause(origin, for: .seconds(3600), at: test.clock.now())
            let url = web.url("/page")
            try await test.put("pages", ["source": ["capture": [.string(url)]]])
            #expect(try await test.wait("pages", generation: 1).held == 1)
            #expect(other.origin.requestCount == 0)
            let status: PageStatus = try await withCheckedThrowingContinuation { continuation in
                do {
                    try space.pages.capture(PageRequest(url: CanonicalURL(url))) { continuation.resume(returning: $0) }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
            #expect(status.state == .complete && other.origin.requestCount == 1)
        }
    }
}
