import Primitives
import Testing

@testable import Feeds

/// Documents that are within the limit of bytes, but would let the parser make far longer texts or many times the work.
@Suite("Lengths in hostile documents")
struct HostileLengthTests {
    private func parse(
        _ text: String, url: String? = nil, limits: SourceLimits = .feed
    ) -> SourceOutcome<Feed> {
        FeedParser.parse(Array(text.utf8), url: url, limits: limits)
    }

    private let limits = SourceLimits(linkBytes: 1 << 20)

    private static let address = "http://h.example/"
    private static let longBase = address + String(repeating: "b", count: 16_000) + "/"
    private static let tooLongBase = address + String(repeating: "b", count: 17_000) + "/"

    @Test(
        "A base that many links repeat does not fill the memory",
        arguments: ["<enclosure url='e'/>", "<link>l</link>", "<guid>g</guid>", "<link href='l'/>", "<a base='b/'/>"])
    func repeatedBase(element: String) {
        let head = "<rss xml:base='\(Self.longBase)'>"
        func feed(_ count: Int) -> String {
            head + String(repeating: "<item>" + element + "</item>", count: count) + "</rss>"
        }
        // Each item needs 16 kB in a document of 18 kB.
        #expect(parse(feed(60), url: Self.address, limits: limits).content?.items.count == 60)
        let outcome = parse(feed(70), url: Self.address, limits: limits)
        #expect(outcome.reason == "the links of the answer have over 1048576 bytes when they are resolved")
    }

    @Test("The links of a feed have 64 MiB by default")
    func linkBytes() {
        #expect(SourceLimits.feed.linkBytes == 64 << 20 && PagedList.Limits().linkBytes == 64 << 20)
    }

    @Test("A URL of a document that many links of a JSON Feed repeat does not fill the memory")
    func repeatedURL() {
        func feed(_ count: Int) -> String {
            let attachments = [String](repeating: #"{"url":"e"}"#, count: count).joined(separator: ",")
            return "{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{\"attachments\":[\(attachments)]}]}"
        }
        let few = parse(feed(60), url: Self.longBase, limits: limits)
        #expect(few.content?.items.first?.enclosures.count == 60)
        let outcome = parse(feed(70), url: Self.longBase, limits: limits)
        #expect(outcome.reason == "the links of the answer have over 1048576 bytes when they are resolved")
    }

    @Test("A link, id or enclosure that is over the limit once it is absolute counts as absent")
    func resolved() {
        let reference = String(repeating: "r", count: 1000)
        let parts = "<guid>\(reference)</guid><link>\(reference)</link><enclosure url='\(reference)'/>"
        let item = firstItem(Sample.rss("<item href='\(reference)'>\(parts)</item>"), url: Self.longBase)
        #expect(item?.id == nil && item?.link == nil && item?.enclosures == [])
        let about = String(repeating: "a", count: 20_000)
        #expect(firstItem(Sample.rss("<item rdf:about='\(about)'/>"))?.id == nil)
        let json = firstItem(
            Array(
                """
                {"version":"https://jsonfeed.org/version/1","items":[{"id":"1","url":"\(reference)",
                "attachments":[{"url":"\(reference)"}]}]}
                """.utf8), url: Self.longBase)
        #expect(json?.id == "1" && json?.link == nil && json?.enclosures == [])
    }

    @Test("A base over the limit is not used")
    func longBase() {
        let inner = firstItem(
            Sample.rss("<item xml:base='\(Self.tooLongBase)'><link>a</link></item>"), url: Self.address)
        #expect(inner?.link == "http://h.example/a")
        #expect(firstItem(Sample.rss("<item><link>a</link></item>"), url: Self.tooLongBase)?.link == "a")
        let json = #"{"version":"https://jsonfeed.org/version/1","items":[{"url":"a"}]}"#
        #expect(firstItem(Array(json.utf8), url: Self.tooLongBase)?.link == "a")
    }

    @Test("An item with over a thousand enclosures is refused")
    func enclosures() {
        let one = "<enclosure url='http://h.example/'/>"
        func feed(_ count: Int) -> String { "<rss><item>" + String(repeating: one, count: count) + "</item></rss>" }
        #expect(parse(feed(1000)).content?.items.first?.enclosures.count == 1000)
        #expect(parse(feed(1001)).reason == "an item of the feed has over 1000 enclosures")
        let attachments = [String](repeating: #"{"url":"http://h.example/"}"#, count: 1001).joined(separator: ",")
        let json = "{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{\"attachments\":[\(attachments)]}]}"
        #expect(parse(json).reason == "an item of the feed has over 1000 enclosures")
    }

    @Test("The lines of a text that is no sitemap are not collected")
    func lines() throws {
        let body = [UInt8]("x\n".utf8.repeated(20_000_000))
        let before = try peakMemory()
        #expect(SitemapParser.parse(body).reason == "the answer is neither XML nor a list of URLs")
        #expect(try peakMemory() - before < 400 << 20)
    }

    @Test("The id of a list's element over the limit counts as absent")
    func listIDs() {
        let long = String(repeating: "1", count: 20_000)
        for id in [long, "\"\(long)\""] {
            var list = PagedList(Self.address, next: .link, items: [])
            list.receive(Array("[{\"id\":\(id),\"url\":\"a\"}]".utf8), url: Self.address)
            #expect(list.outcome.content?.map(\.link) == ["http://h.example/a"])
            #expect(list.outcome.content?.first?.id == nil)
        }
    }

    @Test("A URL of a page that many elements of a list repeat does not fill the memory")
    func listLinks() {
        let url = Self.address + String(repeating: "b", count: 8000) + "/"
        func outcome(_ count: Int) -> SourceOutcome<[FeedItem]> {
            var list = PagedList(Self.address, next: .link, items: [], limits: .init(linkBytes: 1 << 20))
            let body = [String](repeating: "\"e\"", count: count).joined(separator: ",")
            list.receive(Array("[\(body)]".utf8), url: url)
            return list.outcome
        }
        #expect(outcome(120).content?.count == 120)
        #expect(
            outcome(140).reason == "page 1: the links of the list have over 1048576 bytes when they are resolved")
        var list = PagedList(Self.address, next: .link, items: [])
        list.receive(Array("[\"e\"]".utf8), url: url + String(repeating: "b", count: 200))
        #expect(list.outcome.reason == "page 1: the URL of the answer is over 8192 bytes")
    }
}

extension String.UTF8View {
    fileprivate func repeated(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(self.count * count)
        for _ in 0..<count { bytes += self }
        return bytes
    }
}
