import Primitives
import Testing

@testable import LarderClient

@Suite("The list of URLs that larder warm reads")
struct WarmListTests {
    @Test("Each line is a URL with an optional ttl, and comments and empty lines are skipped")
    func lines() {
        let list = WarmList(
            Array(
                """
                # the catalogue
                http://h/a

                \t http://h/b  3600 \r
                http://h/c#top 0.5 # for a moment
                  # http://h/d
                http://h/e
                """.utf8))
        #expect(
            list.items == [
                WarmList.Item(line: 2, url: "http://h/a", ttl: nil),
                WarmList.Item(line: 4, url: "http://h/b", ttl: Seconds("3600")),
                WarmList.Item(line: 5, url: "http://h/c#top", ttl: Seconds("0.5")),
                WarmList.Item(line: 7, url: "http://h/e", ttl: nil),
            ])
        #expect(list.mistakes.isEmpty)
        #expect(WarmList([UInt8]()).items.isEmpty)
    }

    @Test("An unreadable line is reported with its number and does not affect the other lines")
    func mistakes() {
        let long = "http://h/" + String(repeating: "x", count: CanonicalURL.maximumLength)
        let bytes = Array("http://h/a soon\nhttp://h/b 1 2\n\(long)\nhttp://h/\n".utf8) + [0x68, 0xff, 0x0a]
        let list = WarmList(bytes)
        #expect(list.items.map(\.line) == [4])
        #expect(list.mistakes.map(\.line) == [1, 2, 3, 5])
        #expect(list.mistakes[0].reason.contains("\"soon\""))
        #expect(list.mistakes[3].reason.contains("UTF-8"))
    }

    @Test("The splitting of input into lines does not depend on the sizes of the pieces in which the input arrives")
    func splitting() {
        let text = Array("one\n\ntwo\nthree".utf8)
        for size in 1...text.count {
            var splitter = LineSplitter()
            var lines: [String] = []
            for start in stride(from: 0, to: text.count, by: size) {
                let piece = Array(text[start..<min(start + size, text.count)])
                lines += splitter.append(piece).map { String(decoding: $0, as: UTF8.self) }
            }
            #expect(lines == ["one", "two"], "pieces of \(size)")
            #expect(splitter.append([0x0a]) == [Array("three".utf8)])
        }
    }
}
