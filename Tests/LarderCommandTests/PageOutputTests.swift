import Foundation
import Primitives
import Testing

@testable import LarderClient
@testable import LarderCommand

@Suite("The output of commands for pages")
struct PageOutputTests {
    private func page(_ state: JSON, _ members: [JSON.Member] = []) throws -> HeldPage {
        let standard: [JSON.Member] = [.init("key", "k-page"), .init("url", "http://h/a"), .init("state", state)]
        return try HeldPage(.object(standard + members))
    }

    private let now = Date(timeIntervalSince1970: 1_769_846_709)

    @Test("The progress shows captured and found URLs, then bytes and missing URLs, and no line after the end")
    func progress() throws {
        let last: JSON = ["state": "fetching", "found": 10, "captured": 4, "missing": 1, "bytes": 2048]
        let running = try page("fetching", [.init("captured", 99), .init("lastCapture", last)])
        #expect(running.progress(width: 70) == "http://h/a  [============>             ]  4 of 10  2.0 KiB  1 missing")
        #expect(running.progress(width: 34) == "http://h/a  [====>     ]  4 of 10")
        for width in 1...100 { #expect(try #require(running.progress(width: width)).count < width) }
        #expect(try page("queued", [.init("lastCapture", last)]).progress(width: 70) == "http://h/a  queued")
        #expect(try page("complete", [.init("lastCapture", last)]).progress(width: 70) == nil)
    }

    @Test("The lines of a list fit the terminal, and a program gets all cells")
    func list() throws {
        let hostile = "http://h.example/" + String(repeating: "very-long/", count: 30) + "\u{1b}]0;x\u{7}"
        let long = try page(
            "partial",
            [
                .init("captured", 12), .init("missing", 1), .init("title", "T\tt"),
                .init("entry", ["expiryDate": "2026-01-31T08:05:09.250Z"]),
            ])
        let pages = [try HeldPage(["key": "b", "url": .string(hostile), "state": "fetching"]), long]
        for width in [40, 80, 119, 120, 300] {
            var table = Table(titles: HeldPage.shownTitles(width: width))
            for page in pages { table.add(page.shownCells(now: now, width: width)) }
            let lines = table.lines(forTerminal: true, width: width)
            #expect(lines.count == 3 && lines.allSatisfy { $0.count <= width && !$0.contains("\u{1b}") }, "\(width)")
            #expect(lines[0].hasPrefix("URL ") && lines[0].contains("KEY") == (width >= 120))
        }
        var plain = Table(titles: nil)
        plain.add(long.cells(now: now))
        #expect(
            plain.lines(forTerminal: false) == [
                "k-page\tpartial\t2026-01-31T08:05:09.250Z\t12\t1\thttp://h/a\tT\\tt"
            ])
    }

    @Test("A page lists its missing resources with reasons, and counts the others")
    func shortcomings() throws {
        let failures: JSON = [
            ["url": "http://h/1\u{1b}", "reason": "timed out", "status": .null], ["url": "http://h/2", "status": 403],
            ["status": 403],
        ]
        let partial = try page(
            "partial", [.init("missing", 5), .init("limited", true), .init("failures", failures)])
        #expect(
            partial.shortcomings == [
                "http://h/1\\u{1b}: timed out", "http://h/2: status 403", "3 more resources are missing",
                "a limit of the capture kept further resources out",
            ])
        #expect(try page("complete").shortcomings.isEmpty)
    }

    @Test("An imported page reports the number of skipped records")
    func skipped() throws {
        let skipped: JSON = ["noResponse": 1, "otherUrl": 0, "repeated": 4, "beyondLimit": 0]
        let lines = try page("complete", [.init("skipped", skipped)]).report(now: now).lines(forTerminal: false)
        #expect(lines.contains("skipped\t5"))
        let whole = try page("complete").report(now: now).lines(forTerminal: false)
        #expect(!whole.contains { $0.hasPrefix("skipped") })
    }

    @Test("A page that kept its complete capture reports the reason, and the state of the last capture")
    func kept() throws {
        let last: JSON = ["state": "partial", "problem": ["status": 409, "detail": "it lacks resources"]]
        let kept = try page("complete", [.init("lastCapture", last)])
        #expect(kept.lastState == "partial" && kept.failure == nil)
        #expect(kept.report(now: now).lines(forTerminal: false).contains("kept\tit lacks resources"))
    }

    @Test(
        "The name of the file states the format of an export",
        arguments: [
            ("a.warc.gz", "warc"), ("dir.wacz/A.WARC.GZ", "warc"), ("a.wacz", "wacz"), ("a.warc", nil), ("-", nil),
            ("a.gz", nil), ("a.zip", nil), ("wacz", nil), ("a.wacz/", nil),
        ])
    func format(path: String, expected: String?) {
        #expect(PageExportCommand.Format(path: path)?.rawValue == expected)
    }
}
