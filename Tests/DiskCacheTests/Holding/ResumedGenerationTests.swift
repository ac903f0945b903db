import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Holders that go on")
struct ResumedGenerationTests {
    private static let keys = HeldBodies.urls.map { CacheKey.url(canonical: $0).text }

    private struct Found: Equatable {
        var number: Int64
        var keys: Set<String>
    }

    private static func resume(_ cache: DiskCache, _ urls: [String] = HeldBodies.urls) async throws -> Found {
        let found = try await generation(cache, urls)
        return Found(number: found.number, keys: Set(found.dates.keys))
    }

    private static func generation(
        _ cache: DiskCache, _ urls: [String] = HeldBodies.urls
    ) async throws -> ResumedGeneration {
        let members = urls.map { (key: CacheKey.url(canonical: $0), url: $0) }
        return try await outcome { cache.resumeGeneration(of: "a", members: members, completion: $0) }
    }

    @Test("A holder that the index has keeps its generation, also if the caller expects other members")
    func known() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let held = HeldBodies.of("1").filter { $0.key != HeldBodies.urls[0] }
            try await cache.hold("a", held)
            try await cache.store("other", url: HeldBodies.urls[0])
            let found = try await Self.resume(cache, [HeldBodies.urls[0], HeldBodies.urls[1]])
            #expect(found == Found(number: 1, keys: Set(Self.keys.dropFirst())))
            #expect(try cache.entry(url: HeldBodies.urls[0])?.held == false)
            #expect(try cache.entry(url: HeldBodies.urls[2])?.held == true)
        }
    }

    @Test("A holder that the index has lost holds the entries that are there; without one it has no generation")
    func lost() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            #expect(try await Self.resume(cache) == Found(number: 0, keys: []))
            #expect(try cache.generation(of: "a") == nil)
            try await cache.store("0", url: HeldBodies.urls[0])
            try await cache.store("[1]", url: HeldBodies.urls[1], kind: .json)
            #expect(try await Self.resume(cache) == Found(number: 1, keys: [Self.keys[0]]))
            #expect(try cache.entry(url: HeldBodies.urls[0])?.held == true)
            #expect(try cache.entry(url: HeldBodies.urls[1])?.held == false)
            try await cache.remove(Self.keys[0])
            #expect(try await Self.resume(cache) == Found(number: 1, keys: []))
            #expect(try cache.findings() == [])
        }
    }

    @Test("A publish that has been submitted is part of the generation, although it has not completed")
    func runningPublish() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            let (stage, members) = try await cache.stage("a", [HeldBodies.urls[0]: .some("2")])
            stage.publish(members) { _ in }
            #expect(try await Self.resume(cache) == Found(number: 2, keys: [Self.keys[0]]))
        }
    }

    @Test("The entries have the dates at which they were downloaded, or created", arguments: [true, false])
    func dates(isKnown: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let start = fixture.clock.now()
            if isKnown {
                try await cache.hold("a", [HeldBodies.urls[0]: .some("0")])
            } else {
                fixture.clock.advance(by: .seconds(5))
                try await cache.store("0", url: HeldBodies.urls[0]) { $0.downloadEndDate = start }
            }
            fixture.clock.advance(by: .seconds(5))
            #expect(try await Self.generation(cache).dates == [Self.keys[0]: start])
        }
    }
}
