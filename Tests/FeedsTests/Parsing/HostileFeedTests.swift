import CCompression
import Primitives
import Testing

@testable import Feeds

/// Each test states bounds that a parser without limits exceeds many times over. Other tests run in the same process,
/// so the bounds of memory have room for them.
@Suite("Hostile feeds", .serialized)
struct HostileFeedTests {
    /// Measures the time and the growth of the peak memory.
    private func measure(_ body: () throws -> Void) throws -> (time: Duration, memory: Int) {
        let before = try peakMemory()
        let clock = ContinuousClock()
        let time = try clock.measure(body)
        return (time, try peakMemory() - before)
    }

    @Test("An entity bomb is refused before it grows")
    func laughs() throws {
        var text = "<!DOCTYPE rss [<!ENTITY a0 'ha'>"
        for level in 1...20 {
            text += "<!ENTITY a\(level) '" + String(repeating: "&a\(level - 1);", count: 10) + "'>"
        }
        text += "]><rss><channel><item><title>&a20;</title></item></channel></rss>"
        let cost = try measure {
            #expect(FeedParser.parse(Array(text.utf8)).reason?.contains("declares entities") == true)
        }
        #expect(cost.time < .seconds(5) && cost.memory < 64 << 20)
    }

    @Test("An entity of a megabyte with a thousand uses is refused")
    func quadratic() throws {
        let text =
            "<!DOCTYPE rss [<!ENTITY a '" + String(repeating: "a", count: 1 << 20)
            + "'>]><rss><channel><item><title>" + String(repeating: "&a;", count: 1000)
            + "</title></item></channel></rss>"
        let cost = try measure {
            #expect(FeedParser.parse(Array(text.utf8)).reason?.contains("declares entities") == true)
        }
        #expect(cost.time < .seconds(10) && cost.memory < 128 << 20)
    }

    @Test("A body over the limit is refused unread, and a long text is not kept")
    func long() throws {
        let head = Array("<rss><channel><item><guid>1</guid><title>".utf8)
        let body = head + [UInt8](repeating: 0x61, count: 100 << 20) + Array("</title></item></channel></rss>".utf8)
        let cost = try measure {
            #expect(FeedParser.parse(body).reason == "the answer is over 33554432 bytes")
        }
        #expect(cost.time < .seconds(1) && cost.memory < 64 << 20)
        var limits = SourceLimits.feed
        limits.bytes = 200 << 20
        let item = FeedParser.parse(body, limits: limits).content?.items.first
        #expect(item?.id == "1" && item?.title?.utf8.count == limits.fieldBytes)
    }

    @Test("Elements nested without end are refused", arguments: ["a", "title"])
    func deep(name: String) {
        let body = Sample.rss("<item>" + String(repeating: "<\(name)>", count: 1_000_000))
        #expect(FeedParser.parse(body).reason == "elements are nested more than 256 deep")
    }

    @Test("A feed with too many items is refused")
    func many() {
        let item = "<item/>"
        #expect(FeedParser.parse(Sample.rss(String(repeating: item, count: 10_000))).content?.items.count == 10_000)
        let reason = FeedParser.parse(Sample.rss(String(repeating: item, count: 10_001))).reason
        #expect(reason == "the feed has over 10000 items")
    }

    @Test("An id or link over the limit counts as absent")
    func fields() {
        let long = String(repeating: "a", count: 20_000)
        let item = firstItem(
            Sample.rss("<item><guid>\(long)</guid><link>/\(long)</link><enclosure url='\(long)'/></item>"),
            url: "http://h.example/")
        #expect(item != nil && item?.id == nil && item?.link == nil && item?.enclosures == [])
    }

    @Test(
        "Ampersands, attributes and declarations in large numbers take time in proportion to their number",
        arguments: [
            NamedDocument("ampersands", String(repeating: "&", count: 2_000_000)),
            NamedDocument("CDATA sections", String(repeating: "<![CDATA[", count: 200_000)),
            NamedDocument("comments", String(repeating: "<!--", count: 400_000)),
            NamedDocument("declarations", String(repeating: "<a xmlns:b='c'/>", count: 60_000)),
            NamedDocument("attributes", "<a " + (0..<60_000).map { "b\($0)='c' " }.joined() + "/>"),
            NamedDocument(
                "declared prefixes",
                "<a " + (0..<60_000).map { "xmlns:b\($0)='c' " }.joined() + ">"
                    + String(repeating: "<b1:c/>", count: 60_000)),
        ])
    func linear(document: NamedDocument) throws {
        let body = Sample.rss("<item>" + document.text)
        let cost = try measure { _ = FeedParser.parse(body) }
        #expect(cost.time < .seconds(30))
    }

    @Test("A gzip bomb ends at the limit, and a damaged or unfinished gzip file is refused")
    func gzip() throws {
        let bomb = try compressed([UInt8](repeating: 0x20, count: 300 << 20))
        #expect(bomb.count < 1 << 20)
        let cost = try measure {
            #expect(FeedParser.parse(bomb).reason == "the decompressed answer is over 33554432 bytes")
            #expect(SitemapParser.parse(bomb).reason == "the decompressed answer is over 52428800 bytes")
        }
        #expect(cost.time < .seconds(20) && cost.memory < 256 << 20)
        let whole = try compressed(Sample.rss("<item/>"))
        #expect(FeedParser.parse(whole).content?.items.count == 1)
        #expect(FeedParser.parse(Array(whole.dropLast(9))).reason == "the compressed answer is incomplete")
        var damaged = whole
        damaged[12] ^= 0xff
        #expect(FeedParser.parse(damaged).reason?.contains("compressed answer is") == true)
    }
}

/// The bytes in gzip.
func compressed(_ bytes: [UInt8]) throws -> [UInt8] {
    var stream = z_stream()
    try #require(larder_deflateInit2(&stream, 15 + 16) == Z_OK)
    defer { deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    let count = input.withUnsafeMutableBufferPointer { input in
        output.withUnsafeMutableBufferPointer { output in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            stream.next_out = output.baseAddress
            stream.avail_out = UInt32(output.count)
            _ = deflate(&stream, Z_FINISH)
            return output.count - Int(stream.avail_out)
        }
    }
    return Array(output.prefix(count))
}
