import Crypto
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Bodies of the next generation")
struct GenerationStageTests {
    @Test("An entry that was removed while the next generation arrived does not come back")
    func removedMeanwhile() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            let (stage, members) = try await cache.stage("a", HeldBodies.of("2"))
            let keys = HeldBodies.urls.map { CacheKey.url(canonical: $0).text }
            try await cache.remove(keys[0])
            try await cache.store("[1]", url: HeldBodies.urls[1], kind: .json)
            fixture.clock.advance(by: .seconds(1))
            try await cache.store("newer", url: HeldBodies.urls[2]) { $0.downloadStartDate = fixture.clock.now() }
            let result = try await outcome { stage.publish(members, completion: $0) }
            #expect(result.lost == [keys[0]: .removed, keys[1]: .occupied] && result.held == 4)
            #expect(try cache.entry(url: HeldBodies.urls[0]) == nil)
            #expect(try await cache.text(url: HeldBodies.urls[1]) == "[1]")
            #expect(try cache.entry(url: HeldBodies.urls[1])?.held == false)
            #expect(try await cache.text(url: HeldBodies.urls[2]) == "newer")
            #expect(try await cache.text(url: HeldBodies.urls[3]) == HeldBodies.body(3, "2"))
            await #expect(throws: DiskCacheError.reservationEnded) {
                try await outcome { stage.publish(members, completion: $0) }
            }
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }

    @Test("A confirmed member gets the new metadata and keeps its body")
    func confirmed() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", [HeldBodies.urls[0]: .some(HeldBodies.large)])
            let entry = try #require(try cache.entry(url: HeldBodies.urls[0]))
            fixture.clock.advance(by: .seconds(200))
            var refresh = EntryMetadata(ttl: .seconds(50))
            refresh.etag = "\"new\""
            let stage: GenerationStage = try await outcome { cache.beginGeneration(of: "a", completion: $0) }
            var member = stage.member(.url(canonical: HeldBodies.urls[0]), url: HeldBodies.urls[0])
            (member.body, member.replacing) = (.kept(refresh), entry.version)
            _ = try await outcome { stage.publish([member, member], completion: $0) }
            let new = try #require(try cache.entry(url: HeldBodies.urls[0]))
            #expect(new.version == entry.version && new.etag == "\"new\"")
            #expect(new.expiryDate == fixture.clock.now() + .seconds(50))
            #expect(try await cache.text(url: HeldBodies.urls[0]) == HeldBodies.large)
        }
    }

    @Test("A body that a page uses as well stays with the page", arguments: [20, 60_000])
    func sharedBody(_ length: Int) async throws {
        let fixture = try CacheFixture()
        let body = longText(length, "shared")
        try await fixture.withCache { cache async throws in
            try await cache.capture("https://p.example/", [body])
            try await cache.hold("a", [HeldBodies.urls[0]: .some(body)])
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.resourceText(body) == body)
            #expect(try await cache.text(url: HeldBodies.urls[0]) == body)
            #expect(try cache.findings() == [])
            try await cache.remove(CacheKey.page(canonical: "https://p.example/").text)
            try await cache.awaitNoDroppedCaptures()
            #expect(try await cache.text(url: HeldBodies.urls[0]) == body)
            #expect(try cache.findings() == [])
        }
    }

    @Test("Members with one body each get it", arguments: [0, 20, 60_000])
    func equalBodies(_ length: Int) async throws {
        let fixture = try CacheFixture()
        let body = longText(length, "same")
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            let bodies = Dictionary(uniqueKeysWithValues: HeldBodies.urls.map { ($0, String??.some(body)) })
            #expect(try await cache.hold("a", bodies) == GenerationSwitch(generation: 2, held: 6, lost: [:]))
            for url in HeldBodies.urls { #expect(try await cache.text(url: url) == body) }
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }

    @Test("A damaged new body leaves the old copy in the generation")
    func damaged() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            let (stage, members) = try await cache.stage("a", HeldBodies.of("2"))
            let path = try cache.writer.perform { context in
                let digest = Array(SHA256.hash(data: Array(HeldBodies.body(1, "2").utf8)))
                return try context.index.row(forKey: CacheKey.resource(digest: digest).text)?.path
            }
            FileSystem.unlink(fixture.namespace + "/" + (try #require(path)))
            let result = try await outcome { stage.publish(members, completion: $0) }
            let key = CacheKey.url(canonical: HeldBodies.urls[1]).text
            #expect(result == GenerationSwitch(generation: 2, held: 6, lost: [:], outdated: [key: .damaged]))
            #expect(try await cache.text(url: HeldBodies.urls[1]) == HeldBodies.body(1, "1"))
            #expect(try cache.entry(url: HeldBodies.urls[1])?.held == true)
            #expect(try await cache.text(url: HeldBodies.urls[2]) == HeldBodies.body(2, "2"))
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }

    @Test("A stage that goes on after a switch keeps the bodies of later members")
    func severalSwitches() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let (stage, members) = try await cache.stage("a", HeldBodies.of("1"))
            let some = Array(members.prefix(2))
            #expect(try await outcome { stage.publish(some, ends: false, completion: $0) }.held == 2)
            try await cache.awaitNoDroppedCaptures()
            let rest = members.dropFirst(2).map { $0 }
            let kept = some.map { stage.member($0.key, url: $0.url) }
            #expect(try await outcome { stage.publish(kept + rest, completion: $0) }.held == 6)
            for (number, url) in HeldBodies.urls.enumerated() {
                #expect(try await cache.text(url: url) == HeldBodies.body(number, "1"))
            }
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }

    @Test(
        "A body that a switch within the stage gave to one member is there for the other ones",
        arguments: [0, 20, 60_000])
    func equalBodiesInTwoSwitches(_ length: Int) async throws {
        let fixture = try CacheFixture()
        let body = longText(length, "same")
        let (old, new, late) = (HeldBodies.urls[0], HeldBodies.urls[1], HeldBodies.urls[2])
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", [old: .some("old"), late: .some("old, too")])
            let (stage, members) = try await cache.stage("a", [old: .some(body), new: .some(body)])
            let joining = members.filter { $0.url == new } + [stage.member(.url(canonical: old), url: old)]
            let within = try await stage.publish(
                joining + [stage.member(.url(canonical: late), url: late)], ends: false)
            #expect(within.held == 3 && within.lost.isEmpty)
            try await cache.awaitNoDroppedCaptures()
            // This answer arrives after the switch.
            let rest = try await cache.members(of: stage, [late: .some(body)])
            let last = members.filter { $0.url == old } + [stage.member(.url(canonical: new), url: new)] + rest
            #expect(try await stage.publish(last) == GenerationSwitch(generation: 3, held: 3, lost: [:]))
            for url in [old, new, late] { #expect(try await cache.text(url: url) == body) }
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }
}
