import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The tags of replaced and refreshed entries")
struct TagTests {
    private let url = "https://example.com/a"

    @Test("A store or refresh removes the tags in droppedTags of its metadata; purges by these tags no longer match")
    func dropped() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("1", url: url, tags: ["caller", "old", "stays"])
            let second = try await cache.store("2", url: url, tags: ["new"]) {
                $0.droppedTags = { entry in
                    #expect(entry.tags == ["caller", "old", "stays"])
                    return ["old", "never held"]
                }
            }
            #expect(second.tags == ["caller", "new", "stays"])
            // A tag of the new reservation is not dropped.
            var refresh = EntryMetadata(ttl: .seconds(9))
            refresh.droppedTags = { $0.tags.filter { $0 != "caller" } }
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
            reservation.addTags(["newer", "stays"])
            let refreshed = try await reservation.publishUnchanged(second, refresh).entry
            #expect(refreshed.tags == ["caller", "newer", "stays"])
            #expect(try await cache.remove(matching: [EntryFilter(tag: "old"), EntryFilter(tag: "new")]) == 0)
            #expect(try await cache.remove(matching: EntryFilter(tag: "newer")) == 1)
        }
    }

    @Test("New tags beyond the limit push out the tags that the entry has had longest")
    func accumulating() async throws {
        let fixture = try CacheFixture()
        let limit = Entry.tagLimit
        // The order of the numbers differs from the order of the tags' bytes.
        func tag(_ number: Int) -> String { "t\((number * 7919) % 1009)" }
        func tags(_ numbers: Range<Int>) -> Set<String> { Set(numbers.map(tag)) }
        try await fixture.withCache { cache async throws in
            for number in 0..<limit { try await cache.store("\(number)", url: url, tags: [tag(number)]) }
            let full = try await cache.store("x", url: url, tags: [tag(limit), tag(limit + 1)])
            #expect(Set(full.tags) == tags(2..<limit + 2))
            #expect(full.tags == full.tags.sorted())
        }
        try await fixture.withCache { cache async throws in
            let entry = try #require(try cache.entry(url: url))
            // A tag that is stated again counts as the newest tag.
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url, tags: [tag(2)])
            let refreshed = try await reservation.publishUnchanged(entry, EntryMetadata(ttl: .seconds(9))).entry
            #expect(Set(refreshed.tags) == tags(2..<limit + 2))
            let last = try await cache.store("y", url: url, tags: [tag(limit + 2)])
            #expect(Set(last.tags) == tags(2..<limit + 3).subtracting([tag(3)]))
            #expect(try cache.count(matching: EntryFilter(tag: tag(3))) == 0)
            #expect(try cache.count(matching: EntryFilter(tag: tag(2))) == 1)
            #expect(try cache.findings() == [])
        }
    }

    @Test("A request with more tags than an entry may have is refused")
    func tooMany() async throws {
        let fixture = try CacheFixture()
        let tags = (0...Entry.tagLimit).map { "t\($0)" }
        try await fixture.withCache { cache async throws in
            let held = try await cache.store("1", url: url, tags: ["held"])
            let error = DiskCacheError.tooManyTags(limit: Entry.tagLimit)
            await #expect(throws: error) { try await cache.store("2", url: url, tags: tags) }
            await #expect(throws: error) { try await cache.store("2", url: url) { $0.tags = tags } }
            await #expect(throws: error) {
                let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url, tags: tags)
                _ = try await reservation.publishUnchanged(held, EntryMetadata(ttl: .seconds(9)))
            }
            #expect(try await cache.text(url: url) == "1")
        }
    }
}
