import TestSupport
import Testing

@testable import WebArchive

@Suite("Hostile documents")
struct HostileDocumentsTests {
    struct Input: CustomTestStringConvertible, Sendable {
        var name: String
        var format = ArchivedDocument.Format.html
        /// Whether only a long document takes more time than it should.
        var isLong = false
        /// Makes a document of about this many bytes.
        var make: @Sendable (Int) -> String

        var testDescription: String { name }

        init(_ name: String, _ format: ArchivedDocument.Format = .html, _ make: @escaping @Sendable (Int) -> String) {
            (self.name, self.format, self.make) = (name, format, make)
        }

        /// A document that repeats a text between a head and a tail.
        init(
            _ text: String, _ format: ArchivedDocument.Format = .html, after head: String = "",
            before tail: String = "",
            isLong: Bool = false
        ) {
            self.init(head + text, format) { head + Input.fill(text, $0) + tail }
            self.isLong = isLong
        }

        static func fill(_ text: String, _ count: Int) -> String {
            String(repeating: text, count: max(1, count / text.utf8.count))
        }
    }

    static let entity = "<!DOCTYPE a [<!ENTITY e \"http://h\">]>"

    static let inputs: [Input] = [
        Input("<"), Input("&"), Input("\\"), Input("\""), Input("'"), Input("="), Input("<!--"), Input("<![CDATA["),
        Input("</"), Input("<?"), Input("<div>"), Input("<svg>"), Input("<svg><style>"), Input("<svg><desc>"),
        Input("<math><mi>"), Input("<svg><title/>"), Input("<svg><![CDATA[>"), Input("<style>"), Input("<script>"),
        Input("<script><!--"), Input("<!--<script>", after: "<script>"), Input("<title>"), Input("<select>"),
        Input("</p>", after: "<svg>"), Input("</svg>", after: Input.fill("<svg>", 400)),
        Input("</x>", after: Input.fill("<svg><x>", 400)), Input("<p>", after: "<svg><desc>"),
        Input("rel="), Input("rel=\""), Input("rel='rel=\""), Input(",prefetch", after: Input.fill("rel=", 4000)),
        Input("rel=' "), Input(" rel", before: "="), Input("<a rel=prefetch>"),
        Input("url("), Input("url(", after: "<style>"), Input("url(\\", after: "<style>"),
        Input("url(a)", after: "<style>"),
        Input("\"\\\n", after: "<style>"), Input("/*", after: "<style>"), Input("@import", after: "<style>"),
        Input("@namespace ", after: "<style>"), Input("(", after: "<style>"), Input("image-set(", after: "<style>"),
        Input("image-set(var(", after: "<style>"), Input("'a'", after: "<style>a{b:image-set("),
        Input("\\75 ", after: "<style>"), Input("<![CDATA[]]>", after: "<svg><style>"),
        Input("<![CDATA[", after: "<svg><style>"), Input("&amp;", after: "<a style='"), Input("&#", after: "<a href='"),
        Input("&#0", after: "<a href='"), Input("&a", after: "<a href='", before: "'>"),
        Input("&bne;", after: "<a href='", before: "'>"), Input("a,", after: "<img srcset='", before: "'>"),
        Input("a (,", after: "<img srcset='", before: "'>"), Input(", ", after: "<img srcset='", before: "'>"),
        Input("<base href=x>"), Input("<a href=x>", after: "<base href=/b/>"), Input("<iframe srcdoc=\""),
        Input("<iframe srcdoc='", before: "'>"),
        Input("<img src=&quot;a&quot;>", after: "<iframe srcdoc='", before: "'>"),
        Input("&bne;", after: "<iframe srcdoc='", before: "<img src&bne;a>'>"),
        Input("attributes") { "<a " + (0..<$0 / 8).map { "a\($0) " }.joined() + ">" },
        Input(" href=a", after: "<a", before: ">"), Input("/", after: "<a"), Input("=", after: "<a "),
        Input("<a href='"), Input("<meta charset=x>"), Input("\0"), Input("{", after: "<a href='", before: "'>"),
        Input("../", after: "<a href='", before: "'>"), Input("<script>", .xml), Input("<style>", .xml),
        Input("<style>a", .xml), Input("<style>a</style>", .xml), Input("<![CDATA[", .xml, after: "<style>"),
        Input("@import 'a';<b/>", .xml, after: "<style>"),
        Input("&", .xml, after: entity + "<a href=\"", before: "\"/>", isLong: true),
        Input("&e;", .xml, after: entity + "<a href=\"", before: "\"/>"),
        Input("url(&e;)", .xml, after: entity + "<style>", before: "</style>"),
        Input("<?xml-stylesheet ", .xml), Input("<?xml-stylesheet a='b' ", .xml, before: "?>"),
        Input("<!DOCTYPE a [", .xml), Input("<!ENTITY e 'http://a'>", .xml, after: "<!DOCTYPE a [", before: "]>"),
        Input("names") { "<!DOCTYPE a [" + (0..<$0 / 30).map { "<!ENTITY a\($0) 'http://a'>" }.joined() + "]>" },
        Input(" x:href='a'", .xml, after: "<link rel='icon' integrity=''", before: "/>"),
        Input("url(", .css), Input("\"", .css), Input("import '", .script), Input("`${", .script), Input("/", .script),
        Input("[", .manifest),
    ]

    private static let url = WebURL("http://h.example/")!

    /// The least processor time of several runs, in nanoseconds. Other threads do not count.
    private static func time(_ input: Input, _ count: Int, runs: Int) -> Int {
        let body = Array(input.make(count).utf8)
        return (0..<runs).map { _ in
            let start = processorTime()
            let document = ArchivedDocument(body, input.format, contentType: "text/html; charset=utf-8", url: url)
            _ = document.rewritten { url, _ in "/v/" + url.text }
            return processorTime() - start
        }.min()!
    }

    @Test("The time to read and rewrite a hostile document grows with its length, not faster", arguments: inputs)
    func linearity(input: Input) {
        // Four times the bytes take four times as long if the time is linear, and sixteen times if it is quadratic.
        // More runs follow only a doubtful result, because another process can delay a run.
        let isFast = Self.time(input, 10_000, runs: 1) < 1_000_000
        // A search that goes on to the end of the document is fast, so it takes most of the time only in a long one.
        let count = isFast || input.isLong ? 100_000 : 10_000
        for runs in [1, 3, 9] {
            let short = max(Self.time(input, count, runs: runs), 500_000)
            let long = Self.time(input, 4 * count, runs: runs)
            if long < short * 8 { return }
        }
        Issue.record("four times the bytes take more than eight times as long")
    }

    @Test("Documents of many elements, attributes and levels are rewritten")
    func limits() {
        let nested = String(repeating: "<div>", count: 100_000) + "<img src=//evil>"
        #expect(LeavingReplayTests.rewritten(nested).hasSuffix("<img src=\"/v\">"))
        let attributes = "<img " + (0..<60_000).map { "a\($0)=b " }.joined() + "src=//evil>"
        #expect(LeavingReplayTests.rewritten(attributes).hasSuffix("src=\"/v\">"))
    }
}
