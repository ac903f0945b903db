import Crypto
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Generations of held entries")
struct GenerationTests {
    private static let urls = (0..<6).map { "https://h.example/\($0)" }
    private static let small = "small"
    private static let large = longText(50_000, "large")

    @Test("A generation replaces all members, and shares bodies that did not change", arguments: Layout.allCases)
    func replacement(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout)
        try await fixture.withCache { cache async throws in
            let first = try await cache.hold("news", Self.bodies("1"))
            #expect(first == GenerationSwitch(generation: 1, held: 6, lost: [:]))
            let kept = try #require(try cache.entry(url: Self.urls[0]))
            #expect(kept.held && kept.isExempt && !kept.pinned && kept.kind == .download)
            var next = Self.bodies("2")
            next[Self.urls[0]] = .some(nil)
            #expect(try await cache.hold("news", next).generation == 2)
            #expect(try cache.entry(url: Self.urls[0])?.version == kept.version)
            for (number, url) in Self.urls.enumerated() {
                #expect(try await cache.text(url: url) == (number == 0 ? Self.body(0, "1") : Self.body(number, "2")))
            }
            #expect(try cache.generation(of: "news") == HeldGeneration(number: 2, count: 6))
            #expect(try cache.generation(of: "other") == nil)
            #expect(try cache.holders() == ["news"])
            #expect(try cache.holders(ofKey: kept.key) == ["news"])
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
        try await fixture.withCache { cache async throws in
            #expect(try cache.entry(url: Self.urls[3])?.held == true)
            #expect(try await cache.text(url: Self.urls[3]) == Self.body(3, "2"))
            #expect(try cache.generation(of: "news") == HeldGeneration(number: 2, count: 6))
            #expect(try cache.findings() == [])
        }
    }

