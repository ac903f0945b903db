import HTTPTypes
import RawStructuredFieldValues
import Testing

@testable import HTTPCaching

@Suite("Cache-Status")
struct CacheStatusTests {
    private static func status(_ source: CacheStatus.Source, _ change: (inout CacheStatus) -> Void = { _ in })
        -> CacheStatus
    {
        var status = CacheStatus(source)
        change(&status)
        return status
    }

    private static let cases: [(CacheStatus, String)] = [
        // RFC 9211 §2.1: the answer came from the cache.
        (status(.hit), "larder; hit"),
        (status(.hit) { $0.ttl = .seconds(376) }, "larder; hit; ttl=376"),
        // RFC 9211 §2.4: the ttl is in whole seconds, and negative when the response is stale.
        (status(.hit) { $0.ttl = .seconds(-412) }, "larder; hit; ttl=-412"),
        (status(.hit) { $0.ttl = .milliseconds(1999) }, "larder; hit; ttl=1"),
        (status(.hit) { $0.ttl = .milliseconds(1) }, "larder; hit; ttl=0"),
        (status(.hit) { $0.ttl = .milliseconds(-1) }, "larder; hit; ttl=-1"),
        (status(.hit) { $0.ttl = .zero }, "larder; hit; ttl=0"),
        (status(.hit) { $0.ttl = .seconds(Int64.max) }, "larder; hit; ttl=999999999999999"),
        // RFC 9211 §2.3, §2.5, §2.6: fwd-status, stored and collapsed are written only for a forwarded request.
        (
            status(.hit) {
                $0.forwardStatus = 200
                $0.isStored = true
                $0.isCollapsed = true
            }, "larder; hit"
        ),
        // RFC 9211 §2.2: the reason why the request was forwarded.
        (status(.forwarded(.method)), "larder; fwd=method"),
        (status(.forwarded(.uriMiss)), "larder; fwd=uri-miss"),
        (status(.forwarded(.varyMiss)), "larder; fwd=vary-miss"),
        (status(.forwarded(.miss)), "larder; fwd=miss"),
        (status(.forwarded(.request)), "larder; fwd=request"),
        (status(.forwarded(.stale)), "larder; fwd=stale"),
        (status(.forwarded(.partial)), "larder; fwd=partial"),
        (status(.forwarded(.stale)) { $0.forwardStatus = 304 }, "larder; fwd=stale; fwd-status=304"),
        (status(.forwarded(.uriMiss)) { $0.isStored = true }, "larder; fwd=uri-miss; stored"),
        (status(.forwarded(.uriMiss)) { $0.isCollapsed = true }, "larder; fwd=uri-miss; collapsed"),
        (status(.forwarded(.uriMiss)) { $0.isCollapsed = false }, "larder; fwd=uri-miss; collapsed=?0"),
        // RFC 9211 §2.7: the key is a string. Larder percent-encodes the characters that a string cannot hold.
        (status(.hit) { $0.key = "900150983cd24fb0.0000abcd" }, "larder; hit; key=\"900150983cd24fb0.0000abcd\""),
        (status(.hit) { $0.key = "a\"b\\c é\n" }, "larder; hit; key=\"a\\\"b\\\\c %C3%A9%0A\""),
        // RFC 9211 §2.8: the detail is a token if its characters permit that, else a string.
        (status(.hit) { $0.detail = "MEMORY" }, "larder; hit; detail=MEMORY"),
        (status(.hit) { $0.detail = "no-store" }, "larder; hit; detail=no-store"),
        (status(.hit) { $0.detail = "two words" }, "larder; hit; detail=\"two words\""),
        (status(.hit) { $0.detail = "1st" }, "larder; hit; detail=\"1st\""),
        (status(.hit) { $0.detail = "" }, "larder; hit; detail=\"\""),
        (status(.hit) { $0.detail = "é" }, "larder; hit; detail=\"%C3%A9\""),
        (
            status(.forwarded(.stale)) {
                $0.forwardStatus = 304
                $0.isStored = true
                $0.isCollapsed = true
                $0.ttl = .seconds(60)
                $0.key = "k"
                $0.detail = "d"
            }, "larder; fwd=stale; fwd-status=304; stored; collapsed; ttl=60; key=\"k\"; detail=d"
        ),
    ]

    @Test("Each Cache-Status is written as a valid structured field (RFC 9211 §2)", arguments: cases)
    func text(status: CacheStatus, text: String) throws {
        #expect(status.text == text)
        var parser = StructuredFieldValueParser(Array(text.utf8))
        let list = try parser.parseListFieldValue()
        guard case .item(let item) = try #require(list.first) else {
            Issue.record("no item")
            return
        }
        #expect(list.count == 1)
        #expect(item.rfc9651BareItem == .token("larder"))
    }

    @Test("Larder appends its Cache-Status behind the lines of caches nearer to the origin (RFC 9211 §2)")
    func order() {
        var fields = HTTPFields([
            HTTPField(name: .cacheStatus, value: "OriginCache; hit; ttl=1100"),
            HTTPField(name: .date, value: "x"),
            HTTPField(name: .cacheStatus, value: "\"CDN Company Here\"; hit; ttl=545"),
        ])
        CacheStatus(.hit).append(to: &fields)
        #expect(
            fields[values: .cacheStatus]
                == ["OriginCache; hit; ttl=1100", "\"CDN Company Here\"; hit; ttl=545", "larder; hit"])
    }
}
