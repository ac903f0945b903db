import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Query plans")
final class QueryPlanTests {
    private static let now = Timestamp(seconds: 1)
    private let fixture: CacheFixture
    private let cache: DiskCache

    init() throws {
        fixture = try CacheFixture()
        cache = try fixture.open()
    }

    deinit { cache.close() }

    /// What SQLite says that it will do, a line a step.
    private func plan(_ query: EntryQuery) throws -> [String] {
        try plan(of: query.sql(EntryRow.columns) + " LIMIT 100", query.arguments)
    }

    private func plan(of sql: String, _ arguments: StatementArguments) throws -> [String] {
        try cache.parts.index.list { db in
            try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql, arguments: arguments).map { $0["detail"] }
        }
    }

    private static let ordered: [(EntryFilter, EntrySort, String)] = [
        (.all, .key, "sqlite_autoindex_entries_1"),
        (EntryFilter(state: .fresh), .key, "sqlite_autoindex_entries_1"),
        (EntryFilter(state: .stale), .key, "sqlite_autoindex_entries_1"),
        (EntryFilter(kind: .data), .key, "sqlite_autoindex_entries_1"),
        (EntryFilter(state: .stale, kind: .json), .key, "sqlite_autoindex_entries_1"),
        (EntryFilter(kind: .json), EntrySort(.url), "entriesByURL"),
        (.all, EntrySort(.url), "entriesByURL"),
        (.all, EntrySort(.expiryDate), "entriesByExpiry"),
        (EntryFilter(state: .stale), EntrySort(.expiryDate), "entriesByExpiry"),
        (.all, EntrySort(.lastAccessDate), "entriesByAccess"),
    ]

    @Test("pages come in the order of an index, nothing is sorted but what is equal", arguments: [true, false])
    func pages(descending: Bool) async throws {
        for (filter, sort, index) in Self.ordered {
            var sort = sort
            sort.descending = descending
            let steps = try plan(DiskCache.pageQuery(filter, sort: sort, now: Self.now, isKindCommon: true))
            #expect(steps.contains { $0.contains("INDEX \(index)") }, "\(filter) \(sort): \(steps)")
            #expect(!steps.contains { $0.hasPrefix("USE TEMP B-TREE FOR ORDER BY") }, "\(filter) \(sort): \(steps)")
        }
    }

    @Test("a page of a rare kind looks at that kind only")
    func rareKind() async throws {
        let query = DiskCache.pageQuery(EntryFilter(kind: .data), sort: .key, now: Self.now, isKindCommon: false)
        #expect(try plan(query).first == "SEARCH entries USING INDEX entriesByKind (kind=?)")
    }

    private static let searched: [(EntryFilter, String)] = [
        (EntryFilter(kind: .data), "entriesByKind"), (EntryFilter(host: "h"), "entriesByHost"),
        (EntryFilter(url: "http://h/"), "entriesByURL"), (EntryFilter(state: .stale), "entriesByExpiry"),
        (EntryFilter(prefix: "k"), "entriesByURL"), (EntryFilter(prefix: "k"), "sqlite_autoindex_entries_1"),
        (EntryFilter(key: "k"), "sqlite_autoindex_entries_1"),
    ]

    @Test("a purge looks at no entry that it does not mean")
    func purges() async throws {
        for (filter, index) in Self.searched {
            var query = EntryQuery(filter, now: Self.now)
            query.restrict("version <= ?", [1])
            let steps = try plan(query)
            #expect(steps.contains { $0.contains("SEARCH entries USING INDEX \(index)") }, "\(filter): \(steps)")
            #expect(!steps.contains { $0.hasPrefix("SCAN") }, "\(filter): \(steps)")
        }
    }

    @Test("what a purge asks about the entry that is to be brought up to date is a look-up by key")
    func heldEntries() throws {
        let steps = try plan(of: IndexWriter.heldStatement, ["a", "b"])
        #expect(steps == ["SEARCH entries USING INDEX sqlite_autoindex_entries_1 (key>? AND key<?)"])
    }

    @Test("the variants of a URL are counted by their keys, and only they are looked at for the oldest")
    func variants() throws {
        let count = try plan(of: IndexWriter.variantCountStatement, ["a", "b"])
        #expect(count == ["SEARCH entries USING COVERING INDEX sqlite_autoindex_entries_1 (key>? AND key<?)"])
        let oldest = try plan(IndexWriter.oldestVariants(ofMD5: "a", limit: 1))
        #expect(oldest.contains("SEARCH entries USING INDEX sqlite_autoindex_entries_1 (key>? AND key<?)"))
        #expect(oldest.allSatisfy { !$0.hasPrefix("SCAN") }, "\(oldest)")
    }

    @Test("eviction and sweep find what goes without looking at what stays")
    func upkeep() async throws {
        let expired = try plan(Eviction.expiredQuery(now: Self.now))
        #expect(expired == ["SEARCH entries USING INDEX entriesByExpiry (expiry<?)"])
        let queues = try plan(of: IndexWriter.oldestStatement, [0])
        #expect(queues == ["SEARCH entries USING INDEX entriesToEvict (queue=?)"])
        let sweep = try plan(DiskCache.sweepQuery(now: Self.now))
        #expect(sweep == ["SEARCH entries USING INDEX entriesToSweep (expiry<?)"])
    }

    @Test("the order of access holds what is pinned too")
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
