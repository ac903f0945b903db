import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Purges")
struct PurgingTests {
    private let url = "https://example.com/dir/a?x=1"

    @Test(
        "A download that a purge matches during the transfer is returned to its caller, but not kept",
        arguments: [
            EntryFilter(key: CacheKey.url(canonical: "https://example.com/dir/a?x=1").text),
            EntryFilter(url: "https://example.com/dir/a?x=1"), EntryFilter(prefix: "https://example.com/dir/"),
            EntryFilter(host: "example.com"), EntryFilter(tag: "early"), EntryFilter(tag: "late"),
            EntryFilter(kind: .download), .all,
        ], [10, 100_000])
    func beingReceived(_ filter: EntryFilter, length: Int) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url, tags: ["early"])
            reservation.addTags(["late"])
            let text = longText(length)
            try reservation.receive(Array(text.utf8.prefix(length / 2)))
            #expect(!reservation.isPurged)
            #expect(try await cache.remove(matching: filter) == 0)
            #expect(reservation.isPurged)
            try reservation.receive(Array(text.utf8.dropFirst(length / 2)))
            guard case .notKept(let entry, let body?) = try await reservation.publish(EntryMetadata(ttl: .seconds(9)))
            else {
                Issue.record("the download was kept")
                return
            }
            #expect(entry.url == url)
            #expect(entry.tags == ["early", "late"])
            #expect(try StoredEntry(entry: entry, body: body).text() == text)
            #expect(reservation.isPurged)
            #expect(try await cache.text(url: url) == nil)
            #expect(cache.totals.entries == 0)
            #expect(try cache.findings() == [])
        }
    }

    @Test(
        "A purge by the sent or the canonical form of a URL matches a response to the URL that is being received",
        arguments: [
            EntryFilter(url: "https://example.com/m%C3%BC/b"), EntryFilter(prefix: "https://example.com/m%C3%BC"),
            EntryFilter(url: "https://example.com/x/../m%c3%bc/b"), EntryFilter(host: "example.com"),
        ])
    func otherSpelling(_ filter: EntryFilter) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let sent = ResponseURL("https://example.com/x/../m%c3%bc/b")
            let reservation = cache.reserve(responseTo: sent)
            try await cache.remove(matching: EntryFilter(url: "https://example.com/m%C3%BC/c"))
            #expect(!reservation.isPurged)
            try await cache.remove(matching: filter)
            #expect(reservation.isPurged)
            reservation.abandon()

            let other = cache.reserve(responseTo: sent)
            other.decide(.response(to: sent, variant: ""))
            try other.receive(Array("1".utf8))
            guard case .stored = try await other.publish(EntryMetadata(ttl: .seconds(9))) else {
                Issue.record("the body was not kept")
                return
            }
            for order in [EntrySort.Order.key, .url, .hits] {
                #expect(try cache.list(filter, sort: EntrySort(order)).entries.count == 1)
            }
            #expect(try await cache.remove(matching: filter) == 1)
        }
    }

    @Test("The host of a filter also matches a URL with a dot behind its host, stored or being received")
    func dottedHost() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for url in ["http://example.com/a", "http://example.com./a", "http://www.example.com/a"] {
                try await cache.store("x", url: url)
            }
            let url = "http://example.com./b"
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
            #expect(try await cache.remove(matching: EntryFilter(host: "example.com")) == 2)
            #expect(reservation.isPurged)
            #expect(cache.totals.entries == 1)
        }
    }

    @Test(
        "A download that a purge does not match is kept",
        arguments: [
            EntryFilter(key: "other"), EntryFilter(url: "https://example.com/dir/a"), EntryFilter(prefix: "http:"),
            EntryFilter(host: "www.example.com"), EntryFilter(tag: "x"), EntryFilter(kind: .json),
            EntryFilter(state: .stale), EntryFilter(tag: "early", kind: .data),
        ])
    func notMeant(_ filter: EntryFilter) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url, tags: ["early"])
            try reservation.receive(Array("1".utf8))
            try await cache.remove(matching: filter)
            guard case .stored = try await reservation.publish(EntryMetadata(ttl: .seconds(9))) else {
                Issue.record("the body was not kept")
                return
            }
            #expect(try await cache.text(url: url) == "1")
        }
    }

    @Test(
        "A caller's data is stored, although a purge matches the data's key during the upload",
        arguments: [
            EntryFilter(key: "k"), EntryFilter(prefix: "k"), EntryFilter(tag: "early"), EntryFilter(tag: "late"),
            EntryFilter(kind: .data), .all,
        ])
    func duringUpload(_ filter: EntryFilter) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("old", key: "k", tags: ["early", "late"])
            let reservation = cache.reserve(try .data("k"), kind: .data, tags: ["early"])
            try reservation.receive(Array("new".utf8))
            #expect(try await cache.remove(matching: filter) == 1)
            #expect(!reservation.isPurged)
            var metadata = EntryMetadata(ttl: .seconds(9))
            metadata.tags = ["early", "late"]
            guard case .stored = try await reservation.publish(metadata) else {
                Issue.record("the body was not kept")
                return
            }
            #expect(try await cache.text(key: "k") == "new")
            #expect(try await cache.remove(matching: filter) == 1)
        }
    }

    @Test("An entry is kept when its store begins after a purge")
    func afterPurge() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.remove(matching: .all)
            try await cache.store("1", url: url)
            #expect(try await cache.text(url: url) == "1")
        }
    }

    @Test("When an entry is purged during its refresh, the caller gets the answer, but the entry does not come back")
    func refreshPurged() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store("1", url: url)
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
            #expect(try await cache.remove(entry.key))
            let outcome = try await reservation.publishUnchanged(entry, EntryMetadata(ttl: .seconds(50)))
            guard case .notKept(let refreshed, body: nil) = outcome else {
                Issue.record("the download was kept")
                return
            }
            #expect(refreshed.ttl == .seconds(50))
            #expect(reservation.isPurged)
            #expect(try cache.entry(url: url) == nil)
        }
    }

    @Test("A refresh keeps the body and updates the metadata; it fails when the body was replaced")
    func refresh() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store("1", url: url, ttl: .seconds(10), tags: ["a"]) { $0.etag = "\"1\"" }
            cache.recordHit(entry)
            fixture.clock.advance(by: .seconds(20))
            var refresh = EntryMetadata(ttl: .seconds(50))
            refresh.etag = "\"2\""
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url, tags: ["b"])
            let refreshed = try await reservation.publishUnchanged(entry, refresh).entry
            #expect(refreshed.expiryDate == fixture.clock.now() + .seconds(50))
            #expect(refreshed.etag == "\"2\"")
            #expect(refreshed.tags == ["a", "b"])
            #expect(refreshed.version == entry.version)
            #expect(refreshed.hits == 1)
            #expect(try await cache.text(url: url) == "1")

            let late = cache.reserve(.url(canonical: url), kind: .download, url: url)
            try await cache.store("2", url: url)
            await #expect(throws: DiskCacheError.versionChanged) {
                try await late.publishUnchanged(entry, EntryMetadata(ttl: .seconds(1)))
            }
            #expect(try await cache.text(url: url) == "2")
        }
    }

    @Test(
        "A filter matches entries that meet all its conditions, both in a removal and in a count",
        arguments: Layout.allCases)
    func filters(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout)
        try await fixture.withCache { cache async throws in
            for host in ["a.com", "b.com"] {
                for path in ["x", "x/y", "xy%25", "z_"] {
                    try await cache.store(path, url: "http://\(host)/\(path)", tags: [path, "all"])
                }
            }
            try await cache.store("[1]", url: "http://a.com/j", kind: .json, ttl: .zero)
            try await cache.store("d", key: "http:data", tags: ["all"])
            func count(_ filter: EntryFilter) throws -> Int { try cache.count(matching: filter) }
            #expect(try count(.all) == 10)
            #expect(try count(EntryFilter(prefix: "http://a.com/x")) == 3)
            #expect(try count(EntryFilter(prefix: "http://a.com/xy%")) == 1)
            #expect(try count(EntryFilter(prefix: "http://a.com/z_")) == 1)
            #expect(try count(EntryFilter(prefix: "http:")) == 10)
            #expect(try count(EntryFilter(prefix: "http:", kind: .data)) == 1)
            #expect(try count(EntryFilter(host: "a.com")) == 5)
            #expect(try count(EntryFilter(host: "a.com", tag: "all")) == 4)
            #expect(try count(EntryFilter(state: .stale)) == 1)
            #expect(try count(EntryFilter(state: .fresh)) == 9)
            #expect(try count(EntryFilter(kind: .json)) == 1)
            #expect(try await cache.remove(matching: EntryFilter(host: "b.com", tag: "x")) == 1)
            #expect(try await cache.remove(matching: EntryFilter(tag: "all")) == 8)
            #expect(try count(.all) == 1)
            #expect(try await cache.remove(matching: .all) == 1)
            #expect(
                cache.totals
                    == CacheTotals(entries: 0, bodyBytes: 0, diskBytes: 0, entriesByKind: cache.totals.entriesByKind))
            #expect(try cache.findings() == [])
            #expect(files(below: fixture.namespace).filter { $0.hasPrefix("Q") } == [])
        }
    }

    @Test("A purge of thousands of entries takes several steps, and leaves entries that are stored between the steps")
    func steps() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await fill(cache, 2500)
            let gate = Gate("purge")
            try await cache.holdWriter(until: gate)
            let removed = Recorder<Int>()
            let done = Gate("purged")
            cache.remove(matching: [.all]) { result in
                removed.append((try? result.get()) ?? -1)
                done.open()
            }
            gate.open()
            // The flush returns after the purge has begun. So the purge leaves the next entry.
            try await cache.flush()
            try await cache.store("late", key: "late")
            try await done.wait()
            #expect(removed.elements == [2500])
            #expect(try cache.keys() == ["late"])
        }
    }

    @Test("The successor of a prefix comes right after all texts with that prefix")
    func prefixSuccessor() {
        #expect(EntryQuery.successor(ofPrefix: "ab") == "ac")
        #expect(EntryQuery.successor(ofPrefix: "a\u{D7FF}") == "a\u{E000}")
        #expect(EntryQuery.successor(ofPrefix: "a\u{10FFFF}") == "b")
        #expect(EntryQuery.successor(ofPrefix: "\u{10FFFF}") == nil)
    }

    @Test("The sweep removes expired entries without a validator, a stale allowance or a pin")
    func sweep() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("1", key: "gone", ttl: .seconds(10))
            try await cache.store("1", key: "etag", ttl: .seconds(10)) { $0.etag = "\"1\"" }
            try await cache.store("1", key: "modified", ttl: .seconds(10)) { $0.lastModified = "x" }
            try await cache.store("1", key: "allowance", ttl: .seconds(10)) { $0.staleAllowance = .seconds(1) }
            try await cache.store("1", key: "pinned", ttl: .seconds(10)) { $0.pinned = true }
            try await cache.store("1", key: "fresh", ttl: .seconds(11))
            let slid = try await cache.store("1", key: "slid", ttl: .seconds(10))
            fixture.clock.advance(by: .seconds(9))
            _ = cache.slide(slid)
            fixture.clock.advance(by: .seconds(1))
            let swept = Recorder<Int>()
            let done = Gate("swept")
            cache.sweepExpired { result in
                swept.append((try? result.get()) ?? -1)
                done.open()
            }
            try await done.wait()
            #expect(swept.elements == [1])
            #expect(try cache.keys() == ["allowance", "etag", "fresh", "modified", "pinned", "slid"])
        }
    }
}
