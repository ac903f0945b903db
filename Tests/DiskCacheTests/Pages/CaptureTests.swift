import Crypto
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Captures of pages")
struct CaptureTests {
    private static let first = "https://a.example/"
    private static let second = "https://b.example/"
    private static let style = longText(100, "style")
    private static let image = longText(50_000, "image")

    @Test("Two pages that share bodies store them once", arguments: Layout.allCases)
    func sharing(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout)
        try await fixture.withCache { cache async throws in
            try await cache.capture(Self.first, [Self.style, Self.image])
            let alone = cache.totals
            try await cache.capture(Self.second, [Self.style, Self.image, "own"])
            #expect(cache.totals.bodyBytes - alone.bodyBytes == Int64(Self.second.utf8.count + 3))
            #expect(cache.totals.entries == 2)
            #expect(cache.totals.entriesByKind == [.page: 2])
            let shared = Int64(Self.style.utf8.count + Self.image.utf8.count)
            #expect(try cache.bytesOfPage(Self.key(Self.first)) == (shared, shared))
            #expect(try cache.bytesOfPage(Self.key(Self.second)) == (shared + 3, shared))
            #expect(try cache.bytesOfPage("absent") == (0, 0))
            #expect(try cache.findings() == [])
        }
        try await fixture.withCache { cache async throws in
            for body in [Self.style, Self.image, "own"] { #expect(try cache.resourceText(body) == body) }
            #expect(try cache.findings() == [])
        }
    }

