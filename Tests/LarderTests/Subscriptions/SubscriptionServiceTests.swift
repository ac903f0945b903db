import DiskCache
import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Subscriptions of a server")
struct SubscriptionServiceTests {
    @Test("A list of URLs is held, and a refresh switches to the new bodies")
    func list() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1", "/b": "b1"])
            try await test.put("set", ["source": ["urls": [.string(web.url("/a")), .string(web.url("/b"))]]])
            let first = try await test.wait("set", generation: 1)
            #expect(first.state == .complete && first.held == 2 && first.wanted == 2 && first.missing.isEmpty)
            #expect(try await test.body(web.url("/a")) == "a1")
            #expect(try await test.cache.stored(test.key(web.url("/a")))?.entry.held == true)

            web["/a"] = .init(body: "a2")
            try await test.refresh("set")
            let second = try await test.wait("set", generation: 2)
            #expect(second.held == 2 && second.oldest == test.clock.now())
            #expect(try await test.body(web.url("/a")) == "a2")
            // The origin confirmed the other body.
            #expect(try await test.body(web.url("/b")) == "b1")
            #expect(web.origin.requests.last { $0.target == "/b" }?["If-None-Match"] != nil)
        }
    }

    @Test("A feed's latest items are held; an item that leaves the feed becomes an ordinary entry")
    func feed() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "one", "/2": "two", "/3": "three"])
            web["/feed"] = .init(body: web.feed(["/2", "/1"]))
            try await test.put("news", ["source": ["feed": .string(web.url("/feed"))], "latest": 2, "interval": "1h"])
            #expect(try await test.wait("news", generation: 1).held == 2)

            web["/feed"] = .init(body: web.feed(["/3", "/2", "/1"]))
            test.turn(.seconds(3600))
            // The new item does not wait for the refreshes of the others, which spread over the hour.
            let report = try await test.wait("news") { $0.generation == 2 }
            #expect(report.held == 2 && report.state == .complete)
            #expect(try await test.items("news").map(\.url) == [web.url("/3"), web.url("/2")])
            #expect(try await test.cache.stored(test.key(web.url("/3")))?.entry.held == true)
            #expect(try await test.cache.stored(test.key(web.url("/1")))?.entry.held == false)
        }
    }

    @Test("Signed URLs of a source and of its items reach the origin as they are written, also after a restart")
    func signedURLs() async throws {
        try await TestSubscriptions.withOne { test in
            let (feed, item) = ("/feed?sig=%7e%41", "/1?sig=%7eb%2f%41")
            let web = try TestWeb([item: "one", "/2?sig=%7e": "two"])
            web[feed] = .init(body: web.feed([item]))
            try await test.put("news", ["source": ["feed": .string(web.url(feed))], "interval": "1h"])
            try await test.put("set", ["source": ["urls": [.string(web.url("/2?sig=%7e"))]]])
            #expect(try await test.wait("news", generation: 1).held == 1)
            #expect(try await test.wait("set", generation: 1).held == 1)
            #expect(try await test.body(web.url("/1?sig=~b%2FA")) == "one")

            try await test.restart()
            web[item] = .init(body: "new")
            web["/2?sig=%7e"] = .init(body: "new")
            for name in ["news", "set"] {
                try await test.wait(name) { $0.generation == 1 }
                try await test.refresh(name)
                #expect(try await test.wait(name, generation: 2).held == 1)
            }
            #expect(try await test.body(web.url("/1?sig=~b%2FA")) == "new")
            #expect(try await test.body(web.url("/2?sig=~")) == "new")
        }
    }

    @Test("A source that is empty, HTML or gone leaves the set as it is, and is told with its reason")
    func brokenSource() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "one"])
            web["/feed"] = .init(body: web.feed(["/1"]))
            try await test.put("news", ["source": ["feed": .string(web.url("/feed"))], "interval": "1h"])
            try await test.wait("news", generation: 1)
            for (body, status) in [("<html><p>Sorry</p></html>", 200), (web.feed([]), 200), ("", 404)] {
                web["/feed"] = .init(body: body, status: status)
                try await test.refresh("news")
                let report = try await test.wait("news") { $0.sourceProblem != nil && !$0.isRefreshing }
                #expect(report.held == 1 && report.wanted == 1)
                #expect(try await test.body(web.url("/1")) == "one")
                web["/feed"] = .init(body: web.feed(["/1"]))
                try await test.refresh("news")
                try await test.wait("news") { $0.sourceProblem == nil && !$0.isRefreshing }
            }
        }
    }

    @Test("A member that is gone leaves with its reason; a member that fails keeps its copy")
    func failingMembers() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1", "/b": "b1", "/c": "c1"])
            let urls: [JSON] = ["/a", "/b", "/c"].map { .string(web.url($0)) }
            try await test.put("set", ["source": ["urls": .array(urls)], "maxDelay": 0])
            try await test.wait("set", generation: 1)
            web["/a"] = nil
            web["/b"] = .init(status: 503)
            web["/c"] = .init(body: "c2")
            try await test.refresh("set")
            let report = try await test.wait("set", generation: 2)
            #expect(report.state == .incomplete && report.held == 2 && report.missingCount == 1)
            #expect(report.missing.first?.url == web.url("/a"))
            #expect(report.missing.first?.reason == "the origin answered with status 404")
            #expect(try await test.body(web.url("/b")) == "b1")
            #expect(try await test.body(web.url("/c")) == "c2")
            #expect(try await test.items("set")[1].problem?.reason == "the origin answered with status 503")
        }
    }

    @Test("Copies, definitions and pauses of hosts last over a restart; an absent origin loses no copy")
    func restart() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1", "/b": "b1"])
            let urls: [JSON] = ["/a", "/b"].map { .string(web.url($0)) }
            try await test.put(
                "set", ["source": ["urls": .array(urls)], "interval": "1h", "ttl": "1m", "maxDelay": "1d"])
            try await test.wait("set", generation: 1)
            web["/a"] = .init(status: 429, fields: [.retryAfter: "7200"])
            web["/b"] = .init(status: 429, fields: [.retryAfter: "7200"])
            try await test.refresh("set")
            try await test.wait("set") { _ in web.origin.requestCount == 3 }
            try await test.wait("set") { _ in test.isPaused }
            try await test.restart()
            let count = web.origin.requestCount
            test.turn(.seconds(3600))
            let held = try await test.wait("set") { $0.generation >= 1 }
            #expect(held.held == 2 && held.wanted == 2)
            #expect(try await test.body(web.url("/a")) == "a1")
            #expect(web.origin.requestCount == count)

            web["/a"] = .init(body: "a2")
            web["/b"] = .init(body: "b1")
            test.turn(.seconds(3700))
            try await test.refresh("set")
            try await test.wait("set", generation: 2)
            #expect(try await test.body(web.url("/a")) == "a2")
        }
    }

    @Test("After the clock went back by a day, a subscription at rest refreshes within its interval")
    func clockBackAtRest() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1"])
            try await test.put("set", ["source": ["urls": [.string(web.url("/a"))]], "interval": "1h"])
            try await test.wait("set", generation: 1)
            web["/a"] = .init(body: "a2")
            test.turn(.seconds(-86_400))
            // The turn has ended.
            test.service.queue.sync {}
            let back = test.clock.now()
            // The round begins after the interval, and the phase of the URL lies within another one.
            let latest = back + .seconds(7260)
            test.turn(.seconds(3600))
            try await test.wait("set") { report in
                if test.clock.now() < latest { test.clock.advance(by: .seconds(30)) }
                return report.generation >= 2
            }
            #expect(try await test.body(web.url("/a")) == "a2")
        }
    }

    @Test("After rm -r of the cache the set is fetched again", arguments: [true, false])
    func lostCache(isOriginAway: Bool) async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1"])
            try await test.put("set", ["source": ["urls": [.string(web.url("/a"))]]])
            try await test.wait("set", generation: 1)
            let path = test.temporary.path("cache")
            if isOriginAway { web["/a"] = .init(status: 503) }
            try await test.restart { try FileManager.default.removeItem(atPath: path) }
            if isOriginAway {
                let report = try await test.wait("set") { $0.missing.first?.reason != nil }
                #expect(report.state != .complete && report.wanted == 1 && report.held == 0)
                web["/a"] = .init(body: "a2")
                test.turn(.seconds(3600))
            }
            try await test.wait("set") { $0.held == 1 && !$0.isRefreshing }
            #expect(try await test.body(web.url("/a")) == (isOriginAway ? "a2" : "a1"))
        }
    }

    @Test("The end of a subscription removes its copies, or keeps them as ordinary entries", arguments: [true, false])
    func removal(keepingCopies: Bool) async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1", "/b": "b1"])
            let (a, b) = (JSON.string(web.url("/a")), JSON.string(web.url("/b")))
            try await test.put("one", ["source": ["urls": [a, b]]])
            try await test.put("two", ["source": ["urls": [b]]])
            try await test.wait("one", generation: 1)
            try await test.wait("two", generation: 1)
            #expect(try await test.remove("one", keepingCopies: keepingCopies) == 2)
            #expect(try await test.body(web.url("/a")) == (keepingCopies ? "a1" : nil))
            // The other subscription still holds this one.
            #expect(try await test.cache.stored(test.key(web.url("/b")))?.entry.held == true)
            await #expect(throws: SubscriptionFailure.self) { try await test.report("one") }
            try await test.restart()
            await #expect(throws: SubscriptionFailure.self) { try await test.report("one") }
            #expect(try await test.wait("two") { $0.generation == 1 }.held == 1)
        }
    }

    @Test("Requests to one host begin at least minGap apart")
    func pacing() async throws {
        try await TestSubscriptions.withOne { test in
            let paths = (0..<5).map { "/\($0)" }
            let web = try TestWeb(Dictionary(uniqueKeysWithValues: paths.map { ($0, "body") }))
            let urls = paths.map { JSON.string(web.url($0)) }
            try await test.put("set", ["source": ["urls": .array(urls)], "minGap": 10])
            for count in 1...5 {
                try await test.wait("set") { _ in web.origin.requestCount >= count }
                test.service.clockChanged()
                // The clock stands still, so that no other request may begin.
                _ = try await test.report("set")
                #expect(web.origin.requestCount == count)
                test.turn(.seconds(10))
            }
            #expect(try await test.wait("set", generation: 1).held == 5)
        }
    }

    @Test("A restart keeps minGap to the requests of the earlier process")
    func pacingOverRestarts() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a", "/b": "b"])
            let urls: [JSON] = ["/a", "/b"].map { .string(web.url($0)) }
            try await test.put("set", ["source": ["urls": .array(urls)], "minGap": 10])
            try await test.wait("set") { _ in web.origin.requestCount == 1 }
            for _ in 0..<3 {
                try await test.restart()
                try await test.wait("set") { $0.wanted == 2 }
            }
            test.turn(.seconds(10))
            try await test.wait("set") { _ in web.origin.requestCount >= 2 }
            _ = try await test.report("set")
            #expect(web.origin.requestCount == 2)
        }
    }

    @Test("A purge of a member's key or URL removes the copy; the next refresh brings it back")
    func purged() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1", "/b": "b1"])
            let urls: [JSON] = ["/a", "/b"].map { .string(web.url($0)) }
            try await test.put("set", ["source": ["urls": .array(urls)]])
            try await test.wait("set", generation: 1)
            #expect(try await test.cache.remove(test.key(web.url("/a"))))
            try await test.refresh("set")
            try await test.wait("set", generation: 2)
            try await test.refresh("set")
            try await test.wait("set", generation: 3)
            #expect(try await test.body(web.url("/a")) == "a1")
        }
    }

    @Test("A definition with a URL that the origin policy refuses is refused")
    func refused() async throws {
        try await TestSubscriptions.withOne { test in
            await #expect(throws: SubscriptionFailure.self) {
                try await test.put("set", ["source": ["urls": ["http://10.0.0.1/"]]])
            }
            await #expect(throws: SubscriptionFailure.self) { try await test.report("set") }
        }
    }

    @Test("A new definition with a much shorter list holds that list, and keeps its copies without the origin")
    func redefined() async throws {
        try await TestSubscriptions.withOne { test in
            let paths = (0..<6).map { "/\($0)" }
            let web = try TestWeb(Dictionary(uniqueKeysWithValues: paths.map { ($0, "body \($0)") }))
            try await test.put("set", ["source": ["urls": .array(paths.map { .string(web.url($0)) })]])
            try await test.wait("set", generation: 1)
            web["/0"] = .init(status: 503)
            try await test.put("set", ["source": ["urls": [.string(web.url("/0"))]], "maxDelay": 0])
            let report = try await test.wait("set") { $0.generation >= 2 && $0.wanted == 1 && !$0.isRefreshing }
            #expect(report.held == 1 && report.state == .complete)
            #expect(try await test.body(web.url("/0")) == "body /0")
            #expect(try await test.cache.stored(test.key(web.url("/1")))?.entry.held == false)
        }
    }

    @Test("Captured pages are held, with their latest capture")
    func captures() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb()
            let type: HTTPFields = [.contentType: "text/html"]
            web["/page"] = .init(body: "<title>one</title><img src=/image>", fields: type)
            web["/image"] = .init(body: "PNG", fields: [.contentType: "image/png"])
            let url = web.url("/page")
            try await test.put("pages", ["source": ["capture": [.string(url)]], "ttl": "1m"])
            let report = try await test.wait("pages", generation: 1)
            #expect(report.state == .complete && report.held == 1)
            let key = CacheKey.page(canonical: url).text
            let first = try #require(try await test.cache.stored(key)).entry
            #expect(first.held && first.kind == .page)
            web["/page"] = .init(body: "<title>two</title>", fields: type)
            try await test.refresh("pages")
            try await test.wait("pages", generation: 2)
            let second = try #require(try await test.cache.stored(key)).entry
            #expect(second.held && second.version != first.version)
            #expect(try await test.remove("pages", keepingCopies: false) == 1)
            #expect(try await test.cache.stored(key) == nil)
        }
    }

    @Test("A credential goes to its own origin only")
    func credential() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1"])
            let other = try TestWeb(["/b": "b1"])
            let credential = OutboxCredential(
                origins: ["http://127.0.0.1:\(web.origin.port)"], fields: [.init("Authorization", "Bearer secret")])
            try await test.setCredential("key", credential)
            let urls: [JSON] = [.string(web.url("/a")), .string(other.url("/b"))]
            await #expect(throws: SubscriptionFailure.self) {
                try await test.put("set", ["source": ["urls": .array(urls)], "credential": "none"])
            }
            try await test.put("set", ["source": ["urls": .array(urls)], "credential": "key"])
            try await test.wait("set", generation: 1)
            #expect(web.origin.requests.allSatisfy { $0["Authorization"] == "Bearer secret" })
            #expect(other.origin.requestCount == 1 && other.origin.requests[0]["Authorization"] == nil)
        }
    }

    @Test("No request begins before the present credential has been read")
    func lateCredential() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1"])
            func set(_ secret: String) async throws {
                let origins: Set = ["http://127.0.0.1:\(web.origin.port)"]
                try await test.setCredential(
                    "key", OutboxCredential(origins: origins, fields: [.init("Authorization", secret)]))
            }
            try await set("first")
            try await test.put("set", ["source": ["urls": [.string(web.url("/a"))]], "credential": "key"])
            try await test.wait("set", generation: 1)
            try await set("second")
            let gate = Gate("the outbox, which has the credentials")
            test.server.outbox.queue.async { try? gate.waitBlocking() }
            try await test.refresh("set")
            test.service.clockChanged()
            _ = try await test.report("set")
            gate.open()
            try await test.wait("set", generation: 2)
            #expect(web.origin.requests.map { $0["Authorization"] } == ["first", "second"])
        }
    }
}