    @Test("A reader that has seen the new generation never sees the old one again")
    func oneInstant() async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 20_000 }
        try await fixture.withCache { cache async throws in
            try await cache.hold("news", Self.bodies("1"))
            let isOver = Locked(false)
            let passes = Locked([0, 0])
            let reads = Task.detached {
                await onThreads(2) { reader in
                    var newest = 1
                    while !isOver.withLock(\.self) {
                        // One reader reads forwards, the other one backwards.
                        for url in reader == 0 ? Self.urls : Self.urls.reversed() {
                            let found = try? cache.load(CacheKey.url(canonical: url).text)
                            guard case .hit(let stored)? = found, let text = try? stored.text() else { continue }
                            let generation = Int(text.prefix { $0 != " " }) ?? 0
                            #expect(generation >= newest)
                            newest = generation
                        }
                        passes.withLock { $0[reader] += 1 }
                    }
                }
            }
            for generation in 2...60 { try await cache.hold("news", Self.bodies("\(generation)")) }
            isOver.withLock { $0 = true }
            await reads.value
            #expect(passes.withLock { $0.allSatisfy { $0 > 20 } })
            // The tier takes values again.
            let key = CacheKey.url(canonical: Self.urls[0]).text
            _ = try cache.load(key)
            #expect(cache.parts.memory.peek(key) != nil)
        }
    }

    @Test("No eviction, expiry or purge by a filter removes a held entry; a purge by key or URL does")
    func protection() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 2 << 20 }
        try await fixture.withCache { cache async throws in
            try await cache.hold("news", Self.bodies("1"))
            fixture.clock.advance(by: .seconds(1_000_000))
            #expect(try await cache.sweep() == 0)
            for number in 0..<80 { try await cache.store(longText(40_000, "\(number)"), key: "k\(number)") }
            for filter in [
                EntryFilter.all, EntryFilter(state: .stale), EntryFilter(host: "h.example"),
                EntryFilter(kind: .download),
                EntryFilter(prefix: "https://h"), EntryFilter(tag: "t"),
            ] {
                _ = try await cache.remove(matching: filter)
            }
            #expect(try cache.keys().count == 6)
            for (number, url) in Self.urls.enumerated() {
                #expect(try await cache.text(url: url) == Self.body(number, "1"))
            }
            let keys = Self.urls.map { CacheKey.url(canonical: $0).text }
            #expect(try await cache.remove(keys[0]))
            #expect(try await cache.remove(matching: EntryFilter(key: keys[1])) == 1)
            #expect(try await cache.remove(matching: EntryFilter(url: Self.urls[2])) == 1)
            #expect(try await cache.remove(matching: EntryFilter(md5: keys[3])) == 1)
            #expect(try cache.generation(of: "news")?.count == 2)
            #expect(try cache.findings() == [])
        }
    }

    @Test("A new body of a held entry, and a change of its metadata, leave it held")
    func changes() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("news", [Self.urls[0]: .some(Self.large)])
            try await cache.store("new", url: Self.urls[0])
            let key = CacheKey.url(canonical: Self.urls[0]).text
            _ = try await cache.update(key, pinned: true)
            _ = try await cache.update(key, pinned: false)
            #expect(try cache.entry(url: Self.urls[0])?.held == true)
            #expect(cache.takenDiskBytes.pinned == cache.totals.diskBytes)
            #expect(try cache.findings() == [])
        }
    }

    @Test("An entry stays held until its last holder releases it")
    func holders() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", Self.bodies("1"))
            try await cache.hold("b", [Self.urls[0]: .some(nil), Self.urls[1]: .some("other")])
            #expect(try cache.holders(ofKey: CacheKey.url(canonical: Self.urls[0]).text) == ["a", "b"])
            // A former member stays as an ordinary entry.
            try await cache.hold("a", [Self.urls[0]: .some(nil), Self.urls[2]: .some(nil)])
            #expect(try cache.entry(url: Self.urls[5])?.held == false)
            #expect(try cache.entry(url: Self.urls[1])?.held == true)
            #expect(try await cache.release("a", removing: true) == 2)
            #expect(try cache.entry(url: Self.urls[2]) == nil)
            #expect(try cache.entry(url: Self.urls[0])?.held == true)
            #expect(try await cache.release("b", removing: false) == 2)
            #expect(try cache.entry(url: Self.urls[0])?.held == false)
            #expect(try cache.holders() == [])
            #expect(try await cache.release("b", removing: false) == 0)
            #expect(cache.takenDiskBytes.pinned == 0)
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
    }

    @Test("Hundreds of entries are released in steps")
    func steps() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            let urls = (0..<350).map { "https://h.example/\($0)" }
            try await cache.hold("a", Dictionary(uniqueKeysWithValues: urls.map { ($0, .some($0)) }))
            #expect(try await cache.release("a", removing: true) == 350)
            #expect(cache.totals.entries == 0)
            #expect(try cache.findings() == [])
        }
    }

    @Test("Without room for both generations the old one stays whole")
    func noRoom() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 1 << 20 }
        try await fixture.withCache { cache async throws in
            func bodies(_ text: String) -> [String: String??] {
                Dictionary(uniqueKeysWithValues: Self.urls.map { ($0, .some(longText(100_000, text + $0))) })
            }
            try await cache.hold("a", bodies("1"))
            await #expect(throws: DiskCacheError.noSpace) { try await cache.hold("a", bodies("2")) }
            for url in Self.urls { #expect(try await cache.text(url: url) == longText(100_000, "1" + url)) }
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.generation(of: "a") == HeldGeneration(number: 1, count: 6))
            #expect(try cache.findings() == [])
        }
    }

    @Test("An entry that was removed while the next generation arrived does not come back")
    func removedMeanwhile() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", Self.bodies("1"))
            let (stage, members) = try await cache.stage("a", Self.bodies("2"))
            let keys = Self.urls.map { CacheKey.url(canonical: $0).text }
            try await cache.remove(keys[0])
            try await cache.store("[1]", url: Self.urls[1], kind: .json)
            fixture.clock.advance(by: .seconds(1))
            try await cache.store("newer", url: Self.urls[2]) { $0.downloadStartDate = fixture.clock.now() }
            let result = try await outcome { stage.publish(members, completion: $0) }
            #expect(result.lost == [keys[0]: .removed, keys[1]: .occupied] && result.held == 4)
            #expect(try cache.entry(url: Self.urls[0]) == nil)
            #expect(try await cache.text(url: Self.urls[1]) == "[1]")
            #expect(try cache.entry(url: Self.urls[1])?.held == false)
            #expect(try await cache.text(url: Self.urls[2]) == "newer")
            #expect(try await cache.text(url: Self.urls[3]) == Self.body(3, "2"))
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
            try await cache.hold("a", [Self.urls[0]: .some(Self.large)])
            let entry = try #require(try cache.entry(url: Self.urls[0]))
            fixture.clock.advance(by: .seconds(200))
            var refresh = EntryMetadata(ttl: .seconds(50))
            refresh.etag = "\"new\""
            let stage: GenerationStage = try await outcome { cache.beginGeneration(of: "a", completion: $0) }
            let member = GenerationMember(
                .url(canonical: Self.urls[0]), url: Self.urls[0], .kept(refresh), replacing: entry.version)
            _ = try await outcome { stage.publish([member, member], completion: $0) }
            let new = try #require(try cache.entry(url: Self.urls[0]))
            #expect(new.version == entry.version && new.etag == "\"new\"")
            #expect(new.expiryDate == fixture.clock.now() + .seconds(50))
            #expect(try await cache.text(url: Self.urls[0]) == Self.large)
        }
    }

    @Test("A body that a page uses as well stays with the page", arguments: [20, 60_000])
    func sharedBody(_ length: Int) async throws {
        let fixture = try CacheFixture()
        let body = longText(length, "shared")
        try await fixture.withCache { cache async throws in
            try await cache.capture("https://p.example/", [body])
            try await cache.hold("a", [Self.urls[0]: .some(body)])
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.resourceText(body) == body)
            #expect(try await cache.text(url: Self.urls[0]) == body)
            #expect(try cache.findings() == [])
            try await cache.remove(CacheKey.page(canonical: "https://p.example/").text)
            try await cache.awaitNoDroppedCaptures()
            #expect(try await cache.text(url: Self.urls[0]) == body)
            #expect(try cache.findings() == [])
        }
    }

    @Test("A kill at any instant of a switch leaves the old generation or the new one whole")
    func killed() async throws {
        var reached = 0
        for point in CrashPoint.allCases {
            for occurrence in 1...8 {
                let fixture = try CacheFixture { $0.inlineLimit = 1000 }
                try await fixture.withCache { cache async throws in
                    try await cache.hold("news", Self.bodies("1"))
                }
                let count = Counter()
                let isArmed = Counter()
                let cache = try fixture.open(crashHook: { current in
                    if isArmed.value > 0, current == point, count.add() == occurrence { throw SimulatedCrash() }
                })
                let (stage, members) = try await cache.stage("news", Self.bodies("2"))
                _ = isArmed.add()
                let isNew = (try? await outcome { stage.publish(members, completion: $0) }) != nil
                try? await cache.awaitNoDroppedCaptures()
                cache.close()
                let hasCrashed = count.value >= occurrence
                if hasCrashed { reached += 1 }
                try await fixture.withCache { cache async throws in
                    let comment: Comment = "\(point) \(occurrence)"
                    var generations: Set<String> = []
                    for (number, url) in Self.urls.enumerated() {
                        let text = try await cache.text(url: url)
                        for generation in ["1", "2"] where text == Self.body(number, generation) {
                            generations.insert(generation)
                        }
                        #expect(try cache.entry(url: url)?.held == true, comment)
                        #expect(text == Self.body(number, "1") || text == Self.body(number, "2"), comment)
                    }
                    #expect(generations.count == 1, comment)
                    if isNew { #expect(generations == ["2"], comment) }
                    let stated = try cache.generation(of: "news")
                    #expect(generations == ["\(stated?.number ?? 0)"] && stated?.count == 6, comment)
                    try await cache.awaitNoDroppedCaptures()
                    #expect(try cache.findings() == [], comment)
                }
                if !hasCrashed { break }
            }
        }
        #expect(reached >= 10)
    }

    @Test("An index of the format before holders gets their tables, and keeps its entries")
    func olderFormat() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.store("kept", key: "k")
            try cache.writer.perform { context in
                try context.index.db.execute(sql: "DROP TABLE holders; DROP TABLE holds; PRAGMA user_version = 7")
            }
        }
        try await fixture.withCache { cache async throws in
            #expect(try await cache.text(key: "k") == "kept")
            try await cache.hold("a", Self.bodies("1"))
            #expect(try cache.findings() == [])
        }
    }

    /// Small and large bodies.
    private static func bodies(_ generation: String) -> [String: String??] {
        Dictionary(uniqueKeysWithValues: urls.enumerated().map { ($1, .some(body($0, generation))) })
    }

    private static func body(_ number: Int, _ generation: String) -> String {
        "\(generation) \(number) " + (number % 2 == 0 ? small : large)
    }
}

