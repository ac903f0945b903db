import Foundation
import Primitives
import Testing

@testable import LarderClient
@testable import LarderCommand
// Swift Testing has an `ExitStatus`, too.
@testable import enum LarderCommand.ExitStatus

@Suite("The output and the exit status of client commands")
struct OutputTests {
    @Test("A number of bytes is printed with a binary unit and at most four digits")
    func bytes() {
        for (count, words) in [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (102_348, "99.9 KiB"),
            (102_400, "100 KiB"), (1_048_000, "1023 KiB"), (1_048_576, "1.0 MiB"), (5 << 30, "5.0 GiB"),
            (3 << 40, "3.0 TiB"), (2 << 50, "2 PiB"),
        ] as [(Int64, String)] {
            #expect(Words.bytes(count) == words)
        }
    }

    @Test("A duration is printed with its two largest units")
    func durations() {
        for (seconds, words) in [
            (0, "0 s"), (59, "59 s"), (60, "1 min"), (63, "1 min 3 s"), (3600, "1 h"), (3663, "1 h 1 min"),
            (90_061, "1 d 1 h"), (-5, "0 s"),
        ] {
            #expect(Words.duration(.seconds(seconds)) == words)
        }
        #expect(Words.duration(.seconds(3663), parts: 1) == "1 h")
        #expect(Words.duration(.milliseconds(999)) == "0 s")
    }

    @Test("An instant is printed relative to now, and an unreadable instant as it is")
    func instants() throws {
        let now = Date(timeIntervalSince1970: 1_769_846_709)
        #expect(Words.instant("2026-01-31T08:05:09.250Z", now: now) == "in 0 s")
        #expect(Words.instant("2026-01-31T09:05:10.000Z", now: now) == "in 1 h")
        #expect(Words.instant("2026-01-30T08:05:09.000Z", now: now) == "1 d ago")
        #expect(Words.instant("soon", now: now) == "soon")
        let endless = "2026-01-31T08:05:09.\(String(repeating: "2", count: 60))Z"
        #expect(Words.instant(endless, now: now) == endless)
    }

