import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Purges with several filters")
struct PurgingTogetherTests {
    @Test("An entry that matches any filter is removed and counted once, and all other entries stay")
    func anyOf() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for (path, tags) in [("1", ["a"]), ("2", ["b"]), ("3", ["a", "b"]), ("4", ["c"]), ("5", [])] {
                try await cache.store(path, url: "http://h/\(path)", tags: tags)
            }
            let filters = [
                EntryFilter(tag: "a"), EntryFilter(url: "http://h/5", kind: .response), EntryFilter(tag: "b"),
                EntryFilter(url: "http://h/4", kind: .download),
            ]
            #expect(try await cache.remove(matching: filters) == 4)
            #expect(try await cache.text(url: "http://h/5") == "5")
            #expect(cache.totals.entries == 1)
            #expect(try await cache.remove(matching: []) == 0)
            #expect(cache.totals.entries == 1)
        }
    }

    @Test("Thousands of entries that match several filters are removed in steps and counted once")
    func steps() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await fill(cache, 2500)
            let filters = [EntryFilter(prefix: "k00001"), EntryFilter(key: "x"), EntryFilter(kind: .data)]
            #expect(try await cache.remove(matching: filters) == 2500)
            #expect(cache.totals.entries == 0)
        }
    }

    @Test("Two filters with canonically equivalent texts of different bytes both take effect")
    func exactTexts() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("1", key: "\u{E9}")
            try await cache.store("2", key: "e\u{301}")
            let filters = [EntryFilter(prefix: "\u{E9}"), EntryFilter(prefix: "e\u{301}")]
            #expect(try await cache.remove(matching: filters) == 2)
        }
    }

    @Test("A purge that an origin's answer requests spares only the response that is stored from this answer")
    func sparing() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let url = "http://h/a"
            let filters = [EntryFilter(url: url), EntryFilter(prefix: "http://h/", tag: "g", kind: .response)]
            try await cache.store("held", url: url)
            let mine = cache.reserve(responseTo: ResponseURL(url), tags: ["g"])
            let other = cache.reserve(responseTo: ResponseURL(url))
            #expect(try await cache.remove(matching: filters, sparing: mine) == 1)
            #expect(!mine.isPurged)
            #expect(other.isPurged)
            try mine.receive(Array("mine".utf8))
            guard case .stored = try await mine.publish(EntryMetadata(ttl: .seconds(9))) else {
                Issue.record("the response was not kept")
                return
            }
            let next = cache.reserve(responseTo: ResponseURL(url))
            try await cache.remove(matching: filters, sparing: other)
            #expect(next.isPurged)
        }
    }

    @Test("A purge that is told to spare a store of another namespace spares no store of its own namespace")
    func sparingElsewhere() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let elsewhere = try fixture.open { $0.namespace = "elsewhere" }
            defer { elsewhere.close() }
            let here = cache.reserve(responseTo: ResponseURL("http://h/a"))
            let there = elsewhere.reserve(responseTo: ResponseURL("http://h/a"))
            try await cache.remove(matching: [.all], sparing: there)
            #expect(here.isPurged)
            #expect(!there.isPurged)
        }
    }

    @Test("A purge by the tag or the state of a stored entry also matches a running refresh of the entry")
    func heldEntries() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("1", url: "http://h/tagged", ttl: .seconds(9), tags: ["t"]) { $0.etag = "\"1\"" }
            try await cache.store("2", url: "http://h/stale", ttl: .zero) { $0.etag = "\"1\"" }
            let reservations = ["http://h/tagged", "http://h/stale", "http://h/none"].map { url in
                cache.reserve(.url(canonical: url), kind: .download, url: url)
            }
            func purged() -> [Bool] { reservations.map(\.isPurged) }
            try await cache.remove(matching: [
                EntryFilter(tag: "t", kind: .json), EntryFilter(state: .stale, kind: .json),
            ])
            #expect(purged() == [false, false, false])
            try await cache.remove(matching: [EntryFilter(tag: "t", state: .stale)])
            #expect(purged() == [false, false, false])
            try await cache.remove(matching: [EntryFilter(tag: "u"), EntryFilter(tag: "t")])
            #expect(purged() == [true, false, false])
            try await cache.remove(matching: EntryFilter(state: .fresh))
            #expect(purged() == [true, false, false])
            try await cache.remove(matching: EntryFilter(state: .stale))
            #expect(purged() == [true, true, false])
        }
    }

    @Test("A purge reads the entry that a running refresh replaces only if the filter needs it, and once for each URL")
    func statements() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            // 20 reservations are for another host, 20 for one URL of the purged host, and one for a second URL of this
            // host. Only the first of the second group has a tag of the purge.
            let reservations =
                (0..<20).map { cache.reserve(responseTo: ResponseURL("http://other/\($0)")) }
                + (0..<20).map { cache.reserve(responseTo: ResponseURL("http://h/a"), tags: $0 == 0 ? ["t3"] : []) }
                + [cache.reserve(responseTo: ResponseURL("http://h/b"))]
            let statements = Recorder<String>()
            try await cache.onIndex { db in
                db.trace { event in
                    if case .statement(let statement) = event { statements.append(statement.sql) }
                }
            }
            let filters = (0..<128).map { EntryFilter(prefix: "http://h/", tag: "t\($0)", kind: .response) }
            try await cache.remove(matching: filters)
            try await cache.onIndex { $0.trace(options: []) }
            #expect(statements.elements.filter { $0 == IndexWriter.heldStatement }.count == 2)
            #expect(reservations.filter(\.isPurged).count == 1)
            // Expects the commit of the transaction in which the tracing began, and the commit of the purge.
            #expect(statements.elements.filter { $0.hasPrefix("COMMIT") }.count == 2)
        }
    }
}

extension DiskCache {
    /// Runs `body` with the writing connection, on the writer's thread.
    func onIndex(_ body: @escaping @Sendable (Database) -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            writer.submit({ context in body(context.index.db) }, completion: { continuation.resume(with: $0) })
        }
    }
}
