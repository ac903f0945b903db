import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Responses: several entries for one URL")
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

    @Test("a URL has one entry a variant, found together, and none of another URL's")
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

    @Test("of more than 256 variants those go that were stored or confirmed longest ago, but for the pinned")
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
            var refresh = EntryRefresh(ttl: .seconds(9))
            refresh.downloadEndDate = fixture.clock.now()
            _ = try await confirmation.publishUnchanged(entries[1], refresh)
            // What is there already is no new variant.
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

            // All of them pinned: nothing goes, and nothing more is kept. Other URLs do not mind.
            try await cache.onIndex { try? $0.execute(sql: "UPDATE entries SET pinned = 1") }
            let reservation = cache.reserve(responseTo: ResponseURL(url))
            reservation.decide(.response(to: ResponseURL(url), variant: "newest"))
            try reservation.receive(Array("newest".utf8))
            guard case .notKept(_, body: .some) = try await reservation.publish(EntryMetadata(ttl: .seconds(9))) else {
                Issue.record("it was kept")
                return
            }
            #expect(!reservation.isPurged)
            #expect(cache.totals.entries == 257)
            _ = try await store("again", variant: "1", in: cache)
            _ = try await store("other", variant: "1", to: url + "b", in: cache)
            #expect(cache.totals.entries == 258)
        }
    }

    @Test("the MD5 of a URL removes what was downloaded and every variant, and nothing else")
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

    @Test("a purge of any variant means a response of which the variant is not known yet")
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

    @Test("a purge by a tag that only the held response has means the one that is to replace it")
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
        "a body can be read along while it comes, in memory and as a file, and after it was abandoned",
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

    @Test("who reads along sees what was published, whatever becomes of the entry")
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
