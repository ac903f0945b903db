import HTTPTypes
import Primitives
import Testing

@testable import Larder

@Suite("Lists of subscriptions' sources")
struct SourceReadingTests {
    @Test("A feed with over 100,000 links is refused, and no part of it is used")
    func manyLinks() throws {
        let definition = try SubscriptionDefinition(
            name: "a", ["source": ["feed": "http://h.example/feed", "enclosures": true]])
        func reason(enclosures: Int) -> String? {
            let files = String(repeating: "<enclosure url='/a'/>", count: enclosures)
            let items = (0..<1000).map { "<item><guid isPermaLink='false'>\($0)</guid>\(files)</item>" }
            let body = "<rss>" + items.joined() + "</rss>"
            var reading = SourceReading(definition, schemes: ["http", "https"])
            let document = SourceReading.Document(
                body: Array(body.utf8), url: "http://h.example/feed", fields: HTTPFields())
            reading.receive(document, at: Timestamp(seconds: 0))
            guard case .failed(let reason, _) = reading.answer(at: Timestamp(seconds: 0)) else { return nil }
            return reason
        }
        #expect(reason(enclosures: 101) == "the source lists over 100000 URLs")
        #expect(reason(enclosures: 100) == nil)
    }

    /// The wanted URLs of a source with one document, and the number of the others.
    private func read(
        _ source: JSON, _ body: String = "", latest: Int? = nil, schemes: Set<String> = ["http", "https"]
    ) throws -> (urls: [String], leftOut: Int) {
        var definition: [JSON.Member] = [.init("source", source)]
        if let latest { definition.append(.init("latest", .number(latest))) }
        let now = Timestamp(seconds: 0)
        var reading = SourceReading(try SubscriptionDefinition(name: "a", .object(definition)), schemes: schemes)
        while let url = reading.next {
            reading.receive(.init(body: Array(body.utf8), url: url, fields: HTTPFields()), at: now)
        }
        guard case .items(let items, _) = reading.answer(at: now) else { return ([], reading.leftOut) }
        return (items.map(\.url), reading.leftOut)
    }

    private static let urls: JSON = ["http://h.example/1", "ftp://h.example/2"]

    private static func feed(_ links: [String?]) -> String {
        let items = links.enumerated().map { number, link in
            "<item><guid isPermaLink='false'>\(number)</guid>\(link.map { "<link>\($0)</link>" } ?? "")</item>"
        }
        return "<rss><channel>\(items.joined())</channel></rss>"
    }

    /// Sources with two links, each with the document that lists them.
    private static let sources: [(source: JSON, body: String)] = [
        (JSON.object([.init("feed", "http://h.example/")]), feed(["http://h.example/1", "ftp://h.example/2"])),
        (
            JSON.object([.init("sitemap", "http://h.example/")]),
            "<urlset><url><loc>http://h.example/1</loc></url><url><loc>ftp://h.example/2</loc></url></urlset>"
        ),
        (JSON.object([.init("pages", "http://h.example/")]), urls.text),
        (JSON.object([.init("urls", urls)]), ""),
        (JSON.object([.init("capture", urls)]), ""),
    ]

    @Test(
        "A link of a scheme that the server does not download is left out and counted, and not wanted for ever",
        arguments: 0..<5)
    func refusedScheme(kind: Int) throws {
        let (source, body) = Self.sources[kind]
        let all = ["http://h.example/1", "ftp://h.example/2"]
        let usual = try read(source, body)
        #expect(usual.urls == ["http://h.example/1"] && usual.leftOut == 1)
        let withFTP = try read(source, body, schemes: ["http", "https", "ftp"])
        #expect(withFTP.urls == all && withFTP.leftOut == 0)
    }

    @Test("Items that latest does not choose count as left out with an unusable link as they do without a link")
    func leftOutBeyondLatest() throws {
        let links = ["http://h.example/1", "http://h.example/2", "ftp://h.example/3", nil, "ftp://h.example/3"]
        let found = try read(["feed": "http://h.example/"], Self.feed(links), latest: 1)
        #expect(found.urls == ["http://h.example/1"] && found.leftOut == 2)
        let sitemap =
            "<urlset><url><loc>http://h.example/1</loc><lastmod>2020-01-01</lastmod></url>"
            + "<url><loc>ftp://h.example/2</loc></url></urlset>"
        let pages = try read(["sitemap": "http://h.example/"], sitemap, latest: 1)
        #expect(pages.urls == ["http://h.example/1"] && pages.leftOut == 1)
    }

    @Test("A url element of a sitemap with an empty loc or without one counts as left out")
    func emptyLocations() throws {
        let sitemap =
            "<urlset><url><loc>http://h.example/1</loc></url><url><loc/></url><url><lastmod>2020-01-01</lastmod></url>"
            + "<url><loc>/2</loc></url></urlset>"
        let found = try read(["sitemap": "http://h.example/"], sitemap)
        #expect(found.urls == ["http://h.example/1"] && found.leftOut == 3)
    }
}