    @Test("A removed page leaves the bodies that another page uses, and no others")
    func removal() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.capture(Self.first, [Self.style, Self.image, "own"])
            try await cache.capture(Self.second, [Self.style, Self.image])
            #expect(try await cache.remove(Self.key(Self.first)))
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.resourceText("own") == nil)
            #expect(try cache.resourceText(Self.image) == Self.image)
            #expect(try await cache.remove(matching: .all) == 1)
            try await cache.awaitNoDroppedCaptures()
            #expect(cache.totals.bodyBytes == 0)
            #expect(cache.totals.diskBytes == 0)
            #expect(try cache.findings() == [])
        }
    }

    @Test("A page keeps its newest captures, as many as its caller wants", arguments: [1, 2])
    func newest(_ limit: Int) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for text in ["one", "two", "three"] {
                try await cache.capture(Self.first, [text, Self.style], keeping: limit)
            }
            try await cache.awaitNoDroppedCaptures()
            let kept = try ["one", "two", "three"].filter { try cache.resourceText($0) != nil }
            #expect(kept == ["one", "two", "three"].suffix(limit))
            #expect(try cache.resourceText(Self.style) == Self.style)
            #expect(try cache.findings() == [])
        }
    }

    @Test("No listing, count or purge includes a resource")
    func hidden() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("data", key: "own")
            try await cache.capture(Self.first, [Self.style, Self.image])
            let keys = Set([Self.key(Self.first), "own"])
            for order in EntrySort.Order.allCases {
                for filter in [EntryFilter.all, EntryFilter(prefix: ""), EntryFilter(state: .fresh)] {
                    #expect(Set(try cache.keys(filter, sort: EntrySort(order), limit: 1)) == keys, "\(order)")
                    #expect(try cache.count(matching: filter) == 2)
                }
            }
            #expect(try cache.count(matching: EntryFilter(prefix: "")) == 2)
            for filter in [EntryFilter(url: ""), EntryFilter(host: ""), EntryFilter(state: .stale)] {
                #expect(try await cache.remove(matching: filter) == 0)
            }
            #expect(try cache.resourceText(Self.style) == Self.style)
            fixture.clock.advance(by: .seconds(90_000))
            #expect(try await cache.sweep() == 2)
            try await cache.awaitNoDroppedCaptures()
            #expect(cache.totals.diskBytes == 0)
        }
    }

    @Test("A read resource stays hidden in listings")
    func read() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.capture(Self.first, [Self.style, Self.image])
            for body in [Self.style, Self.image] { #expect(try cache.resourceText(body) == body) }
        }
        // A close writes the notes of reads into the index.
        try await fixture.withCache { cache async throws in
            #expect(try cache.keys() == [Self.key(Self.first)])
            #expect(try await cache.remove(matching: .all) == 1)
        }
    }

    @Test("An eviction takes a whole page, and a resource is never evicted by itself")
    func eviction() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 1 << 20 }
        try await fixture.withCache { cache async throws in
            try await cache.capture(Self.first, (0..<8).map { longText(40_000, "a\($0)") })
            try await cache.capture(Self.second, (0..<8).map { longText(40_000, "b\($0)") })
            for number in 0..<40 { try await cache.store(longText(20_000, "\(number)"), key: "k\(number)") }
            #expect(cache.totals.diskBytes <= 1 << 20)
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.entry(for: Self.key(Self.first)) == nil)
            for (url, name) in [(Self.first, "a"), (Self.second, "b")] {
                let held = try (0..<8).filter { try cache.resourceText(longText(40_000, "\(name)\($0)")) != nil }
                #expect(try held.count == (cache.entry(for: Self.key(url)) == nil ? 0 : 8))
            }
            #expect(try cache.findings() == [])
        }
    }

    @Test("The resources of a pinned page count as pinned until no pinned page uses them")
    func pinning() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            func pinned() -> Int64 { cache.takenDiskBytes.pinned }
            try await cache.capture(Self.first, [Self.style, Self.image], pinned: true)
            let all = pinned()
            #expect(all == cache.totals.diskBytes)
            try await cache.capture(Self.second, [Self.image])
            #expect(pinned() == all)
            _ = try await cache.update(Self.key(Self.first), pinned: false)
            #expect(pinned() == 0)
            _ = try await cache.update(Self.key(Self.second), pinned: true)
            #expect(pinned() > Int64(Self.image.utf8.count))
            try await cache.remove(Self.key(Self.second))
            try await cache.awaitNoDroppedCaptures()
            #expect(pinned() == 0)
            #expect(try cache.resourceText(Self.image) == Self.image)
            #expect(try cache.findings() == [])
        }
    }

    @Test("A purge during a capture wins, and an abandoned capture leaves no body")
    func purgedOrAbandoned() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for filter in [EntryFilter(host: "a.example"), EntryFilter(tag: "news"), EntryFilter(kind: .page), .all] {
                let capture = try await cache.beginCapture(of: Self.first, tags: ["news"])
                try await capture.store(Self.image)
                try await cache.remove(matching: filter)
                try capture.reservation.receive(Array("list".utf8))
                guard case .notKept = try await capture.reservation.publish(EntryMetadata(ttl: .seconds(9))) else {
                    Issue.record("a purged capture was kept")
                    return
                }
                capture.abandon()
            }
            let capture = try await cache.beginCapture(of: Self.first)
            try await capture.store(Self.style)
            capture.abandon()
            await #expect(throws: DiskCacheError.reservationEnded) { try await capture.store("late") }
            await #expect(throws: DiskCacheError.reservationEnded) {
                try await capture.reservation.publish(EntryMetadata(ttl: .seconds(9)))
            }
            try await cache.awaitNoDroppedCaptures()
            #expect(
                cache.totals
                    == CacheTotals(
                        entries: 0, bodyBytes: 0, diskBytes: 0, entriesByKind: cache.totals.entriesByKind))
            #expect(try cache.findings() == [])
        }
    }

    @Test("A kill at any instant leaves the old capture or the new one whole, and no other body")
    func killed() async throws {
        var reached = 0
        for point in CrashPoint.allCases {
            for occurrence in 1...8 {
                let fixture = try CacheFixture { $0.inlineLimit = 1000 }
                try await fixture.withCache { cache async throws in
                    try await cache.capture(Self.first, ["old", Self.image, Self.style])
                }
                let count = Counter()
                let cache = try fixture.open(crashHook: { current in
                    if current == point, count.add() == occurrence { throw SimulatedCrash() }
                })
                let new = longText(60_000, "new")
                let isNew = (try? await cache.capture(Self.first, ["new", new, Self.style])) != nil
                try? await cache.awaitNoDroppedCaptures()
                cache.close()
                let hasCrashed = count.value >= occurrence
                if hasCrashed { reached += 1 }
                try await fixture.withCache { cache async throws in
                    let comment: Comment = "\(point) \(occurrence)"
                    let olds = try ["old", Self.image].filter { try cache.resourceText($0) != nil }
                    let news = try ["new", new].filter { try cache.resourceText($0) != nil }
                    #expect(olds.count + news.count == 2 && (olds.isEmpty || news.isEmpty), comment)
                    if isNew { #expect(news.count == 2, comment) }
                    #expect(try cache.resourceText(Self.style) == Self.style, comment)
                    #expect(try cache.findings() == [], comment)
                }
                if !hasCrashed { break }
            }
        }
        #expect(reached >= 10)
    }

    @Test("A resource without its file is stored again, for all captures that use it")
    func missingFile() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.capture(Self.first, [Self.image])
            let row = try #require(
                try cache.writer.perform { context in
                    let digest = Array(SHA256.hash(data: Array(Self.image.utf8)))
                    return try context.index.row(forKey: CacheKey.resource(digest: digest).text)
                })
            FileSystem.unlink(fixture.namespace + "/" + (try #require(row.path)))
            try await cache.capture(Self.second, [Self.image])
            try await cache.remove(Self.key(Self.second))
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.resourceText(Self.image) == Self.image)
            #expect(try cache.findings() == [])
        }
    }

    @Test("A capture of thousands of resources is removed in steps")
    func steps() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.capture(Self.first, (0..<350).map { "body \($0)" })
            try await cache.capture(Self.second, (300..<350).map { "body \($0)" })
            try await cache.remove(Self.key(Self.first))
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.resourceText("body 299") == nil)
            #expect(try cache.resourceText("body 300") == "body 300")
            #expect(try cache.findings() == [])
        }
    }

    @Test("An index of the format before captures gets their tables, and keeps its entries")
    func olderFormat() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("kept", key: "k")
            try cache.writer.perform { context in
                try context.index.db.execute(
                    sql: "DROP TABLE captures; DROP TABLE uses; DROP TABLE holders; DROP TABLE holds")
                try context.index.db.execute(sql: "PRAGMA user_version = 6")
            }
        }
        try await fixture.withCache { cache async throws in
            #expect(try await cache.stored("k")?.text() == "kept")
            try await cache.capture(Self.first, [Self.style])
            #expect(try cache.findings() == [])
        }
    }

    private static func key(_ url: String) -> String { CacheKey.page(canonical: url).text }
}

