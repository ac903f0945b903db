import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The listing of entries")
struct ListingTests {
    @Test("A cache of 100,000 entries opens within a second; paging returns each unchanged entry once during changes")
    func manyEntries() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in try await fill(cache, 100_000) }

        let start = ContinuousClock.now
        let cache = try fixture.open()
        #expect(try cache.entry(for: fillKey(77_777)) != nil)
        #expect(ContinuousClock.now - start < .seconds(1))
        defer { cache.close() }

        // Even keys stay all the time. This task removes odd keys and adds new keys during the listing.
        let isDone = Locked(false)
        let hasBegun = Gate("the first change")
        async let churn: Int = {
            var number = 0
            while !isDone.withLock({ $0 }), number < 50_000 {
                try await cache.remove(fillKey(number * 2 + 1))
                try await cache.store("new", key: fillKey(number * 2) + "-new")
                number += 1
                hasBegun.open()
            }
            return number
        }()
        // On a busy machine the test could otherwise read all pages before the first change.
        try await hasBegun.wait()
        let seen = try cache.keys(limit: 1000).filter { !$0.hasSuffix("-new") }
        isDone.withLock { $0 = true }
        #expect(try await churn > 0)
        #expect(Set(seen).count == seen.count)
        #expect(seen == seen.sorted())
        let stable = seen.filter { key in Int(key.dropFirst()).map { $0 % 2 == 0 } ?? false }
        #expect(stable == (0..<50_000).map { fillKey($0 * 2) })
    }

    @Test(
        "A listing in any order returns each entry once, ascending or descending", arguments: EntrySort.Order.allCases,
        [true, false])
    func orders(_ order: EntrySort.Order, descending: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for number in 0..<23 {
                fixture.clock.advance(by: .milliseconds(1))
                let entry = try await cache.store(
                    String(repeating: "x", count: number % 5 + 1), url: "http://h/\(number % 7)/\(number)",
                    ttl: .seconds(number % 3 + 1))
                for _ in 0..<(number % 4) { cache.recordHit(entry) }
            }
            for number in 0..<4 { try await cache.store("x", key: "data \(number)") }
            try await cache.flush()
            let sort = EntrySort(order, descending: descending)
            var entries: [Entry] = []
            var cursor: String?
            repeat {
                let page = try cache.list(sort: sort, limit: 4, cursor: cursor)
                #expect(page.entries.count == 4 || page.nextCursor == nil)
                entries += page.entries
                cursor = page.nextCursor
            } while cursor != nil
            #expect(entries.count == 27)
            #expect(Set(entries.map(\.key)).count == 27)
            let isOrdered = zip(entries, entries.dropFirst()).allSatisfy { first, second in
                let (first, second) = descending ? (second, first) : (first, second)
                return switch order {
                case .key: first.key < second.key
                case .url: (first.url ?? "") <= (second.url ?? "")
                case .contentLength: first.contentLength <= second.contentLength
                case .expiryDate: first.expiryDate <= second.expiryDate
                case .lastAccessDate: first.lastAccessDate <= second.lastAccessDate
                case .hits: first.hits <= second.hits
                }
            }
            #expect(isOrdered)
        }
    }

    @Test("A cursor of another query is refused, and so is a text that is no cursor")
    func cursors() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await fill(cache, 10)
            let filter = EntryFilter(prefix: "k", kind: .data)
            let cursor = try #require(try cache.list(filter, limit: 3).nextCursor)
            #expect(try cache.list(filter, limit: 100, cursor: cursor).entries.count == 7)
            #expect(
                cursor.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "&") && $0 != UInt8(ascii: "+") })
            #expect(throws: DiskCacheError.invalidCursor) { try cache.list(.all, cursor: cursor) }
            #expect(throws: DiskCacheError.invalidCursor) {
                try cache.list(filter, sort: EntrySort(.key, descending: true), cursor: cursor)
            }
            #expect(throws: DiskCacheError.invalidCursor) {
                try cache.list(filter, sort: EntrySort(.url), cursor: cursor)
            }
            for text in ["", "x", "AAAA", "%", String(cursor.dropLast(8)), "ü"] where text != cursor {
                let isRefused: Bool
                do {
                    // A cursor without its last eight bytes may still be valid, but names another place in the listing.
                    _ = try cache.list(filter, cursor: text)
                    isRefused = text == String(cursor.dropLast(8))
                } catch DiskCacheError.invalidCursor {
                    isRefused = true
                }
                #expect(isRefused, "\(text)")
            }
        }
    }

    @Test("A filter applies to every page, and uses a renewed expiry date that is not yet in the index")
    func filters() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for number in 0..<20 {
                try await cache.store(
                    "x", url: "http://h\(number % 2)/\(number)", ttl: .seconds(number < 10 ? 5 : 50),
                    tags: ["t\(number % 3)"])
            }
            func keys(_ filter: EntryFilter) throws -> Int {
                var count = 0
                var cursor: String?
                repeat {
                    let page = try cache.list(filter, sort: EntrySort(.url), limit: 3, cursor: cursor)
                    count += page.entries.count
                    cursor = page.nextCursor
                } while cursor != nil
                #expect(try cache.count(matching: filter) == count)
                return count
            }
            #expect(try keys(EntryFilter(host: "h1")) == 10)
            #expect(try keys(EntryFilter(tag: "t1")) == 7)
            #expect(try keys(EntryFilter(host: "h1", tag: "t1")) == 4)
            #expect(try keys(EntryFilter(url: "http://h0/4")) == 1)
            #expect(try keys(EntryFilter(url: "http://h0/4", kind: .json)) == 0)
            fixture.clock.advance(by: .seconds(10))
            #expect(try keys(EntryFilter(state: .stale)) == 10)
            #expect(try keys(EntryFilter(state: .fresh)) == 10)
            _ = cache.slide(try #require(try cache.entry(url: "http://h0/4")), ttl: .seconds(100))
            #expect(try cache.list(EntryFilter(state: .stale)).entries.count == 9)
        }
    }
}
