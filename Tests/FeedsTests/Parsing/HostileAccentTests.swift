import Primitives
import TestSupport
import Testing

@testable import Feeds

/// `String` brings each run of combining marks into its normal order before it compares two texts, which takes some
/// microseconds for each mark. Each of these documents has about 500,000 marks.
@Suite("Accents in hostile documents")
struct HostileAccentTests {
    /// Combining marks of two classes in turn, two bytes each.
    private static func accents(_ count: Int) -> String { String(repeating: "\u{0301}\u{0323}", count: count / 2) }

    private static let jsonFeed = "\"version\":\"https://jsonfeed.org/version/1\""

    static let documents: [NamedDocument] = [
        NamedDocument("elements", feed("<t\(accents(490))/>", 1000)),
        NamedDocument("attributes", feed("<a t\(accents(490))=''/>", 1000)),
        NamedDocument("prefixes", feed("<t\(accents(490)):title xmlns:t\(accents(490))='a'/>", 500)),
        NamedDocument("types", feed("<title type='t\(accents(8000))'/>", 60)),
        NamedDocument("modes", feed("<title mode='b\(accents(8000))'/>", 60)),
        NamedDocument("relations", feed("<link href='a' rel='a\(accents(8000))'/>", 60)),
        NamedDocument("permalinks", feed("<guid isPermaLink='t\(accents(8000))'>a</guid>", 60)),
        NamedDocument("namespaces", feed("<a xmlns='h\(accents(8000))'/>", 60)),
        NamedDocument("bases", feed("<a xml:base='http://h.example/\(accents(8000))'><link>a</link></a>", 60)),
        NamedDocument("dates", feed("<pubDate>1 j\(accents(90)) 2000</pubDate>", 5000)),
        NamedDocument("ids", feed("</item><item><guid>i\(accents(8000))</guid>", 60)),
        NamedDocument("links", feed("</item><item><link>l\(accents(8000))</link>", 60)),
        NamedDocument("periods", feed("</item><sy:updatePeriod>h\(accents(8000))</sy:updatePeriod><item>", 60)),
        NamedDocument("names", "{\(jsonFeed),\"i\(accents(500_000))\":1,\"items\":[{\"id\":\"1\"}]}"),
        NamedDocument("version", "{\"version\":\"j\(accents(500_000))\",\"items\":[]}"),
        NamedDocument("members", "{\(jsonFeed),\"items\":[{\"i\(accents(500_000))\":1,\"id\":\"1\"}]}"),
    ]

    private static func feed(_ element: String, _ count: Int) -> String {
        "<rss><item>" + String(repeating: element, count: count) + "</item></rss>"
    }

    @Test("Runs of accents take no longer than other characters", arguments: documents)
    func time(document: NamedDocument) {
        let start = processorTime()
        let items = FeedParser.parse(Array(document.text.utf8), url: "http://h.example/").content?.items ?? []
        let chosen = ItemSelection.latest(nil, of: items, now: Timestamp(seconds: 0))
        #expect(Set(chosen.map { ItemIdentity($0) }).count <= items.count)
        #expect(processorTime() - start < 1_500_000_000)
    }

    @Test("Dates keep the accents of their languages")
    func dates() {
        let feed = Sample.rss("<item><pubDate>Κυρ, 11 Ιου\u{0301}λ 2004 12:00:00 EST</pubDate></item>")
        #expect(firstItem(feed)?.published == Timestamp(rfc3339: "2004-07-11T17:00:00Z"))
    }
}
