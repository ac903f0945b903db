import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Sources of a server's subscriptions")
struct SubscriptionSourceTests {
    private static func credential(_ web: TestWeb, _ secret: String) -> OutboxCredential {
        OutboxCredential(
            origins: ["http://127.0.0.1:\(web.origin.port)"], fields: [.init("Authorization", secret)])
    }

    @Test("The first request for a source has the credential, also in the next process")
    func firstRequest() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "one"])
            web["/feed"] = .init(body: web.feed(["/1"]))
            try await test.setCredential("key", Self.credential(web, "Bearer first"))
            try await test.put(
                "news",
                ["source": ["feed": .string(web.url("/feed"))], "credential": "key", "interval": "1h"])
            try await test.wait("news", generation: 1)
            let clock = test.clock
            try await test.restart { clock.advance(by: .seconds(7200)) }
            try await test.wait("news") { _ in web.origin.requests.count { $0.target == "/feed" } == 2 }
            #expect(web.origin.requests.allSatisfy { $0["Authorization"] == "Bearer first" })
        }
    }

    @Test("A round without the source sends the present secret of a rotated credential")
    func rotatedCredential() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "one"])
            // The source is not asked again for a day.
            web["/feed"] = .init(body: web.feed(["/1"]), fields: [.cacheControl: "max-age=86400"])
            try await test.setCredential("key", Self.credential(web, "Bearer first"))
            try await test.put(
                "news",
                [
                    "source": ["feed": .string(web.url("/feed"))], "credential": "key",
                    "adaptive": ["min": "10s", "max": "60s"],
                ])
            try await test.wait("news", generation: 1)
            try await test.setCredential("key", Self.credential(web, "Bearer second"))
            test.turn(.seconds(60))
            try await test.wait("news") { _ in web.origin.requests.count { $0.target == "/1" } == 2 }
            #expect(web.origin.requests.count { $0.target == "/feed" } == 1)
            #expect(web.origin.requests.last?["Authorization"] == "Bearer second")
        }
    }

    @Test("A source that answers 401 or 403 waits a day, and its host still serves other subscriptions")
    func refusedSource() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "one"])
            for status in [401, 403] {
                web["/feed"] = .init(status: status)
                try await test.put("private", ["source": ["feed": .string(web.url("/feed"))]])
                let report = try await test.wait("private") { $0.sourceProblem != nil && !$0.isRefreshing }
                #expect(report.nextRefresh >= test.clock.now() + .seconds(86_400))
                #expect(!test.isPaused)
                try await test.remove("private", keepingCopies: false)
            }
            try await test.put("public", ["source": ["urls": [.string(web.url("/1"))]]])
            #expect(try await test.wait("public", generation: 1).held == 1)
        }
    }

    @Test("A source's 429 without Retry-After pauses its host for a minute, as a member's does")
    func tooManyRequests() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "one"])
            web["/feed"] = .init(status: 429)
            try await test.put("news", ["source": ["feed": .string(web.url("/feed"))]])
            try await test.wait("news") { $0.sourceProblem != nil && !$0.isRefreshing }
            #expect(test.isPaused)
            test.turn(.seconds(61))
            #expect(!test.isPaused)
        }
    }

    @Test("While the source's host wants a pause, members of other hosts are refreshed")
    func pausedSource() async throws {
        try await TestSubscriptions.withOne { test in
            let (web, other) = (try TestWeb(), try TestWeb(["/1": "one"]))
            web["/feed"] = .init(body: web.feed([]).replacing("</channel>", with: Self.item(other.url("/1"))))
            try await test.put("news", ["source": ["feed": .string(web.url("/feed"))], "interval": "1h"])
            try await test.wait("news", generation: 1)
            web["/busy"] = .init(status: 429, fields: [.retryAfter: "86400"])
            try await test.put("busy", ["source": ["urls": [.string(web.url("/busy"))]], "maxDelay": 0])
            try await test.wait("busy") { _ in test.isPaused }
            other["/1"] = .init(body: "changed")
            // The round begins after the interval, and the phase of the URL lies within another one.
            let latest = test.clock.now() + .seconds(7260)
            test.turn(.seconds(3600))
            try await test.wait("news") { report in
                if test.clock.now() < latest { test.clock.advance(by: .seconds(30)) }
                return report.generation >= 2
            }
            #expect(try await test.body(other.url("/1")) == "changed")
            #expect(web.origin.requests.count { $0.target == "/feed" } == 1)
        }
    }

    private static func item(_ url: String) -> String {
        "<item><guid>\(url)</guid><link>\(url)</link></item></channel>"
    }

    @Test("The first sitemap that fails ends the walk, because the host may have asked for a pause")
    func failedSitemap() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb()
            let maps = (0..<3).map { "<sitemap><loc>\(web.url("/map\($0)"))</loc></sitemap>" }
            web["/index"] = .init(
                body: "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\(maps.joined())"
                    + "</sitemapindex>")
            for number in 0..<3 { web["/map\(number)"] = .init(status: 503) }
            try await test.put("site", ["source": ["sitemap": .string(web.url("/index"))]])
            let report = try await test.wait("site") { $0.sourceProblem != nil && !$0.isRefreshing }
            #expect(report.sourceProblem?.reason == "\(web.url("/map0")): the origin answered with status 503")
            #expect(web.origin.requests.map(\.target) == ["/index", "/map0"])
        }
    }

    @Test("After the clock has gone back by a day, a subscription at rest refreshes within its interval")
    func clockGoesBack() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "one"])
            web["/feed"] = .init(body: web.feed(["/1"]))
            try await test.put("news", ["source": ["feed": .string(web.url("/feed"))], "interval": "1h"])
            try await test.wait("news", generation: 1)
            test.turn(.seconds(-86_400))
            // Each turn of the queue shows the clock to the subscription before the clock goes on.
            _ = try await test.report("news")
            test.turn(.seconds(3600))
            try await test.wait("news") { _ in web.origin.requests.count { $0.target == "/feed" } == 2 }
        }
    }

    @Test("A 304 does not confirm a document that was no usable list: the problem stays until a list is taken")
    func confirmedBadDocument() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "one"])
            web["/feed"] = .init(body: web.feed(["/1"]))
            try await test.put("news", ["source": ["feed": .string(web.url("/feed"))], "interval": "1h"])
            try await test.wait("news", generation: 1)
            web["/feed"] = .init(body: "<html><p>Sorry</p></html>")
            try await test.refresh("news")
            try await test.wait("news") { $0.sourceProblem != nil && !$0.isRefreshing }
            try await test.refresh("news")
            let report = try await test.wait("news") { report in
                web.origin.requests.count { $0.target == "/feed" } == 3 && !report.isRefreshing
            }
            #expect(report.sourceProblem != nil && report.held == 1)
            // The validators of the last usable list still serve.
            web["/feed"] = .init(body: web.feed(["/1"]))
            try await test.refresh("news")
            try await test.wait("news") { $0.sourceProblem == nil && !$0.isRefreshing }
            #expect(web.origin.requests.last { $0.target == "/feed" }?["If-None-Match"] != nil)
        }
    }

    @Test("The headers of a definition go to the origins of its own URLs only")
    func headers() async throws {
        try await TestSubscriptions.withOne { test in
            let (web, other) = (try TestWeb(["/1": "one"]), try TestWeb(["/2": "two"]))
            web["/feed"] = .init(body: web.feed(["/1"]).replacing("</channel>", with: Self.item(other.url("/2"))))
            try await test.put(
                "news", ["source": ["feed": .string(web.url("/feed"))], "headers": ["X-Key": "secret"]])
            #expect(try await test.wait("news", generation: 1).held == 2)
            #expect(web.origin.requestCount == 2 && web.origin.requests.allSatisfy { $0["X-Key"] == "secret" })
            #expect(other.origin.requestCount == 1 && other.origin.requests.allSatisfy { $0["X-Key"] == nil })
        }
    }
}
