import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The search for a page of a listing")
struct PageSearchTests {
    /// Stores 2,000 entries with URLs and 1,000 under callers' keys. Every second entry has the tag `mixed`, and three
    /// entries have `rare`. The last 600 entries by time of storing, by key and by last access have `late`.
    private static func fill(_ cache: DiskCache, _ fixture: CacheFixture) async throws {
        for start in stride(from: 0, to: 3000, by: 100) {
            fixture.clock.advance(by: .milliseconds(1))
            let done = Counter("stored")
            for number in start..<start + 100 {
                var tags: Set<String> = number % 2 == 0 ? ["mixed"] : []
                if number >= 2400 { tags.insert("late") }
                if number % 1000 == 7 { tags.insert("rare") }
                let url = "http://h\(number % 2).example/\(number)"
                let reservation =
                    number < 2000
                    ? cache.reserve(.url(canonical: url), kind: .json, url: url, tags: tags.sorted())
                    : cache.reserve(try .data("zz\(number)"), kind: .data, tags: tags.sorted())
                try reservation.receive(Array(String(repeating: "1", count: number % 7 + 1).utf8))
                reservation.publish(EntryMetadata(ttl: .seconds(number % 3 == 0 ? 5 : 50))) { _ in done.add() }
            }
            try await done.wait(for: 100)
        }
    }

    private static let filters = [
        EntryFilter.all, EntryFilter(tag: "mixed"), EntryFilter(tag: "late"), EntryFilter(tag: "rare"),
        EntryFilter(host: "h1.example"), EntryFilter(prefix: "http://h0.example/"), EntryFilter(prefix: "http://"),
        EntryFilter(prefix: "zz"), EntryFilter(prefix: "zz29"), EntryFilter(prefix: "h"), EntryFilter(prefix: "7"),
        EntryFilter(state: .fresh), EntryFilter(state: .stale), EntryFilter(kind: .data), EntryFilter(kind: .download),
        EntryFilter(tag: "mixed", kind: .data), EntryFilter(prefix: "http://", tag: "late"),
        EntryFilter(host: "h0.example", tag: "mixed", state: .stale), EntryFilter(url: "http://h1.example/7"),
        EntryFilter(prefix: "zz2", tag: "mixed", state: .fresh, kind: .data), EntryFilter(tag: "nobody's"),
    ]

    @Test("All pages together have each matching entry once, in the requested order, for every filter and page size")
    func agreement() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await Self.fill(cache, fixture)
            fixture.clock.advance(by: .seconds(10))
            let all = try cache.list(limit: 5000).entries
            #expect(all.count == 3000)
            var ids: [String: Int64] = [:]
            for entry in all { ids[entry.key] = try cache.parts.reader.row(forKey: entry.key)?.id }
            let sorted = EntrySort.Order.allCases.map { (order: $0, entries: Self.sorted(all, by: $0, ids)) }
            for filter in Self.filters {
                let matching = Set(all.filter { Self.matches($0, filter, cache) }.map(\.key))
                #expect(try cache.count(matching: filter) == matching.count, "\(filter)")
                for (order, entries) in sorted {
                    let expected = entries.map(\.key).filter(matching.contains)
                    // A search for a small page walks an index, or gives up and sorts. For a larger page, it sorts.
                    for (descending, limit) in [(false, 100), (true, 100), (true, 1000)] {
                        let sort = EntrySort(order, descending: descending)
                        let keys = try cache.keys(filter, sort: sort, limit: limit)
                        #expect(keys == (descending ? expected.reversed() : expected), "\(filter) \(sort) \(limit)")
                        // Lets other tasks run, because this loop takes long.
                        await Task.yield()
                    }
                }
            }
        }
    }

    /// Sorts entries by the value of an order. Entries with equal values come in the order of their first store.
    private static func sorted(_ entries: [Entry], by order: EntrySort.Order, _ ids: [String: Int64]) -> [Entry] {
        func value(_ entry: Entry) -> Int64 {
            switch order {
            case .contentLength: entry.contentLength
            case .expiryDate: entry.expiryDate.milliseconds
            case .lastAccessDate: entry.lastAccessDate.milliseconds
            case .hits: Int64(entry.hits)
            case .key, .url: 0
            }
        }
        func text(_ entry: Entry) -> String {
            switch order {
            case .key: entry.key
            case .url: entry.url ?? ""
            default: ""
            }
        }
        return entries.sorted {
            (text($0), value($0), ids[$0.key] ?? 0) < (text($1), value($1), ids[$1.key] ?? 0)
        }
    }

    private static func matches(_ entry: Entry, _ filter: EntryFilter, _ cache: DiskCache) -> Bool {
        let now = cache.parts.clock.now()
        let text = entry.kind == .data ? entry.key : entry.url ?? ""
        return filter.tag.map { entry.tags.contains($0) } ?? true
            && filter.host.map { entry.record.host == $0 } ?? true
            && filter.prefix.map { text.hasPrefix($0) } ?? true
            && filter.state.map { entry.isFresh(at: now) == ($0 == .fresh) } ?? true
            && filter.kind.map { entry.kind == $0 } ?? true && filter.url.map { entry.url == $0 } ?? true
    }

    @Test("A listing with many matches walks an index in the requested order; a listing with few matches sorts them")
    func ways() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await Self.fill(cache, fixture)
            func way(_ filter: EntryFilter, _ order: EntrySort.Order, limit: Int = 10) throws -> PageSearch.Way {
                let search = PageSearch(
                    filter: filter, sort: EntrySort(order), position: nil, now: fixture.clock.now(),
                    totals: cache.totals, reader: cache.parts.reader)
                return try search.way(limit: limit, prefixIn: try search.prefixPlaces())
            }
            for order in EntrySort.Order.allCases where order.index != nil {
                #expect(try way(.all, order) == .walk(end: nil))
                for filter in [
                    EntryFilter(tag: "mixed"), EntryFilter(host: "h1.example"), EntryFilter(kind: .json),
                    EntryFilter(tag: "mixed", kind: .json),
                ] {
                    // The walk gives up after 4 · √(10 · 3000) entries. Then the listing sorts the matches.
                    guard case .walk(let end?) = try way(filter, order) else {
                        Issue.record("\(filter) is not walked in the order of \(order)")
                        continue
                    }
                    let tried = try cache.keys(sort: EntrySort(order), limit: 3000)
                    let last = try cache.parts.reader.row(forKey: tried[4 * 173])
                    #expect(last?.id == end.id, "\(filter) \(order)")
                }
                #expect(try way(EntryFilter(tag: "rare"), order) == .sort(.tag))
                #expect(try way(EntryFilter(host: "h1.example", tag: "rare"), order) == .sort(.tag))
                #expect(try way(EntryFilter(tag: "mixed", kind: .download), order) == .sort(.kind))
                #expect(try way(EntryFilter(tag: "mixed"), order, limit: 3000) == .sort(.tag))
            }
            // When the index of the order also answers the filter, the walk never gives up.
            #expect(try way(EntryFilter(prefix: "zz"), .key) == .walk(end: nil))
            #expect(try way(EntryFilter(prefix: "http://h0"), .url) == .walk(end: nil))
            #expect(try way(EntryFilter(state: .stale), .expiryDate) == .walk(end: nil))
            for order in [EntrySort.Order.hits, .contentLength] {
                #expect(try way(EntryFilter(tag: "mixed"), order) == .sort(.tag))
                #expect(try way(.all, order) == .sort(nil))
            }
        }
    }
}
