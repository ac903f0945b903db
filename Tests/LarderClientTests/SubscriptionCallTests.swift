import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import LarderClient

@Suite("The calls for subscriptions")
struct SubscriptionCallTests {
    private func subscription(_ state: JSON, _ members: [JSON.Member] = []) -> JSON {
        .object([.init("name", "news"), .init("state", state)] + members)
    }

    @Test("A definition has the source and exactly the options that are set")
    func definitions() throws {
        let sources: [(SubscriptionOptions.Source, JSON)] = [
            (.feed("u", enclosures: false), ["feed": "u"]),
            (.feed("u", enclosures: true), ["feed": "u", "enclosures": true]),
            (.sitemap("u"), ["sitemap": "u"]),
            (.pages("u", items: "", next: nil), ["pages": "u", "items": ""]),
            (.pages("u", items: "/data", next: "/next"), ["pages": "u", "items": "/data", "next": "/next"]),
            (.urls(["u", "v"]), ["urls": ["u", "v"]]), (.capture(["u"]), ["capture": ["u"]]),
        ]
        for (source, json) in sources {
            #expect(SubscriptionOptions(source: source).json == ["source": json])
        }
        var options = SubscriptionOptions(source: .sitemap("u"))
        options.latest = 50
        options.interval = Seconds("15m")
        options.ttl = Seconds("7d")
        options.minGap = Seconds("0.5")
        options.quietHours = "22:00-06:30"
        options.allowsShrink = true
        options.credential = "c"
        options.tags = ["a", "b"]
        let expected: JSON = [
            "source": ["sitemap": "u"], "latest": 50, "interval": "15m", "ttl": "7d", "minGap": .number("0.5"),
            "quietHours": "22:00-06:30", "allowShrink": true, "credential": "c", "tags": ["a", "b"],
        ]
        #expect(options.json == expected)
        let (shortest, longest) = (try #require(Seconds("5m")), try #require(Seconds("86400")))
        var adaptive = SubscriptionOptions(source: .sitemap("u"))
        adaptive.adaptive = (shortest, longest)
        #expect(adaptive.json["adaptive"] == ["min": "5m", "max": 86400])
    }

    @Test("Each call names the subscription, and a removal says whether the resources stay")
    func calls() async throws {
        let server = try ScriptedOrigin { request, connection in
            switch "\(request.method) \(request.target)" {
            case "GET /subscriptions?limit=1000":
                try connection.respond(json: ["subscriptions": [subscription("complete")], "nextCursor": "a"])
            case "GET /subscriptions?cursor=a&limit=1000":
                try connection.respond(json: ["subscriptions": [subscription("pending")]])
            case "POST /subscriptions/a%20b/refresh": try connection.respond(202, json: subscription("pending"))
            default: try connection.respond(json: subscription("pending", [.init("removed", 1)]))
            }
        }
        defer { server.stop() }
        let client = try APIClient.of(server) { $0.namespace = "staging" }
        let definition: JSON = ["source": ["feed": "http://h/feed"]]
        #expect(try await client.subscribe("a b", definition).state == "pending")
        #expect(try await client.subscription("a b").name == "news")
        #expect(try await client.subscriptions().map(\.state) == ["complete", "pending"])
        #expect(try await client.refresh(subscription: "a b").state == "pending")
        try await client.remove(subscription: "a b", keepsEntries: false)
        try await client.remove(subscription: "a b", keepsEntries: true)
        #expect(
            server.requests.map { "\($0.method) \($0.target)" } == [
                "PUT /subscriptions/a%20b", "GET /subscriptions/a%20b", "GET /subscriptions?limit=1000",
                "GET /subscriptions?cursor=a&limit=1000", "POST /subscriptions/a%20b/refresh",
                "DELETE /subscriptions/a%20b?keep=false", "DELETE /subscriptions/a%20b?keep=true",
            ])
        #expect(try JSON(parsing: server.requests[0].body) == definition)
        #expect(server.requests[0]["Content-Type"] == "application/json" && server.requests[4].body.isEmpty)
        #expect(server.requests.allSatisfy { $0["Larder-Namespace"] == "staging" })
    }

    @Test("A list of items continues after each part")
    func items() async throws {
        let server = try ScriptedOrigin { request, connection in
            let item: JSON = ["url": "http://h/1", "key": "k", "held": true, "confirmedDate": .null, "problem": .null]
            let problem: JSON = ["reason": "status 404", "since": "2026-01-31T08:05:09.250Z"]
            let missing: JSON = ["url": "http://h/2", "held": false, "problem": problem]
            try connection.respond(
                json: request.index == 0 ? ["items": [item], "nextCursor": "a b"] : ["items": [missing]])
        }
        defer { server.stop() }
        var items: [SubscriptionItem] = []
        try await APIClient.of(server).items(ofSubscription: "news") { items += $0 }
        #expect(items.map(\.isHeld) == [true, false] && items.map(\.key) == ["k", nil])
        #expect(items[0].confirmedDate == nil && items[0].problem == nil && items[1].problem == "status 404")
        #expect(
            server.requests.map(\.target) == [
                "/subscriptions/news/items?limit=1000", "/subscriptions/news/items?cursor=a+b&limit=1000",
            ])
        #expect(throws: ClientError.self) { try SubscriptionItem(["url": "u"]) }
    }

    @Test("A wait for a refresh lasts until no refresh runs, and until the first refresh has ended")
    func waiting() async throws {
        let answers = [
            subscription("pending"), subscription("pending", [.init("refreshing", true)]),
            subscription("complete", [.init("refreshing", true)]), subscription("complete", [.init("held", 3)]),
        ]
        let server = try ScriptedOrigin { request, connection in
            try connection.respond(json: answers[min(request.index, 3)])
        }
        defer { server.stop() }
        var seen: [String] = []
        let end = try await APIClient.of(server).refreshEnd(of: "news", pollInterval: .zero) { seen.append($0.state) }
        #expect(end.held == 3 && seen == ["pending", "pending", "complete", "complete"])
    }

    @Test("A source that cannot be read ends the wait for the first refresh")
    func sourceProblem() async throws {
        let problem: JSON = ["reason": "status 500", "since": "2026-01-31T08:05:09.250Z"]
        let server = try ScriptedOrigin { _, connection in
            try connection.respond(json: subscription("pending", [.init("sourceProblem", problem)]))
        }
        defer { server.stop() }
        let end = try await APIClient.of(server).refreshEnd(of: "news", pollInterval: .zero)
        #expect(end.sourceProblem == "status 500" && server.requestCount == 1)
        #expect(end.sourceProblemDate == "2026-01-31T08:05:09.250Z")
    }

    @Test("A subscription without counts, as of another version of the server, has counts of zero")
    func sparse() throws {
        let missing: JSON = [["url": "http://h/1", "reason": "gone", "since": .null], ["reason": "x"]]
        let sparse = try HeldSubscription(subscription("incomplete", [.init("missing", missing)]))
        #expect(sparse.missing == [.init(url: "http://h/1", reason: "gone", since: nil)] && sparse.missingCount == 1)
        #expect(sparse.held == 0 && sparse.generation == 0 && sparse.oldest == nil && !sparse.isUnderWay)
        #expect(throws: ClientError.self) { try HeldSubscription(["name": "x"]) }
    }
}
