import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The commands larder subscribe and larder subscriptions")
struct SubscriptionCommandTests {
    /// An origin with a feed of the given items. Each item `/n` has the body `item n`, except the missing ones.
    private final class Feed: Sendable {
        let origin: ScriptedOrigin
        private let items: Items

        private final class Items: Sendable {
            let numbers: Locked<[Int]>
            init(_ numbers: [Int]) { self.numbers = Locked(numbers) }
        }

        init(_ items: [Int], missing: Set<Int> = []) throws {
            let items = Items(items)
            self.items = items
            origin = try ScriptedOrigin { request, connection in
                guard request.target == "/feed" else {
                    let number = Int(request.target.dropFirst()) ?? 0
                    guard !missing.contains(number) else { return try connection.respond(404) }
                    return try connection.respond(fields: [.contentType: "text/plain"], body: "item \(number)")
                }
                let host = request["Host"] ?? ""
                let entries: [JSON] = items.numbers.withLock(\.self).map { number in
                    let url: JSON = .string("http://\(host)/\(number)")
                    return ["id": url, "url": url, "date_published": .string("2026-01-0\(number)T00:00:00Z")]
                }
                let feed: JSON = [
                    "version": "https://jsonfeed.org/version/1.1", "title": "t", "items": .array(entries),
                ]
                try connection.respond(fields: [.contentType: "application/feed+json"], body: feed.text)
            }
        }

        var url: String { origin.url("/feed") }
        func publish(_ numbers: [Int]) { items.numbers.withLock { $0 = numbers } }
    }

    @Test("A subscription holds the items of a feed, is refreshed by a command, and is removed with or without them")
    func feed() async throws {
        let feed = try Feed([3, 2, 1])
        defer { feed.origin.stop() }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let subscribe = [
                "subscribe", "news", "--feed", feed.url, "--latest", "2", "--interval", "1h", "--min-gap", "0",
                "--tag", "t", "--wait",
            ]
            let first = try await larder.run(subscribe)
            #expect(first.exit == .status(0) && first.errors.isEmpty, "\(first.errors)")
            #expect(first.values["state"] == "complete" && first.values["held"] == "2", "\(first.text)")
            #expect(first.values["source"] == "feed \(feed.url)" && first.values["wanted"] == "2")
            #expect(try await larder.run(["get", feed.origin.url("/3")]).text == "item 3")
            #expect(try await larder.run(["get", feed.origin.url("/1")]).exit == .status(4))
            let rows = try await larder.run(["subscriptions"]).text.split(separator: "\n").map {
                $0.split(separator: "\t", omittingEmptySubsequences: false)
            }
            #expect(rows.count == 1 && rows[0].count == 10 && rows[0][0] == "news" && rows[0][1] == "complete")
            #expect(try await larder.run(["subscriptions", "--json"]).jsonLines.map { $0["name"] } == ["news"])
            feed.publish([4, 3, 2, 1])
            let refreshed = try await larder.run(["subscriptions", "refresh", "news", "--wait", "--json"])
            #expect(try refreshed.exit == .status(0) && refreshed.json["state"] == "complete", "\(refreshed.errors)")
            let items = try await larder.run(["subscriptions", "items", "news", "--json"]).jsonLines
            #expect(items.map { $0["url"]?.stringValue } == [feed.origin.url("/4"), feed.origin.url("/3")])
            #expect(items.allSatisfy { $0["held"] == true })
            let kept = try await larder.run(["subscriptions", "remove", "news", "--keep"])
            #expect(kept.exit == .status(0) && kept.text == "removed\t1\n", "\(kept.errors)")
            #expect(try await larder.run(["get", feed.origin.url("/4"), "--stale"]).text == "item 4")
            #expect(try await larder.run(subscribe).exit == .status(0))
            #expect(try await larder.run(["subscriptions", "remove", "news"]).exit == .status(0))
            #expect(try await larder.run(["get", feed.origin.url("/4"), "--stale"]).exit == .status(4))
            #expect(try await larder.run(["subscriptions", "show", "news"]).exit == .status(4))
            #expect(try await larder.run(["subscriptions"]).text.isEmpty)
        }
    }

    @Test("A list of URLs and a definition in a file are held, and a missing resource is named")
    func lists() async throws {
        let feed = try Feed([], missing: [2])
        defer { feed.origin.stop() }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let urls = [feed.origin.url("/1"), feed.origin.url("/2")]
            let list = try await larder.run(["subscribe", "list", "--min-gap", "0", "--wait", "--url"] + urls)
            #expect(list.values["held"] == "1", "\(list.text) \(list.errors)")
            let shown = try await larder.run(["subscriptions", "show", "list"])
            #expect(shown.exit == .status(0) && shown.text.contains("\nlacks\t\(urls[1])\t"), "\(shown.text)")
            let definition: JSON = ["source": ["urls": [.string(urls[0])]], "minGap": 0, "maxDelay": 0]
            let file = try await larder.run(
                ["subscribe", "file", "--file", "-", "--wait", "--namespace", "default"], input: definition.utf8)
            #expect(file.exit == .status(0) && file.values["source"] == "urls (1)", "\(file.errors)")
            let refused = try await larder.run(
                ["subscribe", "file", "--file", "-", "--json"], input: Array(#"{"source": {"feed": 1}}"#.utf8))
            #expect(refused.exit == .status(64), "\(refused.errors)")
            #expect(try JSON(parsing: refused.errors)["pointer"] == "/source/feed")
        }
    }

    @Test("A source that is no feed fails the wait with status 1")
    func noFeed() async throws {
        let feed = try Feed([1])
        defer { feed.origin.stop() }
        try await TestServer.with { (server) async throws in
            let larder = ClientCommands(server)
            let failed = try await larder.run([
                "subscribe", "news", "--feed", feed.origin.url("/1"), "--min-gap", "0", "--wait",
            ])
            #expect(failed.exit == .status(1) && failed.errors.hasPrefix("Error: the source of news: "), "\(failed)")
            #expect(failed.values["problem"]?.isEmpty == false)
        }
    }
}
