import Testing

@testable import Feeds

@Suite("Answers that are no feeds")
struct RefusedFeedTests {
    @Test(
        "An answer that is no feed is refused with the reason",
        arguments: [
            ("", "the answer is empty"), (" \n", "the answer is empty"),
            ("<!DOCTYPE html><html><p>Hello", "the answer is an HTML page, not a feed"),
            ("<!-- a --><HTML><br></HTML>", "the answer is an HTML page, not a feed"),
            ("<html xmlns='http://www.w3.org/1999/xhtml'/>", "the answer is an HTML page, not a feed"),
            ("<urlset/>", "the answer is a sitemap, not a feed"), ("Not found", "the answer is neither XML nor JSON"),
            ("<opml/>", "the answer is XML, but no feed: its root is \"opml\", not rss, feed or RDF"),
            ("{\"items\": []}", "the answer is JSON, but no JSON Feed: \"version\" is missing"),
            ("<rss><channel></rss>", "the XML is not well-formed: mismatched tag in line 1"),
        ])
    func refused(body: String, reason: String) {
        #expect(FeedParser.parse(Array(body.utf8)) == .unparsable(reason))
    }

    @Test("A feed without items is empty, not unparsable")
    func empty() {
        let outcome = FeedParser.parse(Sample.rss("", channel: "<title>T</title>"))
        #expect(outcome == .empty(Feed(format: .rss, title: "T")))
        #expect(outcome.reason == nil)
    }

    @Test(
        "A feed that declares entities is refused, and one that names a DTD is not",
        arguments: [
            "<!DOCTYPE rss [<!ENTITY a 'b'>]>", "<!DOCTYPE rss [<!ENTITY % a 'b'>]>",
            "<!DOCTYPE rss [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>",
        ])
    func entities(doctype: String) {
        let item = "<rss><channel><item><title>a</title></item></channel></rss>"
        let reason = FeedParser.parse(Array((doctype + item).utf8)).reason
        #expect(reason == "the document declares entities, which a feed must not do")
        let named = "<!DOCTYPE rss PUBLIC '-//Netscape//DTD RSS 0.91//EN' 'http://h.example/rss.dtd'>" + item
        #expect(FeedParser.parse(Array(named.utf8)).content?.items.first?.title == "a")
    }
}
