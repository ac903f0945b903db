import Primitives
import Testing

@testable import Feeds

@Suite("Feeds")
struct FeedParserTests {
    @Test("An RSS item has id, link, title, date and enclosure")
    func rss() throws {
        let body = Sample.rss(
            """
            <item><title>A &amp; B</title><link> https://h.example/1 </link>
            <guid isPermaLink="false">urn:1</guid><pubDate>Thu, 01 Jan 2004 19:48:21 GMT</pubDate>
            <enclosure url="/a.mp3" length="12" type="audio/mpeg"/></item>
            """, channel: "<title>News</title><ttl>90</ttl><image><title>Logo</title><link>/logo</link></image>")
        let feed = try #require(FeedParser.parse(body, url: "https://h.example/feed").content)
        #expect(feed.format == .rss && feed.title == "News" && feed.timeToLive == .seconds(5400))
        let item = try #require(feed.items.first)
        #expect(item.id == "urn:1" && item.link == "https://h.example/1" && item.title == "A & B")
        #expect(item.published?.rfc3339 == "2004-01-01T19:48:21.000Z" && item.updated == nil)
        #expect(item.enclosures == [.init(url: "https://h.example/a.mp3", type: "audio/mpeg", length: 12)])
    }

    @Test("An RDF item has its rdf:about as its id, and the date of Dublin Core")
    func rdf() throws {
        let body = Array(
            """
            <r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
              xmlns:d="http://purl.org/dc/elements/1.1/" xmlns:s="http://purl.org/rss/1.0/modules/syndication/">
            <channel r:about="http://h.example/"><title>R</title><s:updatePeriod>daily</s:updatePeriod>
            <s:updateFrequency>2</s:updateFrequency></channel>
            <item r:about="http://h.example/1"><title>T</title><link>http://h.example/l</link><d:date>2004-05</d:date></item>
            </r:RDF>
            """.utf8)
        let feed = try #require(FeedParser.parse(body).content)
        #expect(feed.format == .rdf && feed.timeToLive == .seconds(12 * 3600))
        #expect(feed.items.first?.id == "http://h.example/1" && feed.items.first?.link == "http://h.example/l")
        #expect(feed.items.first?.date?.rfc3339 == "2004-05-01T00:00:00.000Z")
    }

    @Test("An Atom entry has its alternate link, resolved against xml:base (RFC 4287 §2)")
    func atom() throws {
        let body = Sample.atom(
            """
            <title>Feed</title><entry xml:base="sub/"><id>tag:1</id><link rel="self" href="x"/><link href="page"/>
            <link rel="enclosure" href="a.pdf" type="application/pdf"/><published>2003-12-13T18:30:02+01:00</published>
            <updated>2004-01-01T00:00:00Z</updated><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">
            One <b>two</b><script>no</script></div></title>
            <source><id>tag:other</id><title>Other</title><link href="/other"/></source></entry>
            """, attributes: "xml:base='http://h.example/d/'")
        let item = try #require(firstItem(body, url: "http://elsewhere.example/"))
        #expect(item.id == "tag:1" && item.link == "http://h.example/d/sub/page" && item.title == "One two")
        #expect(item.published?.rfc3339 == "2003-12-13T17:30:02.000Z")
        #expect(item.updated?.rfc3339 == "2004-01-01T00:00:00.000Z")
        #expect(item.enclosures.map(\.url) == ["http://h.example/d/sub/a.pdf"])
    }

