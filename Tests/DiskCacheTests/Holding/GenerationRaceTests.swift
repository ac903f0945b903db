import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Changes by callers while the next generation arrives")
struct GenerationRaceTests {
    private static let url = HeldBodies.urls[0]
    private static let key = CacheKey.url(canonical: url).text

    @Test(
        "A member that was purged during its first fetch does not appear",
        arguments: [
            EntryFilter(key: key), EntryFilter(url: url), EntryFilter(md5: key), EntryFilter(url: url, kind: .download),
        ])
    func purgedFirstFetch(_ filter: EntryFilter) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let (stage, members) = try await cache.stage("a", HeldBodies.of("1"))
            #expect(try await cache.remove(matching: filter) == 0)
            let result = try await stage.publish(members)
            #expect(result == GenerationSwitch(generation: 1, held: 5, lost: [Self.key: .removed]))
            #expect(try cache.entry(url: Self.url) == nil)
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }

    @Test("A removal by key during the first fetch of a member wins, and a purge by a filter does not")
    func removedFirstFetch() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let (stage, members) = try await cache.stage("a", HeldBodies.of("1"))
            #expect(try await !cache.remove(Self.key))
            for filter in [EntryFilter.all, EntryFilter(host: "h.example"), EntryFilter(kind: .download)] {
                _ = try await cache.remove(matching: filter)
            }
            #expect(try await stage.publish(members).lost == [Self.key: .removed])
            #expect(try cache.generation(of: "a")?.count == 5)
        }
    }

    @Test("A member that is fetched again after a purge appears")
    func fetchedAgain() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            var (stage, members) = try await cache.stage("a", [Self.url: .some("old")])
            try await cache.remove(Self.key)
            members = try await cache.members(of: stage, [Self.url: .some("new")])
            #expect(try await stage.publish(members) == GenerationSwitch(generation: 1, held: 1, lost: [:]))
            #expect(try await cache.text(url: Self.url) == "new")
        }
    }

    @Test("An entry that a caller stored after a purge is held in place of the purged member")
    func storedAfterPurge() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let (stage, members) = try await cache.stage("a", [Self.url: .some("old")])
            try await cache.remove(Self.key)
            try await cache.store("new", url: Self.url)
            #expect(try await stage.publish(members) == GenerationSwitch(generation: 1, held: 1, lost: [:]))
            #expect(try await cache.text(url: Self.url) == "new")
            #expect(try cache.entry(url: Self.url)?.held == true)
        }
    }

    @Test("An entry that was evicted after its confirmation is a loss of its own kind, and not a removal")
    func evicted() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for url in HeldBodies.urls.prefix(3) { try await cache.store("old", url: url) }
            var (stage, members) = try await cache.stage(
                "a", [HeldBodies.urls[0]: .some(nil), HeldBodies.urls[1]: .some(nil), HeldBodies.urls[2]: .some("new")])
            for url in HeldBodies.urls.prefix(3) { try cache.evict(url: url) }
            let keys = HeldBodies.urls.map { CacheKey.url(canonical: $0).text }
            try await cache.remove(keys[1])
            let index = try #require(members.firstIndex { $0.key.text == keys[0] })
            members[index].body = .kept(EntryMetadata(ttl: .seconds(5)))
            let result = try await stage.publish(members)
            #expect(result.lost.mapValues(\.rawValue) == [keys[0]: "evicted", keys[1]: "removed"])
            // The eviction of the old body does not concern the new one.
            #expect(result.held == 1)
            #expect(try await cache.text(url: HeldBodies.urls[2]) == "new")
        }
    }

    @Test("A caller's change of the metadata during a stage survives the switch", arguments: [false, true])
    func patched(_ isConfirmed: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", [Self.url: .some("1")])
            var (stage, members) = try await cache.stage("a", [Self.url: isConfirmed ? .some(nil) : .some("2")])
            if isConfirmed { members[0].body = .kept(EntryMetadata(ttl: .seconds(100))) }
            members[0].edit { ($0.etag, $0.tags) = ("\"new\"", ["feed"]) }
            fixture.clock.advance(by: .seconds(1))
            _ = try await cache.update(Self.key, ttl: .seconds(7), tags: ["mine"], pinned: true)
            let expiryDate = fixture.clock.now() + .seconds(7)
            fixture.clock.advance(by: .seconds(1))
            #expect(try await stage.publish(members).lost == [:])
            let entry = try #require(try cache.entry(url: Self.url))
            #expect(entry.ttl == .seconds(7) && entry.expiryDate == expiryDate)
            #expect(entry.pinned && entry.tags == ["feed", "mine"] && entry.etag == "\"new\"")
            #expect(try await cache.text(url: Self.url) == (isConfirmed ? "1" : "2"))
            // The change concerns only the fetch that had begun before it.
            (stage, members) = try await cache.stage("a", [Self.url: .some("3")])
            #expect(try await stage.publish(members).lost == [:])
            #expect(try cache.entry(url: Self.url)?.ttl == .seconds(100))
        }
    }

    @Test("Of two bodies of one key in two stages, the one with the later download stays", arguments: [false, true])
    func twoHolders(_ newestFirst: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let older = try await cache.stage("a", [Self.url: .some("older")])
            fixture.clock.advance(by: .seconds(1))
            let newer = try await cache.stage("b", [Self.url: .some("newer")])
            for (stage, members) in newestFirst ? [newer, older] : [older, newer] {
                #expect(try await stage.publish(members).lost == [:])
            }
            #expect(try await cache.text(url: Self.url) == "newer")
            #expect(try cache.holders(ofKeys: [Self.key]).values.first == ["a", "b"])
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }

    @Test("A stage that was running when its holder was released does not hold entries", arguments: [false, true])
    func released(_ isFirst: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            if !isFirst { try await cache.hold("a", HeldBodies.of("1")) }
            let (stage, members) = try await cache.stage("a", HeldBodies.of("2"))
            let other = try await cache.stage("b", [Self.url: .some("b")])
            #expect(try await cache.release("a", removing: true) == (isFirst ? 0 : 6))
            await #expect(throws: DiskCacheError.reservationEnded) { _ = try await stage.publish(members) }
            #expect(try cache.holders() == [])
            #expect(try await other.0.publish(other.1).held == 1)
            // A later subscription of the same name is another one.
            #expect(try await cache.hold("a", HeldBodies.of("3")).generation == 1)
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }

    @Test("A kill between the stage and the switch leaves the old generation, and no body of the new one")
    func killedBeforeSwitch() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in try await cache.hold("a", HeldBodies.of("1")) }
        let isArmed = Counter()
        let cache = try fixture.open(crashHook: { point in
            if isArmed.value > 0, point == .beforeCommit { throw SimulatedCrash() }
        })
        let (stage, _) = try await cache.stage("a", HeldBodies.of("2"))
        isArmed.add()
        _ = try? await cache.store("killed", key: "k")
        stage.abandon()
        cache.close()
        try await fixture.withCache { cache async throws in
            #expect(try cache.generation(of: "a") == HeldGeneration(number: 1, count: 6))
            for (number, url) in HeldBodies.urls.enumerated() {
                #expect(try await cache.text(url: url) == HeldBodies.body(number, "1"))
            }
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }
}
