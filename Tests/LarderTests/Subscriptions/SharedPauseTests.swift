import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Pauses of hosts that downloads and subscriptions share")
struct SharedPauseTests {
    private static let busy = TestWeb.Document(status: 429, fields: [.retryAfter: "3600"])

    private func download(_ url: String, _ test: TestSubscriptions) async throws -> Result<Void, DownloadError> {
        let request = DownloadRequest(url: try CanonicalURL(url))
        return await withCheckedContinuation { continuation in
            test.server.namespaces.default.downloads.download(request) { result in
                continuation.resume(returning: result.map { _ in () })
            }
        }
    }

    @Test(
        "A subscription sends no request to a host that asked a download for a pause, and goes on after the pause",
        arguments: ["urls", "feed"])
    func learnedByDownload(source: String) async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/b": "b1"])
            web["/feed"] = .init(body: web.feed(["/b"]), fields: [.contentType: "application/rss+xml"])
            web["/a"] = Self.busy
            #expect(try await download(web.url("/a"), test).error == .originStatus(429, retryAfter: 3600))
            let end = test.clock.now() + .seconds(3600)
            let isFeed = source == "feed"
            try await test.put(
                "set",
                [
                    "source": isFeed
                        ? ["feed": .string(web.url("/feed"))] : ["urls": [.string(web.url("/b"))]], "interval": "1m",
                ])
            let held = try await test.wait("set") { report in
                let reason = isFeed ? report.sourceProblem?.reason : report.missing.first?.reason
                return reason?.contains("asked for a pause") == true
            }
            #expect(held.held == 0 && web.origin.requestCount == 1)
            // The pause is in the store of the subscriptions now, so that it lasts over a restart.
            try await test.wait("set") { _ in test.isPaused }
            test.turn(.seconds(3500))
            test.turn(.seconds(200))
            let done = try await test.wait("set", generation: 1)
            #expect(try #require(done.oldest) >= end)
            #expect(try await test.body(web.url("/b")) == "b1")
        }
    }

    @Test(
        "A download fails without a request while the pause lasts that a subscription has learned",
        arguments: ["urls", "feed"])
    func learnedBySubscription(source: String) async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/b": "b1"])
            web["/a"] = Self.busy
            let url = JSON.string(web.url("/a"))
            try await test.put("set", ["source": source == "feed" ? ["feed": url] : ["urls": [url]]])
            try await test.wait("set") { _ in test.isPaused }
            let end = test.clock.now() + .seconds(3600)
            test.clock.advance(by: .milliseconds(600_500))
            let origin = "http://127.0.0.1:\(web.origin.port)"
            #expect(
                try await download(web.url("/b"), test).error
                    == .hostPaused(origin: origin, until: end, retryAfter: 3000))
            #expect(web.origin.requestCount == 1)
            test.clock.advance(by: .seconds(3000))
            #expect(try await download(web.url("/b"), test).error == nil)
        }
    }

    @Test("After a 429 without Retry-After, only the subscription pauses")
    func withoutTime() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/b": "b1"])
            web["/a"] = .init(status: 429)
            try await test.put("set", ["source": ["urls": [.string(web.url("/a"))]]])
            try await test.wait("set") { _ in test.isPaused }
            #expect(try await download(web.url("/b"), test).error == nil)
        }
    }
}

extension Result {
    fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