    @Test("A JSON Feed item has id, link, title, dates and attachments")
    func json() throws {
        let body = Array(
            """
            {"version": "https://jsonfeed.org/version/1.1", "title": "J", "items": [{"id": 7, "url": "/a", "title": "T",
            "date_published": "2010-02-07T14:04:00-05:00",
            "attachments": [{"url": "b.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 5}]},
            {"id": "https://h.example/2", "content_text": "x"}]}
            """.utf8)
        let feed = try #require(FeedParser.parse(body, url: "https://h.example/f/feed.json").content)
        #expect(feed.format == .json && feed.title == "J" && feed.items.count == 2)
        #expect(feed.items[0].id == "7" && feed.items[0].link == "https://h.example/a")
        #expect(feed.items[0].date?.rfc3339 == "2010-02-07T19:04:00.000Z")
        #expect(
            feed.items[0].enclosures == [.init(url: "https://h.example/f/b.mp3", type: "audio/mpeg", length: 5)])
        #expect(feed.items[1].link == "https://h.example/2")
    }

    @Test("A guid that is a permanent link is the link of an item without one")
    func permanentLink() {
        #expect(firstItem(Sample.rss("<item><guid>http://h.example/1</guid></item>"))?.link == "http://h.example/1")
        #expect(firstItem(Sample.rss("<item><guid isPermaLink='false'>http://h.example/1</guid></item>"))?.link == nil)
        #expect(firstItem(Sample.rss("<item><guid>urn:1</guid></item>"))?.link == nil)
    }

    @Test("An RSS title in HTML, with references of HTML, or in another vocabulary is plain text")
    func titles() {
        func title(_ text: String) -> String? { firstItem(Sample.rss("<item>\(text)</item>"))?.title }
        #expect(title("<title>&lt;b&gt;A&lt;/b&gt; &amp;amp; B</title>") == "A & B")
        #expect(title("<title><![CDATA[a < b &nbsp; c]]></title>") == "a < b \u{a0} c")
        #expect(title("<title>caf&eacute;\n  noir</title>") == "café noir")
        #expect(title("<title>AT&T</title>") == "AT&T")
        #expect(title("<dc:title>D</dc:title>") == "D")
        #expect(title("<title>A</title><media:title>B</media:title>") == "A")
        #expect(title("<media:title>B</media:title><title>A</title>") == "A")
    }

    @Test("A date that cannot be read leaves an earlier date as it is")
    func invalidDate() {
        let item = firstItem(
            Sample.rss("<item><pubDate>2004</pubDate><pubDate>soon</pubDate><dc:date>later</dc:date></item>"))
        #expect(item?.published?.rfc3339 == "2004-01-01T00:00:00.000Z" && item?.updated == nil)
    }

    @Test("Elements inside a content are no elements of the item")
    func content() {
        let item = firstItem(
            Sample.atom(
                """
                <entry><content type="xhtml"><svg><title>No</title><id>no</id><link href="/no"/></svg></content>
                <id>yes</id></entry>
                """))
        #expect(item?.id == "yes" && item?.title == nil && item?.link == nil)
    }

    @Test("The order of the document is the order of the items, and an item inside an item follows it")
    func order() {
        let body = Sample.rss("<item><guid>1</guid><item><guid>2</guid></item></item><item><guid>3</guid></item>")
        #expect(FeedParser.parse(body).content?.items.map(\.id) == ["1", "2", "3"])
    }

    @Test("Items without id and link have different digests if and only if their contents differ")
    func digests() throws {
        let body = Sample.rss(
            """
            <item><title>A</title><description>b</description></item><item><title>Ab</title></item>
            <item><title>A</title><description>b</description></item>
            """)
        let items = try #require(FeedParser.parse(body).content).items
        #expect(items[0].digest == items[2].digest && items[0].digest != items[1].digest)
    }
}

@Suite("Encodings of feeds")
struct FeedEncodingTests {
    private func title(_ body: [UInt8], _ contentType: String? = nil) -> String? {
        FeedParser.parse(body, contentType: contentType).content?.items.first?.title
    }

    private static let item = "<rss><channel><item><title>é</title></item></channel></rss>"
    private static let latin = Array(item.unicodeScalars.map { UInt8($0.value) })

    @Test("A byte order mark decides before the charset, and the charset before the declaration (RFC 7303 §3)")
    func order() {
        let declaration = Array("<?xml version='1.0' encoding='iso-8859-1'?>".utf8)
        #expect(title([0xef, 0xbb, 0xbf] + declaration + Array(Self.item.utf8), "text/xml; charset=koi8-r") == "é")
        #expect(title(declaration + Self.latin) == "é")
        #expect(title(declaration + Self.latin, "text/xml; charset=koi8-r") == "И")
    }

    @Test("Bytes that are not of the declared encoding are read as UTF-8 or Windows-1252")
    func wrong() {
        #expect(title(Self.latin) == "é")
        #expect(title(Array("<?xml version='1.0' encoding='us-ascii'?>".utf8) + Self.latin) == "é")
        #expect(title(Array(Self.item.utf8), "text/xml; charset=unknown") == "é")
    }

    @Test("UTF-16 and UTF-32 are recognised with a mark and without it", arguments: [false, true])
    func wide(hasMark: Bool) {
        let text = (hasMark ? "\u{feff}" : "") + "<?xml version='1.0' encoding='utf-16'?>" + Self.item
        let little = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        let big = text.utf16.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        let wide: [UInt8] = text.utf16.flatMap { [0, 0, UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] as [UInt8] }
        for bytes in [little, big, wide] { #expect(title(bytes) == "é") }
    }
}
