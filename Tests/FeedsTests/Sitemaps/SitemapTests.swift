import Primitives
import Testing

@testable import Feeds

@Suite("Sitemaps")
struct SitemapTests {
    private func parse(_ text: String) -> SourceOutcome<Sitemap> { SitemapParser.parse(Array(text.utf8)) }

    @Test("A urlset has its URLs and dates, and no URLs of pictures")
    func pages() throws {
        let outcome = parse(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:i="http://www.google.com/image">
            <url><loc> http://h.example/a?b=1&amp;c=2 </loc><lastmod>2005-01-01</lastmod><changefreq>daily</changefreq>
            <i:image><i:loc>http://h.example/picture</i:loc><loc>http://h.example/no</loc></i:image></url>
            <url><loc>/relative</loc></url><url><loc>http://h.example/b</loc><lastmod>soon</lastmod></url></urlset>
            """)
        let day = Timestamp(rfc3339: "2005-01-01T00:00:00Z")
        #expect(
            outcome
                == .items(
                    Sitemap(
                        kind: .pages,
                        entries: [
                            .init(location: "http://h.example/a?b=1&c=2", modified: day),
                            .init(location: "http://h.example/b"),
                        ], leftOut: 1)))
    }

    @Test("A sitemap index has its sitemaps")
    func index() {
        let outcome = parse(
            "<sitemapindex><sitemap><loc>http://h.example/1.xml.gz</loc></sitemap><url><loc>http://h.example/</loc></url>"
                + "</sitemapindex>")
        #expect(outcome.content?.kind == .index)
        #expect(outcome.content?.entries.map(\.location) == ["http://h.example/1.xml.gz"])
    }

    @Test("A list of URLs in plain text is a sitemap, and any other text is none")
    func lines() {
        let outcome = parse("\u{feff}http://h.example/a\r\n\n  http://h.example/b \n")
        #expect(outcome.content?.entries.map(\.location) == ["http://h.example/a", "http://h.example/b"])
        #expect(parse("http://h.example/a\nNot found").reason == "the answer is neither XML nor a list of URLs")
    }

    @Test("A sitemap in gzip is decompressed, also one of several members")
    func gzip() throws {
        let parts = ["<urlset><url><loc>http://h.example/a</loc></url>", "</urlset>"]
        let body = try parts.flatMap { try compressed(Array($0.utf8)) }
        #expect(SitemapParser.parse(body).content?.entries.map(\.location) == ["http://h.example/a"])
    }

    @Test(
        "An answer that is no sitemap is refused with the reason",
        arguments: [
            ("", "the answer is empty"), ("<!doctype html><p>", "the answer is an HTML page, not a sitemap"),
            ("<rss/>", "the answer is a feed, not a sitemap"),
            ("<a/>", "the answer is XML, but no sitemap: its root is \"a\", not urlset"),
            ("<urlset>", "the XML is not well-formed: no element found in line 1"),
        ])
    func refused(text: String, reason: String) {
        #expect(parse(text) == .unparsable(reason))
    }

    @Test("A sitemap without URLs is empty, and one with over 50,000 URLs is refused")
    func limits() {
        #expect(parse("<urlset/>") == .empty(Sitemap(kind: .pages, entries: [])))
        let url = "<url><loc>http://h.example/</loc></url>"
        let body = "<urlset>" + String(repeating: url, count: 50_001) + "</urlset>"
        #expect(parse(body).reason == "the sitemap has over 50000 URLs")
    }
}

@Suite("Walks over sitemaps")
struct SitemapWalkTests {
    /// Walks over a site. Its indexes and sitemaps are lists of URLs. Returns the fetched URLs and the walk.
    private func walk(
        indexes: [String: [String]], pages: [String: [String]], limits: SitemapWalk.Limits = .init()
    ) -> (fetched: [String], walk: SitemapWalk) {
        var walk = SitemapWalk("http://h.example/0", limits: limits)
        var fetched: [String] = []
        while let url = walk.next(), fetched.count < 100 {
            fetched.append(url)
            let (kind, list) = indexes[url].map { (Sitemap.Kind.index, $0) } ?? (.pages, pages[url] ?? [])
            let sitemap = Sitemap(kind: kind, entries: list.map { .init(location: $0) })
            walk.receive(list.isEmpty ? .empty(sitemap) : .items(sitemap))
        }
        return (fetched, walk)
    }

    @Test("A sitemap loop ends: each sitemap is fetched once, in any spelling of its URL")
    func loop() {
        let (fetched, walk) = walk(
            indexes: [
                "http://h.example/0": ["http://h.example/1", "HTTP://H.example:80/0"],
                "http://h.example/1": ["http://h.example/0", "http://h.example/./1", "http://h.example/2"],
            ], pages: ["http://h.example/2": ["http://h.example/a", "http://h.example/%61", "http://h.example/b"]])
        #expect(fetched == ["http://h.example/0", "http://h.example/1", "http://h.example/2"])
        #expect(walk.entries.map(\.location) == ["http://h.example/a", "http://h.example/b"])
        #expect(walk.problem == nil && walk.isFinished)
    }

    @Test("Indexes without end stop at the limits of depth and of sitemaps")
    func endless() {
        var chain: [String: [String]] = [:]
        for number in 0..<50 { chain["http://h.example/\(number)"] = ["http://h.example/\(number + 1)"] }
        let deep = walk(indexes: chain, pages: [:])
        #expect(deep.fetched.count == 4)
        #expect(deep.walk.problem?.reason == "sitemap indexes are nested more than 3 deep")
        let wide = walk(
            indexes: ["http://h.example/0": (1..<50).map { "http://h.example/\($0)" }], pages: [:],
            limits: .init(sitemaps: 10))
        #expect(wide.fetched.count == 1)
        let problem = SitemapWalk.Problem(url: "http://h.example/10", reason: "there are over 10 sitemaps")
        #expect(wide.walk.problem == problem)
    }

    @Test("A walk ends at its first problem, and names it")
    func problems() {
        let invalid = [SourceOutcome<Sitemap>.items(index(["http://h.example/1", "mailto:a", "http://h.example/2"]))]
        #expect(end(invalid, at: "mailto:a") == "the URL of the sitemap is not valid")
        let one = SourceOutcome<Sitemap>.items(index(["http://h.example/1", "http://h.example/2"]))
        #expect(end([one, .unparsable("404")], at: "http://h.example/1") == "404")
        let pages = ["http://h.example/a", "http://h.example/b"].map { Sitemap.Entry(location: $0) }
        let many = SourceOutcome<Sitemap>.items(Sitemap(kind: .pages, entries: pages))
        #expect(end([many], at: "http://h.example/b", .init(urls: 1)) == "the sitemaps list over 1 URLs")
        let words = "the URLs of the sitemaps have over 30 bytes"
        #expect(end([many], at: "http://h.example/b", .init(urlBytes: 30)) == words)
    }

    @Test("An index of 50,000 invalid sitemaps is one problem")
    func invalidSitemaps() {
        let outcome = SourceOutcome<Sitemap>.items(index([String](repeating: "mailto:a", count: 50_000)))
        #expect(end([outcome], at: "mailto:a") == "the URL of the sitemap is not valid")
    }

    private func index(_ urls: [String]) -> Sitemap { Sitemap(kind: .index, entries: urls.map { .init(location: $0) }) }

    /// The reason for which a walk ends at a URL.
    private func end(
        _ outcomes: [SourceOutcome<Sitemap>], at url: String, _ limits: SitemapWalk.Limits = .init()
    ) -> String? {
        var walk = SitemapWalk("http://h.example/0", limits: limits)
        for outcome in outcomes {
            #expect(walk.next() != nil && !walk.isFinished)
            walk.receive(outcome)
        }
        #expect(walk.next() == nil && walk.isFinished && walk.entries.isEmpty && walk.problem?.url == url)
        return walk.problem?.reason
    }
}
