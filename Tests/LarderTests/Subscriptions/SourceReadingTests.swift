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
            var reading = SourceReading(definition)
            let document = SourceReading.Document(
                body: Array(body.utf8), url: "http://h.example/feed", fields: HTTPFields())
            reading.receive(document, at: Timestamp(seconds: 0))
            guard case .failed(let reason, _) = reading.answer(at: Timestamp(seconds: 0)) else { return nil }
            return reason
        }
        #expect(reason(enclosures: 101) == "the source lists over 100000 URLs")
        #expect(reason(enclosures: 100) == nil)
    }
}
