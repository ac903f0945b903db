import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The responses to a URL, one for each variant")
struct ResponseTests {
    private let url = "https://example.com/a"
    private let md5 = CacheKey.url(canonical: "https://example.com/a").text

    private func store(
        _ body: String, variant: String, to other: String? = nil, tags: [String] = [], in cache: DiskCache
    ) async throws -> Entry {
        let url = other ?? url
        let reservation = cache.reserve(responseTo: ResponseURL(url), tags: tags)
        reservation.decide(.response(to: ResponseURL(url), variant: variant))
        try reservation.receive(Array(body.utf8))
        return try await reservation.publish(EntryMetadata(ttl: .seconds(9))).entry
    }

    @Test("A URL has one entry for each variant, and a look-up finds no entry of another URL")
    func variants() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let first = try await store("gzip", variant: "accept-encoding:gzip", in: cache)
            let second = try await store("br", variant: "accept-encoding:br", in: cache)
            try await cache.store("downloaded", url: url)
            try await cache.store("other", url: url + "b")
            #expect(first.key.hasPrefix(md5 + ".") && first.key.count == 41)
            #expect(first.key != second.key)
            #expect(Set(try cache.responses(to: ResponseURL(url)).map(\.key)) == [first.key, second.key])
            #expect(try cache.responses(to: ResponseURL(url + "b")).isEmpty)
            #expect(try await cache.stored(second.key)?.text() == "br")
            #expect(try await cache.text(url: url) == "downloaded")
        }
    }

    @Test("Beyond 256 variants, the variant stored or confirmed longest ago is removed, unless it is pinned")
    func variantLimit() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            var entries: [Entry] = []
            for number in 0..<256 {
                fixture.clock.advance(by: .seconds(1))
                entries.append(try await store("\(number)", variant: "\(number)", in: cache))
            }
            try await cache.store("downloaded", url: url)
            _ = try await cache.update(entries[0].key, pinned: true)
            fixture.clock.advance(by: .seconds(1))
            let confirmation = cache.reserve(responseTo: ResponseURL(url))
            confirmation.decide(.response(to: ResponseURL(url), variant: "1"))
            var refresh = EntryMetadata(ttl: .seconds(9))
            refresh.downloadEndDate = fixture.clock.now()
            _ = try await confirmation.publishUnchanged(entries[1], refresh)
            // A variant that is held already is not a new variant.
            _ = try await store("again", variant: "3", in: cache)
            #expect(try cache.responses(to: ResponseURL(url)).count == 256)

            let new = try await store("new", variant: "new", in: cache)
            let held = Set(try cache.responses(to: ResponseURL(url), limit: 300).map(\.key))
            #expect(held == Set((entries + [new]).map(\.key)).subtracting([entries[2].key]))
            #expect(try await cache.stored(entries[2].key) == nil)
            _ = try await store("newer", variant: "newer", in: cache)
            #expect(try await cache.stored(entries[3].key)?.text() == "again")
            #expect(try await cache.stored(entries[4].key) == nil)
            #expect(cache.totals.entries == 257)
            #expect(try cache.findings() == [])

            // When all variants are pinned, none is removed, and no new variant is kept. Other URLs are not affected.
            try await cache.onIndex { try? $0.execute(sql: "UPDATE entries SET pinned = 1") }
            let reservation = cache.reserve(responseTo: ResponseURL(url))
            reservation.decide(.response(to: ResponseURL(url), variant: "newest"))
            try reservation.receive(Array("newest".utf8))
            guard case .notKept(_, body: .some) = try await reservation.publish(EntryMetadata(ttl: .seconds(9))) else {
                Issue.record("the response was kept")
                return
            }
            #expect(!reservation.isPurged)
            #expect(cache.totals.entries == 257)
            _ = try await store("again", variant: "1", in: cache)
            _ = try await store("other", variant: "1", to: url + "b", in: cache)
            #expect(cache.totals.entries == 258)
        }
    }

    @Test("A removal by the MD5 of a URL removes its download and all variants, and no other entry")
    func removal() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            _ = try await store("1", variant: "1", in: cache)
            _ = try await store("2", variant: "2", in: cache)
            try await cache.store("3", url: url)
            try await cache.store("4", url: url + "b")
            #expect(try await cache.remove(matching: EntryFilter(md5: md5)) == 3)
            #expect(try cache.responses(to: ResponseURL(url)).isEmpty)
            #expect(cache.totals.entries == 1)
        }
    }

    @Test("While the variant of a running response is unknown, a purge of any variant of its URL matches the response")
    func openVariant() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let open = cache.reserve(responseTo: ResponseURL(url))
            let decided = cache.reserve(responseTo: ResponseURL(url))
            decided.decide(.response(to: ResponseURL(url), variant: "mine"))
            let other = cache.reserve(responseTo: ResponseURL(url + "b"))
            try await cache.remove(CacheKey.response(to: ResponseURL(url), variant: "yours").text)
            #expect(open.isPurged)
            #expect(!decided.isPurged)
            #expect(!other.isPurged)
            try await cache.remove(CacheKey.response(to: ResponseURL(url), variant: "mine").text)
            #expect(decided.isPurged)
        }
    }

    @Test("A purge by a tag of a stored response matches a running response that is to replace the stored one")
    func refresh() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            _ = try await store("old", variant: "", tags: ["news"], in: cache)
            let reservation = cache.reserve(responseTo: ResponseURL(url))
            #expect(try await cache.remove(matching: EntryFilter(tag: "news")) == 1)
            #expect(reservation.isPurged)
        }
    }

    @Test(
        "A body that is being received can be read in memory, in its file, and after its store was given up",
        arguments: [1_000, 100_000])
    func growing(length: Int) throws {
        let fixture = try CacheFixture()
        let cache = try fixture.open()
        defer { cache.close() }
        let text = Array(longText(length).utf8)
        let reservation = cache.reserve(responseTo: ResponseURL(url))
        let body = reservation.body
        #expect(try body.read(at: 0, upTo: 10).count == 0)
        try reservation.receive(Array(text[..<300]))
        #expect(body.length == 300)
        #expect(try body.read(at: 290, upTo: 100).withUnsafeBytes(Array.init) == Array(text[290..<300]))
        try reservation.receive(Array(text[300...]))
        reservation.abandon()
        #expect(try body.read(at: 250, upTo: length).withUnsafeBytes(Array.init) == Array(text[250...]))
    }

    @Test("A reader of a body that is being received can read the whole body, even after its entry is removed")
    func published() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let text = longText(200_000)
            let reservation = cache.reserve(responseTo: ResponseURL(url))
            let body = reservation.body
            try reservation.receive(Array(text.utf8))
            _ = try await reservation.publish(EntryMetadata(ttl: .seconds(9)))
            try await cache.remove(matching: .all)
            #expect(try body.read(at: 0, upTo: 1_000_000).withUnsafeBytes(Array.init) == Array(text.utf8))
        }
    }
}
