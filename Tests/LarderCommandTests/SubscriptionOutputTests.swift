import Foundation
import Primitives
import Testing

@testable import LarderClient
@testable import LarderCommand

@Suite("The output and arguments of commands for subscriptions")
struct SubscriptionOutputTests {
    private let now = Date(timeIntervalSince1970: 1_769_846_709)

    @Test("The lines of a list fit the terminal, and a program gets all cells")
    func list() throws {
        let url = "http://h.example/" + String(repeating: "very-long/", count: 30) + "\u{1b}]0;x\u{7}"
        let subscriptions = [
            try HeldSubscription.sample("complete"),
            try HeldSubscription.sample(
                "incomplete",
                [.init("refreshing", true), .init("definition", ["source": ["pages": .string(url), "items": ""]])]),
        ]
        for width in [40, 80, 300] {
            var table = Table(titles: HeldSubscription.shownTitles)
            for subscription in subscriptions { table.add(subscription.shownCells(now: now)) }
            let lines = table.lines(forTerminal: true, width: width)
            #expect(lines.count == 3 && lines.allSatisfy { $0.count <= width && !$0.contains("\u{1b}") }, "\(width)")
            guard width > 40 else { continue }
            #expect(lines[0].hasPrefix("NAME  STATE       HELD    MISSING  OLDEST  REFRESH  SOURCE"), "\(lines)")
            #expect(lines[1].hasPrefix("news  complete    3 of 4  1        in 0 s  in 1 h   feed http://h/feed"))
            #expect(lines[2].hasPrefix("news  incomplete  3 of 4  1        in 0 s  running  pages http://h.ex"))
        }
        var plain = Table(titles: nil)
        plain.add(subscriptions[0].cells(now: now))
        #expect(
            plain.lines(forTerminal: false) == [
                "news\tcomplete\tno\t2\t3\t4\t1\t2026-01-31T08:05:09.250Z\t2026-01-31T09:05:10.000Z\tfeed http://h/feed"
            ])
    }

    @Test(
        "The source of a subscription is shown in short",
        arguments: [
            (["sitemap": "http://h/s"], "sitemap http://h/s"), (["urls": ["a", "b"]], "urls (2)"),
            (["capture": ["a"]], "capture (1)"), (["other": "x"], ""), (.null, ""),
            (.object([]), "urls (4)"),
        ] as [(JSON, String)])
    func sources(source: JSON, expected: String) throws {
        let subscription = try HeldSubscription.sample("complete", [.init("definition", ["source": source])])
        #expect(subscription.cells(now: now).last == Cell(expected))
    }

    @Test("A subscription is shown with the problem of its source and its missing resources")
    func report() throws {
        let missing: JSON = [
            ["url": "http://h/1\u{1b}", "reason": "status 404", "since": "2026-01-30T08:05:09.000Z"],
            ["url": "http://h/2", "reason": "too\nslow", "since": .null],
        ]
        let subscription = try HeldSubscription.sample(
            "incomplete",
            [
                .init("missing", missing), .init("missingCount", 5), .init("leftOut", 2),
                .init("sourceProblem", ["reason": "status 500", "since": "2026-01-30T08:05:09.000Z"]),
            ])
        #expect(
            subscription.report(now: now).lines(forTerminal: true) == [
                "name        news", "source      feed http://h/feed", "state       incomplete", "refreshing  no",
                "generation  2", "held        3", "wanted      4", "missing     5",
                "left out    2 without a URL that can be fetched", "oldest      in 0 s", "next        in 1 h",
                "problem     status 500", "since       1 d ago",
            ])
        #expect(
            subscription.missingTable(now: now, forTerminal: true).lines(forTerminal: true, width: 80) == [
                "MISSING           REASON      SINCE", "http://h/1\\u{1b}  status 404  1 d ago",
                "http://h/2        too\\nslow   ",
            ])
        #expect(
            subscription.missingTable(now: now, forTerminal: false).lines(forTerminal: false) == [
                "lacks\thttp://h/1\\u{1b}\tstatus 404\t2026-01-30T08:05:09.000Z", "lacks\thttp://h/2\ttoo\\nslow\t",
            ])
        #expect(
            subscription.shortcomings == [
                "http://h/1\\u{1b}: status 404", "http://h/2: too\\nslow", "3 more resources are missing",
            ])
        #expect(subscription.failure == "the source of news: status 500")
        #expect(try HeldSubscription.sample("no-room").failure?.contains("no room for a new generation") == true)
        let first = try HeldSubscription.sample("no-room", [.init("generation", 0)])
        #expect(first.failure == "news has no room for its first generation")
        #expect(try HeldSubscription.sample("incomplete").failure == nil)
    }

    @Test("The progress shows held and wanted resources, and fits the terminal")
    func progress() throws {
        let running = try HeldSubscription.sample("pending")
        #expect(running.progress(width: 60) == "news  [=======================>        ]  3 of 4  1 missing")
        #expect(try HeldSubscription.sample("pending", [.init("wanted", 0)]).progress(width: 60) == "news  pending")
        for width in 1...100 { #expect(running.progress(width: width).count < width) }
    }

    @Test("An item is shown with its problem")
    func items() throws {
        let item = try SubscriptionItem([
            "url": "http://h/1", "key": "k", "held": true, "confirmedDate": "2026-01-31T08:05:09.250Z",
            "problem": ["reason": "status 503", "since": "2026-01-31T08:05:09.250Z"],
        ])
        #expect(
            item.cells(now: now).map(\.plain) == [
                "k", "yes", "2026-01-31T08:05:09.250Z", "http://h/1", "status 503", "2026-01-31T08:05:09.250Z",
            ])
        #expect(item.shownCells(now: now).map(\.words) == ["http://h/1", "yes", "in 0 s", "status 503"])
        let missing = try SubscriptionItem(["url": "http://h/2", "key": .null, "held": false, "problem": .null])
        #expect(missing.cells(now: now).map(\.plain) == ["", "no", "", "http://h/2", "", ""])
    }

    @Test("Each kind of source becomes a definition")
    func definitions() throws {
        func source(_ arguments: String...) throws -> JSON? {
            let command = try SubscribeCommand.parse(["news"] + arguments)
            return command.source.source.map { SubscriptionOptions(source: $0).json["source"] } ?? nil
        }
        #expect(try source("--feed", "u", "--enclosures") == ["feed": "u", "enclosures": true])
        #expect(try source("--sitemap", "u") == ["sitemap": "u"])
        #expect(try source("--pages", "u", "--items", "") == ["pages": "u", "items": ""])
        #expect(
            try source("--pages", "u", "--items", "/data", "--next", "link")
                == ["pages": "u", "items": "/data", "next": "link"])
        #expect(try source("--url", "u", "v", "--url", "w") == ["urls": ["u", "v", "w"]])
        #expect(try source("--capture", "u", "--latest", "5") == ["capture": ["u"]])
        #expect(try source("--file", "x") == nil)
        let bounds = try SubscribeCommand.parse(["news", "--feed", "u", "--adaptive", "5m:86400"]).adaptive
        #expect(bounds?.min == Seconds("5m") && bounds?.max == Seconds("86400"))
    }

    @Test(
        "The arguments of larder subscribe must name one source, and options that belong to it",
        arguments: [
            ([], "no source"), (["--feed", "u", "--sitemap", "u"], "exclude each other"),
            (["--file", "x", "--url", "u"], "exclude each other"),
            (["--sitemap", "u", "--enclosures"], "needs --feed"),
            (["--pages", "u"], "needs --items"), (["--feed", "u", "--items", "/a"], "need --pages"),
            (["--feed", "u", "--next", "link"], "need --pages"), (["--file", "x", "--latest", "5"], "--file has"),
            (["--file", "x", "--allow-shrink"], "--file has"), (["--file", "x", "--tag", "t"], "--file has"),
            (["--feed", "u", "--interval", "1h", "--adaptive", "1m:1h"], "only one"),
            (["--feed", "u", "--adaptive", "1m"], "1m"), (["--feed", "u", "--adaptive", "1m:2m:3m"], "1m:2m:3m"),
            (["--feed", "u", "--latest", "0"], "at least 1"), (["--feed", "u", "--ttl", "soon"], "soon"),
        ])
    func wrongArguments(arguments: [String], words: String) {
        let error = #expect(throws: (any Error).self) { try SubscribeCommand.parse(["news"] + arguments) }
        #expect(error.map { SubscribeCommand.message(for: $0).contains(words) } == true, "\(arguments)")
    }

    @Test("The line of an event names its subscription")
    func event() throws {
        let event = try ServerEvent(.init(type: "subscription.removed", id: "1", data: #"{"name": "news"}"#))
        #expect(event.text(forTerminal: true) == "subscription.removed  news")
    }

    @Test("The command larder subscriptions without a subcommand lists the subscriptions")
    func standard() throws {
        #expect(try LarderCommand.parseAsRoot(["subscriptions", "--json"]) is SubscriptionListCommand)
        #expect(try LarderCommand.parseAsRoot(["subscriptions", "show", "news"]) is SubscriptionShowCommand)
    }
}
