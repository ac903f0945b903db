import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The query plans of the index")
final class QueryPlanTests {
    private static let now = Timestamp(seconds: 1)
    private let fixture: CacheFixture
    private let cache: DiskCache

    init() throws {
        fixture = try CacheFixture()
        cache = try fixture.open()
    }

    deinit { cache.close() }

    /// Returns SQLite's query plan, a line for each step.
    private func plan(_ query: EntryQuery) throws -> [String] {
        try plan(of: query.sql(EntryRow.columns) + " LIMIT 100", query.arguments)
    }

    private func plan(of sql: String, _ arguments: StatementArguments) throws -> [String] {
        try cache.parts.index.list { db in
            try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments).map { $0["detail"] }
        }
    }

    private func search(_ filter: EntryFilter, _ sort: EntrySort, after position: ListCursor? = nil) -> PageSearch {
        PageSearch(
            filter: filter, sort: sort, position: position, now: Self.now, totals: cache.totals,
            reader: cache.parts.reader)
    }

    private static let filters = [
        EntryFilter.all, EntryFilter(state: .fresh), EntryFilter(state: .stale), EntryFilter(kind: .data),
        EntryFilter(tag: "t"), EntryFilter(host: "h"), EntryFilter(prefix: "p"),
        EntryFilter(prefix: "p", host: "h", tag: "t", state: .fresh, kind: .json),
    ]

    @Test(
        "A listing that walks an index keeps the order of the index, and sorts only entries with equal values",
        arguments: [true, false])
    func walks(descending: Bool) throws {
        let position = ListCursor(value: 1.databaseValue, id: 1)
        for order in EntrySort.Order.allCases {
            guard let index = order.index else { continue }
            for filter in Self.filters {
                for position in [nil, position] {
                    let search = search(filter, EntrySort(order, descending: descending), after: position)
                    for query in [search.walking(), search.walking(to: ListCursor(value: 2.databaseValue, id: 2))] {
                        let steps = try plan(query)
                        #expect(steps[0].contains("entries USING INDEX \(index)"), "\(filter) \(order): \(steps)")
                        #expect(
                            !steps.contains { $0.hasPrefix("USE TEMP B-TREE FOR ORDER BY") },
                            "\(filter) \(order): \(steps)")
                        if position != nil, order == .key { #expect(steps[0].hasPrefix("SEARCH")) }
                    }
                }
            }
        }
    }

    private static let leading: [(EntryFilter.Condition, String)] = [
        (.tag, "SEARCH tags USING PRIMARY KEY (tag=?)"), (.host, "entriesByHost (host=?)"),
        (.kind, "entriesByKind (kind=?)"), (.state, "entriesByExpiry (expiry>?"), (.url, "entriesByURL (url=?)"),
        (.prefix, "entriesByURL (url>? AND url<?)"), (.key, "sqlite_autoindex_entries_1 (key=?)"),
    ]

    @Test("In every order, a listing that sorts its matches finds them by the index for one condition of its filter")
    func sorting() throws {
        let filter = EntryFilter(
            key: "k", url: "http://h/", prefix: "p", host: "h", tag: "t", state: .fresh, kind: .json)
        let position = ListCursor(value: 1.databaseValue, id: 1)
        for order in EntrySort.Order.allCases {
            for (condition, step) in Self.leading {
                for filter in [filter, filter.keeping([condition])] {
                    for position in [nil, position] {
                        let steps = try plan(search(filter, EntrySort(order), after: position).sorting(condition))
                        #expect(!steps.contains { $0.hasPrefix("SCAN") }, "\(condition) \(order): \(steps)")
                        #expect(
                            steps.prefix(3).contains { $0.contains(step) }, "\(condition) \(order): \(steps)")
                    }
                }
            }
        }
    }

    @Test("The counts by which a listing chooses its plan read covering indexes only")
    func counting() throws {
        for filter in [EntryFilter(host: "h"), EntryFilter(state: .stale), EntryFilter(state: .fresh)] {
            let steps = try plan(
                of: EntryQuery(filter, now: Self.now).sql("1"), EntryQuery(filter, now: Self.now).arguments)
            #expect(steps.count == 1 && steps[0].hasPrefix("SEARCH entries USING COVERING INDEX"), "\(steps)")
        }
        let urls = EntryQuery(EntryFilter(prefix: "p"), now: Self.now, prefixIn: .urls)
        #expect(
            try plan(of: urls.sql("1"), urls.arguments) == [
                "SEARCH entries USING COVERING INDEX entriesByURL (url>? AND url<?)"
            ])
        let spellings = EntryQuery(EntryFilter(prefix: "p"), now: Self.now, prefixIn: .otherSpellings)
        #expect(
            try plan(of: spellings.sql("1"), spellings.arguments) == [
                "SEARCH entries USING COVERING INDEX entriesByCanonicalURL (canonicalURL>? AND canonicalURL<?)"
            ])
    }

    private static let searched: [(EntryFilter, String)] = [
        (EntryFilter(kind: .data), "entriesByKind"), (EntryFilter(host: "h"), "entriesByHost"),
        (EntryFilter(url: "http://h/"), "entriesByURL"), (EntryFilter(state: .stale), "entriesByExpiry"),
        (EntryFilter(prefix: "k"), "entriesByURL"), (EntryFilter(prefix: "k"), "sqlite_autoindex_entries_1"),
        (EntryFilter(prefix: "k"), "entriesByCanonicalURL"), (EntryFilter(url: "http://h/"), "entriesByCanonicalURL"),
        (EntryFilter(key: "k"), "sqlite_autoindex_entries_1"), (EntryFilter(md5: "k"), "sqlite_autoindex_entries_1"),
        (EntryFilter(md5: "k"), "entriesByCanonicalKey"),
        (EntryFilter(prefix: "k", urlPrefixes: ["a", "b"]), "entriesByURL"),
    ]

    @Test("A purge finds its entries by an index, without a scan")
    func purges() async throws {
        for (filter, index) in Self.searched {
            var query = EntryQuery(filter, now: Self.now)
            query.restrict("version <= ?", [1])
            let steps = try plan(query)
            #expect(steps.contains { $0.contains("SEARCH entries USING INDEX \(index)") }, "\(filter): \(steps)")
            #expect(!steps.contains { $0.hasPrefix("SCAN") }, "\(filter): \(steps)")
        }
    }

    @Test("The query for the entry that a running store replaces reads a range of keys, and scans no table")
    func heldEntries() throws {
        let steps = try plan(of: IndexWriter.heldStatement, ["a", "b"])
        #expect(steps == ["SEARCH entries USING INDEX sqlite_autoindex_entries_1 (key>? AND key<?)"])
    }

    @Test("The count of a URL's variants, and the search for the variant stored longest ago, read only this URL's keys")
    func variants() throws {
        let count = try plan(of: IndexWriter.variantCountStatement, ["a", "b"])
        #expect(count == ["SEARCH entries USING COVERING INDEX sqlite_autoindex_entries_1 (key>? AND key<?)"])
        let oldest = try plan(IndexWriter.oldestVariants(ofMD5: "a", limit: 1))
        #expect(oldest.contains("SEARCH entries USING INDEX sqlite_autoindex_entries_1 (key>? AND key<?)"))
        #expect(oldest.allSatisfy { !$0.hasPrefix("SCAN") }, "\(oldest)")
    }

    @Test("Eviction and sweep find their entries without reading other entries")
    func upkeep() async throws {
        let expired = try plan(Eviction.expiredQuery(now: Self.now))
        #expect(expired == ["SEARCH entries USING INDEX entriesByExpiry (expiry<?)"])
        let queues = try plan(of: IndexWriter.oldestStatement, [0])
        #expect(queues == ["SEARCH entries USING INDEX entriesToEvict (queue=?)"])
        let sweep = try plan(DiskCache.sweepQuery(now: Self.now))
        #expect(sweep == ["SEARCH entries USING INDEX entriesToSweep (expiry<?)"])
    }

    @Test("The order by last access includes pinned entries")
    func pinnedInOrderOfAccess() async throws {
        for number in 0..<9 {
            fixture.clock.advance(by: .seconds(1))
            try await cache.store("x", key: "k\(number)", tags: ["t"]) { $0.pinned = number % 3 == 0 }
        }
        for filter in [EntryFilter.all, EntryFilter(tag: "t"), EntryFilter(kind: .data)] {
            let keys = try cache.keys(filter, sort: EntrySort(.lastAccessDate, descending: true), limit: 2)
            #expect(keys == (0..<9).reversed().map { "k\($0)" })
        }
    }
}
