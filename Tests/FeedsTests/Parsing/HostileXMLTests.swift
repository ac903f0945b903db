import TestSupport
import Testing

@testable import Feeds

/// Documents of a few megabytes with which expat, or the names of their elements, would need much memory or time.
@Suite("Hostile XML")
struct HostileXMLTests {
    private func parse(_ text: String) -> SourceOutcome<Feed> { FeedParser.parse(Array(text.utf8)) }

    @Test(
        "A declaration of attributes is refused, because each element would get a copy of their values",
        arguments: ["a", "b"])
    func attributeLists(element: String) {
        let value = String(repeating: "v", count: 100_000)
        let outcome = parse(
            "<!DOCTYPE rss [<!ATTLIST a x CDATA '\(value)'>]><rss><item>"
                + String(repeating: "<\(element)/>", count: 1000) + "</item></rss>")
        #expect(outcome.reason == "the document declares attributes, which a feed must not do")
    }

    @Test("The time for a long namespace does not grow with the number of elements")
    func longNamespace() {
        let uri = String(repeating: "n", count: 1 << 20)
        let text =
            "<rss xmlns='\(uri)'><item>" + String(repeating: "<a xmlns:b=''/>", count: 2000) + "</item></rss>"
        let start = processorTime()
        #expect(parse(text).content?.items.count == 1)
        #expect(processorTime() - start < 10_000_000_000)
    }

    @Test(
        "An element with over a thousand attributes is refused before expat collects them",
        arguments: ["", "<!DOCTYPE rss SYSTEM '['>", "<!DOCTYPE rss [<!-- ' ]> -->]>", "<!-- ' --><?a ' ?>"])
    func attributes(prolog: String) {
        let many = (0..<1001).map { " a\($0)='>'" }.joined()
        #expect(parse(prolog + "<rss\(many)><item/></rss>").reason == "an element has over 1000 attributes")
        let few = (0..<900).map { " a\($0)='='" }.joined()
        #expect(parse(prolog + "<rss\(few)><item/><item\(few)/></rss>").content?.items.count == 2)
    }

    @Test("A document with over ten thousand names, or a name of over a thousand bytes, is refused")
    func names() {
        func feed(_ count: Int) -> String { "<rss><item>" + (0..<count).map { "<n\($0)/>" }.joined() + "</item></rss>" }
        #expect(parse(feed(9000)).content?.items.count == 1)
        #expect(parse(feed(11_000)).reason == "the document has over 10000 names of elements and attributes")
        let name = String(repeating: "n", count: 1001)
        for text in ["<rss><item><\(name)/></item></rss>", "<rss><item \(name)=''/></rss>"] {
            #expect(parse(text).reason == "the name of an element or attribute has over 1000 bytes")
        }
    }

    @Test("A document with more elements than the limit is refused")
    func elements() {
        func outcome(_ count: Int) -> SourceOutcome<Feed> {
            let text = "<rss><item>" + String(repeating: "<a/>", count: count - 2) + "</item></rss>"
            return FeedParser.parse(Array(text.utf8), limits: SourceLimits(elements: 100))
        }
        #expect(outcome(100).content?.items.count == 1)
        #expect(outcome(101).reason == "the document has over 100 elements")
    }
}
