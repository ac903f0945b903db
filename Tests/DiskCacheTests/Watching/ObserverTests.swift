import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The observer of entries")
struct ObserverTests {
    /// Records the reported changes.
    private final class Watcher: EntryObserver {
        private let interested = Locked(true)
        private let recorder = Recorder<[EntryChange]>()

        var isInterested: Bool {
            get { interested.withLock { $0 } }
            set { interested.withLock { $0 = newValue } }
        }

        func entriesChanged(_ changes: [EntryChange]) { recorder.append(changes) }

        /// The reported changes, as `stored a`, `removed 5 more`.
        var words: [String] { recorder.elements.flatMap { $0.map(\.words) } }
        var changes: [EntryChange] { recorder.elements.flatMap(\.self) }
        /// The number of changes in each report.
        var batches: [Int] { recorder.elements.map(\.count) }

        func forget() { recorder.removeAll() }
    }

    private static func with(
        _ configure: (inout CacheConfiguration) -> Void = { _ in },
        _ body: (CacheFixture, DiskCache, Watcher) async throws -> Void
    ) async throws {
        let (fixture, watcher) = (try CacheFixture(.hashed, configure), Watcher())
        let cache = try fixture.open(observer: watcher)
        defer { cache.close() }
        try await body(fixture, cache, watcher)
    }

    @Test("Each store, removal and expiry is reported when it is durable, together with the metadata of its entry")
    func each() async throws {
        try await Self.with { (fixture, cache, watcher) async throws in
            try await cache.store("1", key: "a", tags: ["y", "x"])
            try await cache.store("22", key: "a", ttl: .seconds(5))
            let url = try await cache.store("3", url: "http://h/b", ttl: .seconds(5)) { $0.etag = "\"1\"" }
            #expect(watcher.words == ["stored a", "stored a", "stored \(url.key)"])
            guard case .entry(let first) = watcher.changes[0].subject,
                case .entry(let last) = watcher.changes[2].subject
            else {
                Issue.record("the reports have no entries")
                return
            }
            #expect(first.tags == ["x", "y"] && first.kind == .data && first.url == nil && first.contentLength == 1)
            #expect(last.url == "http://h/b" && last.kind == .download)
            watcher.forget()
            // The body stays the same, so there is no change to report.
            _ = try await cache.update("a", tags: ["z"], pinned: false)
            cache.recordHit(try #require(try cache.entry(for: "a")))
            try await cache.flush()
            #expect(watcher.words == [])
            fixture.clock.advance(by: .seconds(6))
            let swept = try await withCheckedContinuation { continuation in
                cache.sweepExpired { continuation.resume(returning: $0) }
            }.get()
            // The entry of the URL can be revalidated, so the sweep keeps it.
            #expect(swept == 1)
            #expect(watcher.words == ["expired a"])
            #expect(try await cache.remove(url.key))
            #expect(try await cache.remove("none") == false)
            #expect(watcher.words == ["expired a", "removed \(url.key)"])
            try await cache.store("4", key: "c")
            _ = try await cache.update("c", ttl: .zero)
            #expect(watcher.words.suffix(2) == ["stored c", "removed c"])
        }
    }

    @Test("The observer gets no report of a body that is not kept, and none of a change that is undone")
    func undone() async throws {
        try await Self.with { (_, cache, watcher) async throws in
            let url = "http://h/purged"
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
            try reservation.receive([1])
            try await cache.remove(matching: .all)
            _ = try await reservation.publish(EntryMetadata(ttl: .seconds(9)))
            #expect(watcher.words == [])
            try await cache.store("1", key: "kept")
            watcher.forget()
            // Two operations share a transaction, and the first fails after it has removed an entry.
            let gate = Gate("the writer")
            try await cache.holdWriter(until: gate)
            let ended = Counter("jobs")
            cache.writer.submit { (context) -> Void in
                try context.remove(try #require(try context.index.row(forKey: "kept")))
                throw DiskCacheError.conditionFailed
            } completion: { _ in
                ended.add()
            }
            let other = cache.reserve(try .data("other"), kind: .data)
            try other.receive([1])
            other.publish(EntryMetadata(ttl: .seconds(9))) { _ in ended.add() }
            gate.open()
            try await ended.wait(for: 2)
            #expect(watcher.words == ["stored other"])
            #expect(try cache.entry(for: "kept") != nil)
        }
    }

    @Test("The stores of one transaction are reported in one batch, and not at all while the observer has no interest")
    func batches() async throws {
        try await Self.with { (_, cache, watcher) async throws in
            let gate = Gate("the writer")
            try await cache.holdWriter(until: gate)
            let done = Counter("stored")
            for number in 0..<100 {
                let reservation = cache.reserve(try .data(fillKey(number)), kind: .data)
                try reservation.receive([1])
                reservation.publish(EntryMetadata(ttl: .seconds(100))) { _ in done.add() }
            }
            gate.open()
            try await done.wait(for: 100)
            #expect(watcher.batches == [100])
            #expect(watcher.words == (0..<100).map { "stored \(fillKey($0))" })
            watcher.forget()
            watcher.isInterested = false
            try await cache.store("1", key: "x")
            #expect(try await cache.remove("x"))
            #expect(watcher.batches == [])
        }
    }

    @Test("A purge reports its first 100 entries one by one, and the other entries as a number with the filter")
    func purge() async throws {
        try await Self.with { (fixture, cache, watcher) async throws in
            try await fill(cache, 1000)
            try await cache.store("1", key: "other")
            watcher.forget()
            let filter = EntryFilter(prefix: "k")
            #expect(try await cache.remove(matching: filter) == 1000)
            #expect(watcher.changes.count == 101)
            #expect(Set(watcher.words.dropLast()).count == 100)
            guard case .others(900, let told) = try #require(watcher.changes.last).subject else {
                Issue.record("\(watcher.words.last ?? "")")
                return
            }
            #expect(told == filter)
            // A purge by several filters reports no filter.
            try await fill(cache, 150)
            watcher.forget()
            #expect(try await cache.remove(matching: [filter, EntryFilter(key: "other")]) == 151)
            guard case .others(51, nil) = try #require(watcher.changes.last).subject else {
                Issue.record("\(watcher.words.last ?? "")")
                return
            }
            try await fill(cache, 100)
            watcher.forget()
            #expect(try await cache.remove(matching: .all) == 100)
            #expect(watcher.changes.count == 100 && watcher.words.allSatisfy { !$0.hasSuffix("more") })
            try await fill(cache, 300)
            watcher.forget()
            fixture.clock.advance(by: .seconds(101))
            _ = try await withCheckedContinuation { continuation in
                cache.sweepExpired { continuation.resume(returning: $0) }
            }.get()
            #expect(watcher.words.last == "expired 200 more")
            #expect(watcher.words.count == 101)
        }
    }