extension DiskCache {
    /// Stages bodies by their URLs; `nil` keeps the entry of a URL.
    func stage(_ holder: String, _ bodies: [String: String??]) async throws -> (GenerationStage, [GenerationMember]) {
        let stage: GenerationStage = try await outcome { beginGeneration(of: holder, completion: $0) }
        var members: [GenerationMember] = []
        for (url, body) in bodies {
            let version = try entry(url: url)?.version
            var change = GenerationMember.Body.kept(nil)
            if let body, let body {
                let reservation = stage.reserveBody()
                try reservation.receive(Array(body.utf8))
                let digest = try await reservation.publish(EntryMetadata(ttl: .zero)).entry.digest
                var metadata = EntryMetadata(ttl: .seconds(100))
                metadata.downloadStartDate = parts.clock.now()
                change = .staged(digest: digest, metadata)
            }
            members.append(GenerationMember(.url(canonical: url), url: url, change, replacing: version))
        }
        return (stage, members)
    }

    @discardableResult
    func hold(_ holder: String, _ bodies: [String: String??]) async throws -> GenerationSwitch {
        let (stage, members) = try await stage(holder, bodies)
        return try await outcome { stage.publish(members, completion: $0) }
    }

    func release(_ holder: String, removing: Bool) async throws -> Int {
        try await outcome { release(holder, removing: removing, completion: $0) }
    }
}
