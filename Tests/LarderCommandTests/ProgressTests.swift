import Primitives
import TestSupport
import Testing

@testable import LarderClient
@testable import LarderCommand

@Suite("The progress display")
struct ProgressTests {
    private func tally(_ outcomes: [String], of total: Int) throws -> WarmTally {
        var tally = WarmTally(total: total)
        for outcome in outcomes { tally.add(try .sample(outcome)) }
        return tally
    }

    @Test("A bar has the given length, is empty at 0 and full only at 1")
    func bar() {
        #expect(ProgressLine.bar(0, length: 12) == "[          ]")
        #expect(ProgressLine.bar(0.1, length: 12) == "[>         ]")
        #expect(ProgressLine.bar(0.5, length: 12) == "[====>     ]")
        #expect(ProgressLine.bar(0.999, length: 12) == "[========> ]")
        #expect(ProgressLine.bar(1, length: 12) == "[==========]")
        for fraction in [-1, 2, 0.33] { #expect(ProgressLine.bar(fraction, length: 30).count == 30) }
    }

    @Test("A progress line is narrower than the terminal and omits details from its end")
    func width() {
        let line = ProgressLine(
            title: "12/100  12 %", fraction: 0.12, details: ["12 downloaded", "3 s left", "1 KiB/s"])
        #expect(
            line.text(width: 80)
                == "12/100  12 %  [==>                          ]  12 downloaded  3 s left  1 KiB/s")
        #expect(line.text(width: 50) == "12/100  12 %  [        ]  12 downloaded  3 s left")
        #expect(line.text(width: 30) == "12/100  12 %  [>            ]")
        #expect(line.text(width: 20) == "12/100  12 %")
        #expect(line.text(width: 5) == "12/1")
        for width in 1...200 { #expect(line.text(width: width).count < width) }
        let unknown = ProgressLine(title: "a", fraction: nil, details: ["1 KiB"])
        #expect(unknown.text(width: 80) == "a  1 KiB")
    }

    @Test("The display shows the progress of the whole run and of the largest running download")
    func warm() throws {
        var progress = WarmProgress(
            tally: try tally(["downloaded", "downloaded", "cached", "failed"], of: 10), elapsed: .seconds(6),
            running: [])
        #expect(progress.lines(width: 200).count == 1)
        let whole = progress.lines(width: 200)[0]
        #expect(whole.hasPrefix("4/10  40 %  [==============>"))
        #expect(whole.hasSuffix("]  2 downloaded, 1 already fresh, 1 failed  12 s left  341 B/s"))

        let large = RunningDownload(
            url: "http://h/images/large.iso", receivedBytes: 1 << 20, totalBytes: 4 << 20, bytesPerSecond: 2048)
        let unknown = RunningDownload(
            url: "http://h/unknown", receivedBytes: 3 << 20, totalBytes: nil, bytesPerSecond: 0)
        progress.running = [unknown, large]
        let lines = progress.lines(width: 70)
        #expect(lines.count == 2)
        #expect(lines[1] == "...//h/images/large.iso  [==>           ]  25 % of 4.0 MiB  2.0 KiB/s")
        progress.running = [unknown]
        #expect(progress.lines(width: 60)[1] == "http://h/unknown  3.0 MiB  0 B/s")
    }

    @Test("A count that overflows becomes the largest number and does not crash")
    func tooMuch() throws {
        var tally = WarmTally(total: 3)
        let longest: JSON = .number(Int64.max)
        for _ in 0..<2 { tally.add(try .sample("downloaded", [.init("contentLength", longest)])) }
        #expect(tally.bytes == .max)
        let endless = RunningDownload(
            url: "http://h/a", receivedBytes: .max, totalBytes: 0, bytesPerSecond: .infinity)
        let progress = WarmProgress(tally: tally, elapsed: .seconds(1), running: [endless, endless])
        let lines = progress.lines(width: 200)
        #expect(lines[0].contains("8192 PiB/s") && lines[1].contains("100 % of 0 B"), "\(lines)")
    }

    @Test("The title of a download is the end of its URL, without terminal controls")
    func title() {
        #expect("http://h/a".shortened(to: 10) == "http://h/a")
        #expect("http://h/abc".shortened(to: 10) == "...//h/abc")
        #expect("0123456789".shortened(to: 6) == "...789")
        #expect("0123456789".shortened(to: 2) == "89")
        let hostile = RunningDownload(
            url: "http://h/\u{1b}[2J", receivedBytes: 1, totalBytes: nil, bytesPerSecond: 0)
        #expect(!hostile.progress(width: 80).unicodeScalars.contains("\u{1b}"))
    }

    @Test("Each frame replaces the previous frame in place and leaves no remains")
    func frames() throws {
        var screen = TerminalScreen(columns: 20)
        func show(_ lines: [String], over count: Int) throws {
            try screen.write(ProgressDisplay.frame(lines, over: count).replacing("\n", with: "\r\n"))
        }
        try screen.write("$ larder warm\r\n")
        try show(["a long first line", "second"], over: 0)
        #expect(screen.lines == ["$ larder warm", "a long first line", "second"])
        try show(["short"], over: 2)
        #expect(screen.lines == ["$ larder warm", "short"])
        try show(["one", "two", "three"], over: 1)
        #expect(screen.lines == ["$ larder warm", "one", "two", "three"])
        try show([], over: 3)
        #expect(screen.lines == ["$ larder warm"])
        try screen.write("done")
        #expect(screen.lines == ["$ larder warm", "done"])
    }

    @Test("The summary counts each outcome and the URLs that were not done")
    func summary() throws {
        let none = try tally([], of: 0)
        #expect(none.summary(elapsed: .zero) == "0 URLs; 0 B in 0 s")
        let all = try tally(["downloaded", "revalidated", "joined", "stale", "cached", "failed"], of: 6)
        #expect(
            all.summary(elapsed: .seconds(63))
                == "6 URLs: 1 downloaded, 1 revalidated, 1 joined, 1 stale, 1 already fresh, 1 failed; "
                + "2.0 KiB in 1 min 3 s")
        let broken = try tally(["cached"], of: 3)
        #expect(broken.summary(elapsed: .zero) == "3 URLs: 1 already fresh, 2 not done; 0 B in 0 s")
        let json = broken.summaryJSON(elapsed: .milliseconds(1500))
        #expect(
            json.text
                == #"{"summary":{"total":3,"downloaded":0,"revalidated":0,"joined":0,"stale":0,"cached":1,"failed":0,"#
                + #""unfinished":2,"bytes":0,"seconds":1.5}}"#)
    }
}
