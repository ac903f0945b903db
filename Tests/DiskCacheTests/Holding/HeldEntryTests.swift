import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Held entries")
struct HeldEntryTests {
    private static let url = HeldBodies.urls[0]
    private static let key = CacheKey.url(canonical: url).text

    @Test("A purge by a filter that matches only held entries counts none, and needs no condition")
    func filters() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            let filters = [
                EntryFilter.all, EntryFilter(host: "h.example"), EntryFilter(state: .fresh),
                EntryFilter(prefix: "https://h"), EntryFilter(kind: .download),
            ]
            for filter in filters {
                #expect(try cache.count(matching: filter) == 0)
                let removed: Int = try await outcome {
                    cache.remove(matching: [filter], condition: (Self.key, { _ in false }), completion: $0)
                }
                #expect(removed == 0)
            }
            try await cache.store("ordinary", url: "https://h.example/ordinary")
            for filter in filters { #expect(try cache.count(matching: filter) == 1) }
            for filter in [EntryFilter(key: Self.key), EntryFilter(url: Self.url), EntryFilter(md5: Self.key)] {
                #expect(try cache.count(matching: filter) == 1)
                await #expect(throws: DiskCacheError.conditionFailed) {
                    let _: Int = try await outcome {
                        cache.remove(matching: [filter], condition: (Self.key, { _ in false }), completion: $0)
                    }
                }
            }
            #expect(try await cache.remove(matching: .all) == 1)
            #expect(try cache.keys().count == 6)
        }
    }

    @Test("A cache that goes can remove the held entries, too")
    func goingCache() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            try await cache.store("ordinary", key: "k")
            let removed: Int = try await outcome {
                cache.remove(matching: [.all], removesHeld: true, completion: $0)
            }
            #expect(removed == 7 && cache.totals.entries == 0)
            #expect(try cache.generation(of: "a") == HeldGeneration(number: 1, count: 0))
            #expect(try cache.findings() == [])
        }
    }

    @Test("A purge of a held entry's tag or state does not discard the new body of that entry")
    func refreshedDuringPurge() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            var (stage, members) = try await cache.stage("a", [Self.url: .some("1")])
            members[0].edit { ($0.tags, $0.ttl) = (["t"], .zero) }
            _ = try await stage.publish(members)
            let reservation = cache.reserve(.url(canonical: Self.url), kind: .download, url: Self.url)
            try reservation.receive(Array("2".utf8))
            #expect(try await cache.remove(matching: [EntryFilter(tag: "t"), EntryFilter(state: .stale)]) == 0)
            #expect(!reservation.isPurged)
            _ = try await reservation.publish(EntryMetadata(ttl: .seconds(5)))
            #expect(try await cache.text(url: Self.url) == "2")
        }
    }

    @Test("A member with too many tags keeps its old copy, and the other members switch", arguments: [false, true])
    func tooManyTags(_ isConfirmed: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            var bodies = HeldBodies.of("2")
            if isConfirmed { bodies[Self.url] = .some(nil) }
            bodies["https://h.example/new"] = .some("new")
            var (stage, members) = try await cache.stage("a", bodies)
            let tags = (0...Entry.tagLimit).map { "t\($0)" }
            let newKey = CacheKey.url(canonical: "https://h.example/new").text
            for index in members.indices where [Self.key, newKey].contains(members[index].key.text) {
                if case .kept = members[index].body { members[index].body = .kept(EntryMetadata(ttl: .zero)) }
                members[index].edit { $0.tags = tags }
            }
            let result = try await stage.publish(members)
            #expect(result.lost == [newKey: .invalid] && result.outdated == [Self.key: .invalid] && result.held == 6)
            #expect(try await cache.text(url: Self.url) == HeldBodies.body(0, "1"))
            #expect(try cache.entry(url: Self.url)?.held == true)
            #expect(try await cache.text(url: HeldBodies.urls[1]) == HeldBodies.body(1, "2"))
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }

    @Test("A member drops its oldest tags beyond the limit, as other entries do")
    func manyTags() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("1", url: Self.url, tags: (0..<Entry.tagLimit).map { "old\($0)" })
            var (stage, members) = try await cache.stage("a", [Self.url: .some("2")])
            members[0].edit { $0.tags = ["new"] }
            #expect(try await stage.publish(members).lost == [:])
            let tags = try #require(try cache.entry(url: Self.url)?.tags)
            #expect(tags.count == Entry.tagLimit && tags.contains("new"))
        }
    }

    @Test("A switch that needs no more room than the old generation succeeds in a cache over its limit")
    func noGrowth() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 4 << 20 }
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            let staged = try await cache.stage("a", HeldBodies.of("2"))
            let kept = try await cache.stage("b", [Self.url: .some(nil)])
            let more = try await cache.stage("c", ["https://h.example/new": .some(longText(60_000, "new"))])
            cache.setDiskLimit(100_000)
            #expect(try await staged.0.publish(staged.1) == GenerationSwitch(generation: 2, held: 6, lost: [:]))
            #expect(try await kept.0.publish(kept.1).held == 1)
            await #expect(throws: DiskCacheError.noSpace) { _ = try await more.0.publish(more.1) }
            #expect(try await cache.hold("a", [Self.url: .some(nil)]).held == 1)
            more.0.abandon()
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }

    @Test("An entry says how many holders it has")
    func holders() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            try await cache.hold("b", [Self.url: .some(nil)])
            _ = try await cache.update(Self.key, pinned: true)
            for holders in [2, 1, 0] {
                for isInMemory in [false, true] {
                    if !isInMemory { cache.emptyMemory() }
                    let stored = try #require(try cache.loaded(Self.key))
                    #expect(stored.entry.holders == holders && stored.entry.held == (holders > 0))
                    #expect(stored.entry.pinned)
                }
                try await cache.store("\(holders)", url: Self.url)
                #expect(try cache.entry(url: Self.url)?.holders == holders)
                #expect(try cache.findings() == [])
                _ = try await cache.release(holders == 2 ? "b" : "a", removing: true)
            }
        }
    }

    @Test("A held entry is found stale, in memory and on disk, and never straight from its slot")
    func stale() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            for url in HeldBodies.urls { _ = try cache.load(CacheKey.url(canonical: url).text) }
            fixture.clock.advance(by: .seconds(1_000_000))
            for isInMemory in [true, false] {
                if !isInMemory { cache.emptyMemory() }
                for (number, url) in HeldBodies.urls.enumerated() {
                    let key = CacheKey.url(canonical: url).text
                    #expect(cache.passing(key, at: fixture.clock.now(), mayWait: true).found == .some(nil))
                    let stored = try #require(try cache.loaded(key))
                    #expect(stored.entry.held && !stored.entry.isFresh(at: fixture.clock.now()))
                    #expect(try stored.text() == HeldBodies.body(number, "1"))
                    let found: Entry? = try await outcome { cache.findEntry(key, then: $0) }
                    #expect(found?.held == true)
                    #expect(try await cache.stored(key)?.entry.held == true)
                }
            }
            let listed = try cache.list(EntryFilter(state: .stale)).entries
            #expect(listed.count == 6 && listed.allSatisfy(\.held))
            _ = try await cache.release("a", removing: false)
            // The copy in memory does not outlive the hold.
            let stored = try #require(try cache.loaded(Self.key))
            #expect(!stored.entry.held)
        }
    }

    @Test("A JSON body of a member in a charset that extends ASCII is JSON if it is ASCII", arguments: [false, true])
    func charset(_ isASCII: Bool) async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 100 }
        try await fixture.withCache { cache async throws in
            for length in [10, 3_000_000] {
                let body = "[\"" + longText(length) + (isASCII ? "" : "ä") + "\"]"
                var (stage, members) = try await cache.stage("a", [Self.url: .some(body)])
                members[0].edit { $0.contentType = "application/json; charset=ISO-8859-1" }
                _ = try await stage.publish(members)
                #expect(try cache.entry(url: Self.url)?.isJSON == isASCII)
            }
        }
    }

    @Test("After the loss of the index no holder is left, and the members are reported as not there")
    func lostIndex() async throws {
        let fixture = try CacheFixture { $0.setsAsideUnreadableIndex = true }
        try await fixture.withCache { cache async throws in try await cache.hold("a", HeldBodies.of("1")) }
        for suffix in ["", "-wal", "-shm"] { FileSystem.unlink(fixture.namespace + "/index.sqlite" + suffix) }
        try await fixture.withCache { cache async throws in
            #expect(try cache.generation(of: "a") == nil)
            #expect(try cache.holders() == [])
            let kept = Dictionary(uniqueKeysWithValues: HeldBodies.urls.map { ($0, String??.some(nil)) })
            let result = try await cache.hold("a", kept)
            #expect(result.generation == 1 && result.held == 0)
            #expect(Set(result.lost.values.map(\.rawValue)) == ["evicted"] && result.lost.count == 6)
            try await cache.hold("a", HeldBodies.of("2"))
            await withCheckedContinuation { done in cache.maintain { done.resume() } }
            #expect(try cache.findings() == [])
        }
    }
}

extension Lookup where Value == PassingBody? {
    /// Whether a body was found; `nil` if the disk is needed.
    fileprivate var found: Bool?? {
        if case .found(let body) = self { .some(body.map { _ in true }) } else { nil }
    }
}
