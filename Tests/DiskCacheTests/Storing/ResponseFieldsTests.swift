import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The fields of all responses to one URL")
struct ResponseFieldsTests {
    private let url = ResponseURL("https://example.com/a")
    private let fixture: CacheFixture

    init() throws {
        fixture = try CacheFixture()
    }

    private func fields(_ length: Int) -> String { String(repeating: "x", count: length) }

    /// Stores a variant a second after the previous variant.
    private func publish(_ variant: String, _ length: Int, in cache: DiskCache) async throws -> PublishOutcome {
        fixture.clock.advance(by: .seconds(1))
        let reservation = cache.reserve(responseTo: url)
        reservation.decide(.response(to: url, variant: variant))
        try reservation.receive(Array(variant.utf8))
        var metadata = EntryMetadata(ttl: .seconds(1000))
        metadata.fields = fields(length)
        return try await reservation.publish(metadata)
    }

    private func variants(in cache: DiskCache) throws -> Set<String> {
        Set(try cache.responses(to: url).map(\.key))
    }

    private func keys(_ variants: some Sequence<Int>) -> Set<String> {
        Set(variants.map { CacheKey.response(to: url, variant: "\($0)").text })
    }

    @Test("When the fields of all responses exceed 512 KiB, the unpinned responses stored longest ago are removed")
    func limit() async throws {
        try await fixture.withCache { cache async throws in
            for number in 0..<8 { _ = try await publish("\(number)", 64 << 10, in: cache) }
            #expect(try variants(in: cache) == keys(0..<8))
            _ = try await cache.update(CacheKey.response(to: url, variant: "0").text, pinned: true)
            // One byte over the limit removes one response, and a response of 192 KiB removes three.
            _ = try await publish("8", 1, in: cache)
            #expect(try variants(in: cache) == keys([0] + Array(2...8)))
            _ = try await publish("9", 3 * (64 << 10), in: cache)
            #expect(try variants(in: cache) == keys([0] + Array(5...9)))
            #expect(cache.totals.entries == 6)
            #expect(try cache.findings() == [])
        }
    }

    @Test("The length of fields is counted in bytes, not in characters")
    func bytes() async throws {
        try await fixture.withCache { cache async throws in
            fixture.clock.advance(by: .seconds(1))
            let reservation = cache.reserve(responseTo: url)
            reservation.decide(.response(to: url, variant: "0"))
            try reservation.receive(Array("0".utf8))
            var metadata = EntryMetadata(ttl: .seconds(1000))
            metadata.fields = String(repeating: "é", count: 200 << 10)
            _ = try await reservation.publish(metadata)
            _ = try await publish("1", 100 << 10, in: cache)
            #expect(try variants(in: cache) == keys([0, 1]))
            _ = try await publish("2", 100 << 10, in: cache)
            #expect(try variants(in: cache) == keys([1, 2]))
        }
    }

    @Test("Callers' data under keys that begin like a response's key does not count as responses, and is not removed")
    func callersData() async throws {
        try await fixture.withCache { cache async throws in
            let md5 = CacheKey.response(to: url, variant: "0").md5Hex
            let keys = ["\(md5).json", "\(md5).thumbnail", "\(md5).0123456g"]
            for key in keys { _ = try await cache.store("mine", key: key) }
            for number in 0..<12 { _ = try await publish("\(number)", 64 << 10, in: cache) }
            #expect(try variants(in: cache) == self.keys(4..<12))
            for number in 0..<300 { _ = try await publish("small \(number)", 1, in: cache) }
            #expect(try variants(in: cache).count == Entry.variantLimit)
            for key in keys { #expect(try cache.entry(for: key) != nil) }
            // Neither a removal nor a look-up of the responses by this MD5 matches the caller's data.
            #expect(try await cache.remove(matching: EntryFilter(md5: md5)) == Entry.variantLimit)
            #expect(try variants(in: cache).isEmpty)
            for key in keys { #expect(try cache.entry(for: key) != nil) }
        }
    }

    @Test("The fields of a single response may have any length")
    func alone() async throws {
        try await fixture.withCache { cache async throws in
            _ = try await publish("0", 600 << 10, in: cache)
            #expect(try variants(in: cache) == keys([0]))
            _ = try await publish("1", 700 << 10, in: cache)
            #expect(try variants(in: cache) == keys([1]))
        }
    }

    @Test("A response is not kept when pinned responses leave no room for its fields")
    func pinned() async throws {
        try await fixture.withCache { cache async throws in
            for number in 0..<8 { _ = try await publish("\(number)", 64 << 10, in: cache) }
            for number in 0..<7 {
                _ = try await cache.update(CacheKey.response(to: url, variant: "\(number)").text, pinned: true)
            }
            guard case .notKept(_, body: .some) = try await publish("8", 65 << 10, in: cache) else {
                Issue.record("the response was kept")
                return
            }
            #expect(try variants(in: cache) == keys(0..<8))
        }
    }

    @Test("When a replaced or refreshed response has longer fields, the responses stored longest ago are removed")
    func longer() async throws {
        try await fixture.withCache { cache async throws in
            for number in 0..<100 { _ = try await publish("\(number)", 10, in: cache) }
            for number in 0..<10 { _ = try await publish("\(number)", 100 << 10, in: cache) }
            // Responses 10 to 99 were stored longest ago, because 0 to 9 were stored again. So the cache removes
            // 10 to 99 first, and then 0 to 4.
            #expect(try variants(in: cache) == keys(5..<10))

            let key = CacheKey.response(to: url, variant: "9")
            let held = try #require(try cache.responses(to: url).first { $0.key == key.text })
            let confirmation = cache.reserve(responseTo: url)
            confirmation.decide(key)
            var refresh = EntryMetadata(ttl: .seconds(1000))
            refresh.fields = fields(150 << 10)
            _ = try await confirmation.publishUnchanged(held, refresh)
            #expect(try variants(in: cache) == keys(6..<10))
        }
    }

    @Test("SQL statements about all responses of a URL find the responses by their keys, without a scan")
    func plan() throws {
        let cache = try fixture.open()
        defer { cache.close() }
        let statements: [(String, StatementArguments)] = [
            (StoreQuery.longFields.sql, ["a", "b", 1]), (IndexWriter.variantFieldsStatement, ["a", "b", "c"]),
        ]
        for (sql, arguments) in statements {
            let steps: [String] = try cache.parts.index.list { db in
                try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments).map { $0["detail"] }
            }
            #expect(steps.contains("SEARCH entries USING INDEX sqlite_autoindex_entries_1 (key>? AND key<?)"))
            #expect(!steps.contains { $0.hasPrefix("SCAN entries") }, "\(steps)")
        }
    }
}
