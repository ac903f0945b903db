import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Purges by a tag that a store in progress gets only later")
struct LateTagTests {
    private let url = "https://example.com/a"
    private let mine = CacheKey.response(to: ResponseURL("https://example.com/a"), variant: "mine")

    @Test("A response is not kept if its tag was purged after its request began, although the tag came with the answer")
    func lateTag() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let early = cache.reserve(responseTo: ResponseURL(url))
            let other = cache.reserve(responseTo: ResponseURL(url))
            try await cache.remove(matching: EntryFilter(prefix: "https://example.com/", tag: "g", kind: .response))
            let late = cache.reserve(responseTo: ResponseURL(url))
            for (reservation, tag) in [(early, "g"), (other, "h"), (late, "g")] {
                #expect(!reservation.isPurged)
                reservation.decide(mine, tags: [tag])
            }
            #expect(early.isPurged)
            #expect(!other.isPurged)
            #expect(!late.isPurged)
            try early.receive(Array("early".utf8))
            guard case .notKept = try await early.publish(EntryMetadata(ttl: .seconds(9))) else {
                Issue.record("the body was kept")
                return
            }
            #expect(try cache.responses(to: ResponseURL(url)).isEmpty)
        }
    }

    @Test("A purge by a tag does not affect a response that another condition of the same filter excludes")
    func elsewhere() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let reservation = cache.reserve(responseTo: ResponseURL(url))
            try await cache.remove(matching: [
                EntryFilter(prefix: "https://example.org/", tag: "g"), EntryFilter(tag: "g", kind: .download),
                EntryFilter(tag: "g", state: .stale),
            ])
            reservation.decide(mine, tags: ["g"])
            #expect(!reservation.isPurged)
        }
    }

    @Test("A purge by a tag matches a store that gets the tag after the purge, from a joining caller or from metadata")
    func otherKinds() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let joined = cache.reserve(.url(canonical: url), kind: .download, url: url, tags: ["a"])
            let stored = cache.reserve(.url(canonical: url + "/k"), kind: .download, url: url + "/k")
            try await cache.remove(matching: [EntryFilter(tag: "g"), EntryFilter(tag: "h")])
            joined.addTags(["a", "b"])
            #expect(!joined.isPurged)
            joined.addTags(["h"])
            #expect(joined.isPurged)
            try stored.receive(Array("1".utf8))
            var metadata = EntryMetadata(ttl: .seconds(9))
            metadata.tags = ["g"]
            guard case .notKept = try await stored.publish(metadata) else {
                Issue.record("the body was kept")
                return
            }
            #expect(try await cache.text(url: url + "/k") == nil)
        }
    }

    @Test("After purges of over 256 tags, any tag that a store in progress gets later counts as purged")
    func tooMany() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let reservations = (0..<4).map { _ in cache.reserve(responseTo: ResponseURL(url), tags: ["early"]) }
            func purge(_ numbers: Range<Int>) async throws {
                try await cache.remove(matching: numbers.map { EntryFilter(tag: "t\($0)") })
            }
            try await purge(0..<200)
            // A second purge by the same tags does not count again towards the limit of 256 tags.
            try await purge(0..<PendingStore.latePurgeLimit)
            reservations[0].decide(mine, tags: ["late", "early"])
            try await purge(PendingStore.latePurgeLimit..<PendingStore.latePurgeLimit + 1)
            reservations[1].decide(mine, tags: ["early"])
            reservations[2].decide(mine, tags: ["late", "early"])
            reservations[3].decide(mine)
            #expect(reservations.map(\.isPurged) == [false, false, true, false])
        }
    }

    @Test("A tag that a response gets after its variant is known matches both earlier and later purges")
    func decided() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let reservations = (0..<3).map { _ in cache.reserve(responseTo: ResponseURL(url)) }
            for reservation in reservations { reservation.decide(mine, tags: ["g"]) }
            reservations[1].addTags(["g"])
            reservations[2].addTags(["h"])
            #expect(reservations.map(\.isPurged) == [false, false, false])
            try await cache.remove(matching: EntryFilter(tag: "h"))
            #expect(reservations.map(\.isPurged) == [false, false, true])
            reservations[0].addTags(["h"])
            #expect(reservations[0].isPurged)
            try await cache.remove(matching: EntryFilter(tag: "g"))
            #expect(reservations[1].isPurged)
        }
    }

    @Test("A store in progress that a purge spares is also spared when it gets the purged tag later")
    func spared() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let mine = cache.reserve(responseTo: ResponseURL(url))
            let other = cache.reserve(responseTo: ResponseURL(url))
            try await cache.remove(matching: [EntryFilter(tag: "g")], sparing: mine)
            for reservation in [mine, other] { reservation.decide(self.mine, tags: ["g"]) }
            #expect(!mine.isPurged)
            #expect(other.isPurged)
        }
    }
}
