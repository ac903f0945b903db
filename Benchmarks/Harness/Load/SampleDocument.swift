import Glibc
import WebArchive

/// A document for the measurement of rewriting. The same name always has the same bytes.
struct SampleDocument {
    let name: String
    let format: ArchivedDocument.Format
    let bytes: [UInt8]

    private init(_ name: String, _ format: ArchivedDocument.Format, _ text: String) {
        (self.name, self.format, bytes) = (name, format, Array(text.utf8))
    }

    /// Documents like those of the web: an article with long paragraphs, a front page with many links and images, and
    /// a style sheet. Texts and URLs differ from paragraph to paragraph.
    static var ordinary: [SampleDocument] {
        var text = SampleText()
        return [
            SampleDocument("article", .html, text.article(sections: 60)),
            SampleDocument("front page", .html, text.frontPage(cards: 300)),
            SampleDocument("style sheet", .css, text.sheet(rules: 1000)),
        ]
    }

    /// Documents with the most references that their bytes can name.
    static var dense: [SampleDocument] {
        [
            SampleDocument("links of 10 bytes", .html, repeated("<a href=x>")),
            SampleDocument("images of 17 bytes", .html, repeated("<img src=\"a.png\">")),
            SampleDocument("candidates of 6 bytes", .html, "<img srcset='" + repeated("a 1x, ") + "'>"),
            SampleDocument("styles of 19 bytes", .html, repeated("<p style='b:url(a)'>")),
            SampleDocument("url(a) of 6 bytes", .css, repeated("url(a)")),
        ]
    }

    /// Documents that make a parser slow if its time is not linear.
    static var hostile: [SampleDocument] {
        [
            SampleDocument("100000 nested elements", .html, String(repeating: "<div>", count: 100_000)),
            SampleDocument("60000 attributes", .html, "<a " + (0..<60_000).map { "a\($0)=b " }.joined() + ">"),
            SampleDocument("1 MB of <", .html, repeated("<")),
            SampleDocument("1 MB of {", .css, repeated("{")),
            SampleDocument("1 MB of url(", .css, repeated("url(")),
        ]
    }

    private static let url = WebURL("https://www.example/news/2026/page.html")!
    /// The path of a replay, with the usual lengths of a key and a ticket.
    private static let place =
        "/pages/\(String(repeating: "a", count: 32))-page/view/\(String(repeating: "b", count: 32))/"

    /// Reads the document and makes the body for a replay, as a server does for each request that is no hit.
    func rewritten() -> [UInt8] {
        ArchivedDocument(bytes, format, contentType: "text/html; charset=utf-8", url: Self.url)
            .rewritten { url, _ in Self.place + url.text }
    }

    /// Rewrites the document until the time has passed, at least once, and measures the processor time of this thread.
    func timeRewriting(seconds: Double) -> Sample {
        let start = Self.processorTime()
        var (now, count) = (start, 0)
        repeat {
            _ = rewritten()
            count += 1
            now = Self.processorTime()
        } while now < start + seconds
        let rate = Double(bytes.count * count) / (now - start)
        return [.rewrittenPerSecond: rate, .secondsPerMegabyte: 1e6 / rate]
    }

    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// A million bytes.
    private static func repeated(_ text: String) -> String {
        String(repeating: text, count: 1_000_000 / text.utf8.count)
    }
}
