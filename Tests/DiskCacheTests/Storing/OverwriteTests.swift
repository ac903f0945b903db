import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Changes that callers make to an entry while it is being downloaded")
struct OverwriteTests {
    private let url = "http://h/a"

    /// Begins a download, makes a change, and ends the download with the body `old`.
    private func download(
        _ cache: DiskCache, tags: [String] = [], meanwhile change: () async throws -> Void,
        _ metadata: EntryMetadata = EntryMetadata(ttl: .seconds(600))
    ) async throws -> PublishOutcome {
        let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url, tags: tags)
        try reservation.receive(Array("old".utf8))
        try await change()
        return try await reservation.publish(metadata)
    }

    @Test(
        "A download does not overwrite JSON that a caller stores during the download, with or without an older entry",
        arguments: [false, true])
    func storedDuringDownload(hasEntry: Bool) async throws {
        try await CacheFixture().withCache { cache async throws in
            if hasEntry { try await cache.store(#""older""#, url: url, kind: .json) }
            let outcome = try await download(cache) { try await cache.store(#""new""#, url: url, kind: .json) }
            guard case .notKept = outcome else {
                Issue.record("the download was kept")
                return
            }
            #expect(try await cache.text(url: url) == #""new""#)
        }
    }

    @Test("JSON that a caller stores during a revalidation is not overwritten by the answer")
    func storedDuringRevalidation() async throws {
        try await CacheFixture().withCache { cache async throws in
            let held = try await cache.store("old", url: url)
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
            try await cache.store(#""new""#, url: url, kind: .json)
            let outcome = try await reservation.publishUnchanged(held, EntryMetadata(ttl: .seconds(600)))
            guard case .notKept = outcome else {
                Issue.record("the revalidation was kept")
                return
            }
            #expect(try await cache.text(url: url) == #""new""#)
        }
    }

    @Test("A download is kept when a caller stores JSON for another URL, or when JSON for the same URL is refused")
    func otherKey() async throws {
        try await CacheFixture().withCache { cache async throws in
            let outcome = try await download(cache) {
                try await cache.store(#""new""#, url: "http://h/b", kind: .json)
                await #expect(throws: DiskCacheError.emptyJSON) {
                    try await cache.store("null", url: url, kind: .json)
                }
            }
            #expect(try await cache.text(url: url) == "old")
            guard case .stored = outcome else {
                Issue.record("the download was not kept")
                return
            }
        }
    }

    @Test(
        "When a download ends, the entry keeps the ttl, the tags and the pin that a caller set during the download",
        arguments: [false, true])
    func changedDuringDownload(isRevalidation: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let held = try await cache.store("old", url: url, tags: ["a", "b"])
            let change = {
                _ = try await cache.update(held.key, ttl: .seconds(5), tags: ["c"], pinned: true)
                fixture.clock.advance(by: .seconds(1))
            }
            if isRevalidation {
                let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url, tags: ["a"])
                try await change()
                reservation.addTags(["late"])
                _ = try await reservation.publishUnchanged(held, EntryMetadata(ttl: .seconds(600)))
            } else {
                _ = try await download(cache, tags: ["a"], meanwhile: change)
            }
            let entry = try #require(try cache.entry(url: url))
            #expect(entry.ttl == .seconds(5) && entry.expiryDate == fixture.clock.now() + .seconds(4))
            #expect(entry.tags == (isRevalidation ? ["c", "late"] : ["c"]))
            #expect(entry.pinned)
        }
    }

    @Test(
        "When a download ends, the entry keeps the tags that a caller set and a later hit added during the download",
        arguments: [false, true])
    func tagsAddedAfterChange(isRevalidation: Bool) async throws {
        try await CacheFixture().withCache { cache async throws in
            let held = try await cache.store("old", url: url, tags: ["a"])
            let change = {
                _ = try await cache.update(held.key, tags: ["c"])
                _ = try await cache.update(held.key, addingTags: ["x"])
            }
            if isRevalidation {
                let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url, tags: ["a"])
                try await change()
                _ = try await reservation.publishUnchanged(held, EntryMetadata(ttl: .seconds(600)))
            } else {
                _ = try await download(cache, tags: ["a"], meanwhile: change)
            }
            #expect(try cache.entry(url: url)?.tags == ["c", "x"])
        }
    }

    @Test(
        "A joining caller's tag and pin overrule earlier changes of the entry; a later caller cannot undo the pin",
        arguments: [[true], [true, false], [false]])
    func statedAfterChange(pins: [Bool]) async throws {
        try await CacheFixture().withCache { cache async throws in
            let held = try await cache.store("old", url: url)
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url, tags: ["a", "b"])
            _ = try await cache.update(held.key, tags: ["c"], pinned: !pins[0])
            for pin in pins { reservation.addTags(["a"], pinned: pin) }
            try reservation.receive(Array("new".utf8))
            var metadata = EntryMetadata(ttl: .seconds(600))
            metadata.pinned = pins[0]
            let entry = try await reservation.publish(metadata).entry
            #expect(entry.tags == ["a", "c"] && entry.pinned == pins[0])
        }
    }

    @Test(
        "A variant keeps a ttl, tags and fields that a caller sets during its fetch, and no other variant gets them",
        arguments: [false, true])
    func changedDuringFetch(isConfirmation: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let url = ResponseURL(url)
            func publish(_ variant: String, _ meanwhile: () async throws -> Void) async throws -> Entry {
                let key = CacheKey.response(to: url, variant: variant)
                let held = try cache.entry(for: key.text)
                let reservation = cache.reserve(responseTo: url, tags: ["a"])
                try await meanwhile()
                reservation.addTags(["late"])
                reservation.decide(key, tags: ["group"])
                var metadata = EntryMetadata(ttl: .seconds(60))
                metadata.fields = "fields"
                metadata.droppedTags = { _ in ["c", "group"] }
                if isConfirmation, let held { return try await reservation.publishUnchanged(held, metadata).entry }
                try reservation.receive(Array("new".utf8))
                return try await reservation.publish(metadata).entry
            }
            for variant in ["1", "2"] { _ = try await publish(variant) {} }
            let change = {
                let key = CacheKey.response(to: url, variant: "1").text
                let fields: @Sendable (String) -> String = { $0 + ", changed" }
                await withCheckedContinuation { done in
                    cache.update(key, ttl: .seconds(3600), tags: ["c"], fields: fields) { _ in done.resume() }
                }
                fixture.clock.advance(by: .seconds(1))
            }
            let changed = try await publish("1", change)
            #expect(changed.ttl == .seconds(3600) && changed.expiryDate == fixture.clock.now() + .seconds(3599))
            #expect(changed.tags == ["c", "group", "late"] && changed.fields == "fields, changed")
            let other = try await publish("2", change)
            #expect(other.ttl == .seconds(60) && other.tags == ["a", "group", "late"] && other.fields == "fields")
        }
    }

    @Test("When a download ends, the entry keeps a change that was committed during the download, but no failed change")
    func failedChange() async throws {
        struct Failure: Error {}
        let fails = Counter()
        let fixture = try CacheFixture()
        let cache = try fixture.open(crashHook: { point in
            if point == .beforeCommit, fails.value == 1 { throw Failure() }
        })
        // Keeps the fixture until the cache is closed, because the end of the fixture removes the directory.
        defer { withExtendedLifetime(fixture) { cache.close() } }
        let held = try await cache.store("old", url: url, tags: ["a"])
        _ = try await download(cache) {
            _ = try await cache.update(held.key, tags: ["b"])
            fails.add()
            await #expect(throws: DiskCacheError.self) {
                try await cache.update(held.key, ttl: .seconds(5), tags: ["c"], pinned: true)
            }
            fails.add()
        }
        let entry = try #require(try cache.entry(url: url))
        #expect(entry.ttl == .seconds(600) && entry.tags == ["b"] && !entry.pinned)
    }

    @Test("A ttl that a caller set before a download began is replaced by the ttl of the download")
    func changedBefore() async throws {
        try await CacheFixture().withCache { cache async throws in
            let held = try await cache.store("older", url: url)
            _ = try await cache.update(held.key, ttl: .seconds(5))
            _ = try await download(cache, meanwhile: {})
            #expect(try cache.entry(url: url)?.ttl == .seconds(600))
        }
    }

    @Test("An entry keeps the longest stale allowance of all its downloads, after a new body and after a 304")
    func allowances() async throws {
        try await CacheFixture().withCache { cache async throws in
            var metadata = EntryMetadata(ttl: .seconds(10))
            metadata.staleAllowance = .seconds(3600)
            _ = try await download(cache, meanwhile: {}, metadata)
            metadata.staleAllowance = .zero
            let second = try await download(cache, meanwhile: {}, metadata).entry
            #expect(second.staleAllowance == .seconds(3600))
            var refresh = EntryMetadata(ttl: .seconds(10))
            refresh.staleAllowance = .seconds(60)
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
            #expect(try await reservation.publishUnchanged(second, refresh).entry.staleAllowance == .seconds(3600))
        }
    }
}