    @Test("A table has columns and titles on a terminal, and tabs without titles elsewhere")
    func table() {
        var table = Table(titles: ["KEY", "SIZE", "URL"])
        table.add([Cell("a"), Cell(bytes: 2048), Cell("http://h/a")])
        table.add([Cell("long-key"), Cell(bytes: 1), Cell("")])
        #expect(
            table.lines(forTerminal: true) == [
                "KEY       SIZE     URL", "a         2.0 KiB  http://h/a", "long-key  1 B      ",
            ])
        #expect(table.lines(forTerminal: false) == ["a\t2048\thttp://h/a", "long-key\t1\t"])
        #expect(Table(titles: ["KEY"]).lines(forTerminal: true).isEmpty)
    }

    @Test("A line of a list fits the terminal, because the URL in it is shortened in the middle")
    func fittingTable() throws {
        let now = Date(timeIntervalSince1970: 1_769_846_709)
        let url = "http://h.example/" + String(repeating: "very-long/", count: 30) + "end"
        let entries = [try HeldEntry.sample([.init("url", .string(url))]), try HeldEntry.sample()]
        for width in [60, 80, 119, 120, 200, 500] {
            var table = Table(titles: HeldEntry.shownTitles(width: width))
            for entry in entries { table.add(entry.shownCells(now: now, width: width)) }
            let lines = table.lines(forTerminal: true, width: width)
            #expect(lines.allSatisfy { $0.count <= width }, "\(width)")
            #expect(lines[0].hasPrefix("URL ") && lines[0].contains("KEY") == (width >= 120))
            #expect(lines[1].hasPrefix("http://h.ex") && lines[2].hasPrefix("http://h/a "))
            #expect(lines[1].contains("end  download  fresh  in 0 s   1.0 KiB"), "\(lines[1])")
            #expect(lines[1].contains(url) == (width == 500))
            // A program gets the whole URL at every width.
            var plain = Table(titles: nil)
            plain.add(entries[0].cells(now: now))
            #expect(plain.lines(forTerminal: false, width: width)[0].hasSuffix("\t1024\t\(url)"))
        }
    }

    @Test("The lines of a list are cut to a narrow terminal, even with hostile or wide cells")
    func narrowTable() throws {
        let now = Date(timeIntervalSince1970: 0)
        let endless = "soon" + String(repeating: "!", count: 500)
        let hostile = try HeldEntry.sample([
            .init("url", "http://h/\u{1b}]0;x\u{7}\u{202e}"), .init("expiryDate", .string(endless)),
        ])
        let wide = try HeldEntry.sample([
            .init("url", .null), .init("key", .string(String(repeating: "鍵👩‍👩‍👧é", count: 90))),
        ])
        for width in [1, 10, 40, 80, 130] {
            for entry in [hostile, wide] {
                var table = Table(titles: HeldEntry.shownTitles(width: width))
                table.add(entry.shownCells(now: now, width: width))
                for line in table.lines(forTerminal: true, width: width) { #expect(line.columns <= width) }
            }
        }
    }

    @Test(
        "The width of a text is counted in the columns that a terminal gives it",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("鍵", 2), ("한", 2), ("Ａ", 2), ("👩‍👩‍👧", 2), ("❤\u{fe0f}", 2),
            ("\u{200b}", 0),
        ])
    func columns(text: String, count: Int) {
        #expect(text.columns == count)
        #expect((text + "/" + text).shortened(toColumns: 5).columns <= 5)
    }

    @Test("Foreign text neither ends a line nor controls the terminal")
    func hostile() throws {
        let entry = try HeldEntry.sample([
            .init("url", "http://h/\u{1b}]0;x\u{7}\u{202e}"), .init("tags", ["a\nkey\tb"]),
            .init("contentType", "text/\r\nplain"),
        ])
        var report = Report()
        entry.add(to: &report, now: Date(timeIntervalSince1970: 0))
        var table = Table(titles: nil)
        table.add(entry.cells(now: Date(timeIntervalSince1970: 0)))
        for isTerminal in [true, false] {
            let lines = report.lines(forTerminal: isTerminal) + table.lines(forTerminal: isTerminal)
            let control: Set<Unicode.Scalar> = ["\u{1b}", "\u{7}", "\u{202e}", "\n", "\r"]
            for line in lines {
                #expect(!line.unicodeScalars.contains { control.contains($0) })
                #expect(line.count { $0 == "\t" } == (isTerminal ? 0 : line.hasPrefix("k\t") ? 5 : 1))
            }
        }
    }

    @Test("An event is printed as one line that names its URL or key")
    func events() throws {
        let data =
            #"{"time": "2026-01-31T08:05:09.250Z", "namespace": "default", "key": "k", "url": "http://h/a", "#
            + #""receivedBytes": 1024, "totalBytes": 2048}"#
        let event = try ServerEvent(.init(type: "download.progress", id: "1", data: data))
        #expect(
            event.text(forTerminal: true)
                == "2026-01-31T08:05:09.250Z  download.progress  default  http://h/a  1.0 KiB of 2.0 KiB")
        #expect(
            event.text(forTerminal: false)
                == "2026-01-31T08:05:09.250Z\tdownload.progress\tdefault\thttp://h/a\t1024/2048")
        let failed = try ServerEvent(
            .init(type: "download.failed", id: "2", data: #"{"key": "k", "error": {"detail": "it\nbroke"}}"#))
        #expect(failed.text(forTerminal: true) == #"download.failed  k  it\nbroke"#)
        let reset = try ServerEvent(.init(type: "reset", id: "3", data: "{}"))
        #expect(reset.text(forTerminal: false) == "\treset\t\t\t")
    }

    @Test("Counters are printed with their units on a terminal, and as numbers elsewhere")
    func stats() {
        let json: JSON = [
            "version": "0.1.0", "uptimeSeconds": .number("63.5"), "diskBytes": 2048, "diskFreeBytes": .null,
            "downloads": ["running": 2],
        ]
        #expect(
            StatsCommand.report(json).lines(forTerminal: true) == [
                "version            0.1.0", "uptimeSeconds      1 min 3 s", "diskBytes          2.0 KiB",
                "diskFreeBytes      null", "downloads.running  2",
            ])
        #expect(StatsCommand.report(json).lines(forTerminal: false)[1] == "uptimeSeconds\t63.5")
    }

    @Test("A counter of an impossible size does not crash: durations are clamped, and sizes are printed unchanged")
    func impossibleStats() {
        let json: JSON = [
            "uptimeSeconds": .number("1e300"), "waitSeconds": .number("-1e999"), "diskBytes": .number("-1"),
            "memoryBytes": .number("1e300"),
        ]
        let lines = StatsCommand.report(json).lines(forTerminal: true)
        #expect(lines[0].hasPrefix("uptimeSeconds  3652425 d"), "\(lines)")
        #expect(Array(lines[1...]) == ["waitSeconds    0 s", "diskBytes      -1", "memoryBytes    1e300"])
        #expect(Words.bytes(.nan) == "0 B" && Words.bytes(.infinity) == "1000000 PiB")
    }

    @Test("The exit status distinguishes the kinds of failures")
    func exitStatuses() throws {
        func status(_ status: Int, pointer: String? = nil) -> ExitStatus {
            var members: [JSON.Member] = [.init("status", .number(status)), .init("detail", "x")]
            if let pointer { members.append(.init("pointer", .string(pointer))) }
            let problem = ServerProblem(status: status, fields: [:], body: JSON.object(members).utf8)
            return ExitStatus(ClientError.refused(problem))
        }
        #expect([400, 415, 422].allSatisfy { status($0) == .usage })
        #expect([401, 403].allSatisfy { status($0) == .notAllowed })
        #expect(status(403, pointer: "/url") == .failed)
        #expect(status(404) == .notHeld)
        #expect([429, 503].allSatisfy { status($0) == .tryLater })
        #expect([409, 412, 500, 502, 504, 507].allSatisfy { status($0) == .failed })
        let foreign = ServerProblem(status: 404, fields: [:], body: Array("<html>".utf8))
        #expect(ExitStatus(.refused(foreign)) == .unavailable)
        #expect(ExitStatus(.unreachable("x")) == .unavailable && ExitStatus(.cancelled) == .interrupted)
        // Each status is in the help, and no status is 0, which means success.
        for status in ExitStatus.allCases { #expect(ExitStatus.help.contains("\n\(status.rawValue) ")) }
        #expect(ExitStatus.allCases.allSatisfy { (1...255).contains($0.rawValue) })
    }
}