    @Test("A step of the eviction reports its first 16 entries one by one, and the number of all other entries")
    func eviction() async throws {
        try await Self.with({ $0.diskLimit = 2_000_000 }) { (_, cache, watcher) async throws in
            try await fill(cache, 1000)
            watcher.forget()
            cache.setDiskLimit(300_000)
            try await poll("a disk use within the limit, and a report of each eviction") {
                let told = watcher.changes.reduce(Int64(0)) { sum, change in
                    if case .others(let count, _) = change.subject { return sum + Int64(count) }
                    return sum + 1
                }
                return cache.takenDiskBytes.all <= 300_000 && told == 1000 - cache.totals.entries
            }
            #expect(watcher.changes.allSatisfy { $0.verb == .evicted })
            #expect(watcher.batches.allSatisfy { $0 <= 17 })
            #expect(watcher.words.contains("evicted 48 more"))
        }
    }

    @Test("A damaged body is removed, and the removal is reported")
    func damage() async throws {
        try await Self.with({ $0.inlineLimit = 0 }) { (_, cache, watcher) async throws in
            let entry = try await cache.store("body", key: "a")
            try edit(try #require(entry.localPath)) { $0[0] = UInt8(ascii: "B") }
            #expect(try await cache.text(key: "a") == nil)
            #expect(watcher.words == ["stored a", "removed a"])
        }
    }
}

extension EntryChange {
    fileprivate var words: String {
        switch subject {
        case .entry(let entry): "\(verb) \(entry.key)"
        case .others(let count, _): "\(verb) \(count) more"
        }
    }
}