extension DiskCache {
    func beginCapture(of url: String, tags: [String] = [], pinned: Bool? = nil) async throws -> PageCapture {
        try await outcome { beginCapture(of: url, tags: tags, pinned: pinned, completion: $0) }
    }

    /// Captures a page. Its list of captures is only its URL.
    func capture(_ url: String, _ bodies: [String], keeping limit: Int = 1, pinned: Bool? = nil) async throws {
        let capture = try await beginCapture(of: url, pinned: pinned)
        for body in bodies { try await capture.store(body) }
        try capture.reservation.receive(Array(url.utf8))
        var metadata = EntryMetadata(ttl: .seconds(86_400))
        metadata.pinned = pinned
        let result: PublishOutcome = try await outcome {
            capture.publish(metadata, keepingCaptures: limit, completion: $0)
        }
        guard case .stored = result else { throw DiskCacheError.noSpace }
    }

    func resourceText(_ body: String) throws -> String? {
        guard case .hit(let entry) = try resource(Array(SHA256.hash(data: Array(body.utf8)))) else { return nil }
        return try entry.text()
    }

    /// Waits until the writer has removed the uses of all dropped captures. Running captures and stages stay.
    func awaitNoDroppedCaptures() async throws {
        while try await hasDroppedCaptures {}
    }

    private var hasDroppedCaptures: Bool {
        get async throws {
            try await outcome { [running = parts.runningCaptures] ended in
                writer.submit(
                    { try !$0.index.capturesWithoutPage().allSatisfy(running.contains) }, completion: ended)
            }
        }
    }

    func sweep() async throws -> Int { try await outcome { sweepExpired(completion: $0) } }
}

extension PageCapture {
    func store(_ body: String) async throws {
        let reservation = reserveResource()
        try reservation.receive(Array(body.utf8))
        _ = try await reservation.publish(EntryMetadata(ttl: .zero))
    }
}
