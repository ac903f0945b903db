import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Generations of held entries")
struct GenerationTests {
    @Test("A generation replaces all members, and shares bodies that did not change", arguments: Layout.allCases)
    func replacement(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout)
        try await fixture.withCache { cache async throws in
            let first = try await cache.hold("news", HeldBodies.of("1"))
            #expect(first == GenerationSwitch(generation: 1, held: 6, lost: [:]))
            let kept = try #require(try cache.entry(url: HeldBodies.urls[0]))
            #expect(kept.held && kept.isExempt && !kept.pinned && kept.kind == .download)
            var next = HeldBodies.of("2")
            next[HeldBodies.urls[0]] = .some(nil)
            #expect(try await cache.hold("news", next).generation == 2)
            #expect(try cache.entry(url: HeldBodies.urls[0])?.version == kept.version)
            for (number, url) in HeldBodies.urls.enumerated() {
                #expect(
                    try await cache.text(url: url)
                        == (number == 0 ? HeldBodies.body(0, "1") : HeldBodies.body(number, "2")))
            }
            #expect(try cache.generation(of: "news") == HeldGeneration(number: 2, count: 6))
            #expect(try cache.generation(of: "other") == nil)
            #expect(try cache.holders() == ["news"])
            #expect(try cache.holders(ofKeys: [kept.key]).values.first == ["news"])
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.findings() == [])
        }
        try await fixture.withCache { cache async throws in
            #expect(try cache.entry(url: HeldBodies.urls[3])?.held == true)
            #expect(try await cache.text(url: HeldBodies.urls[3]) == HeldBodies.body(3, "2"))
            #expect(try cache.generation(of: "news") == HeldGeneration(number: 2, count: 6))
            #expect(try cache.findings() == [])
        }
    }

    @Test("A reader that has seen the new generation never sees the old one again")
    func oneInstant() async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 20_000 }
        try await fixture.withCache { cache async throws in
            try await cache.hold("news", HeldBodies.of("1"))
            let isOver = Locked(false)
            let passes = Locked([0, 0])
            let reads = Task.detached {
                await onThreads(2) { reader in
                    var newest = 1
                    while !isOver.withLock(\.self) {
                        // One reader reads forwards, the other one backwards.
                        for url in reader == 0 ? HeldBodies.urls : HeldBodies.urls.reversed() {
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
            for generation in 2...60 { try await cache.hold("news", HeldBodies.of("\(generation)")) }
            isOver.withLock { $0 = true }
            await reads.value
            #expect(passes.withLock { $0.allSatisfy { $0 > 20 } })
            // The tier takes values again.
            let key = CacheKey.url(canonical: HeldBodies.urls[0]).text
            _ = try cache.load(key)
            #expect(cache.parts.memory.peek(key) != nil)
        }
    }

    @Test("No eviction, expiry or purge by a filter removes a held entry; a purge by key or URL does")
    func protection() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 2 << 20 }
        try await fixture.withCache { cache async throws in
            try await cache.hold("news", HeldBodies.of("1"))
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
            for (number, url) in HeldBodies.urls.enumerated() {
                #expect(try await cache.text(url: url) == HeldBodies.body(number, "1"))
            }
            let keys = HeldBodies.urls.map { CacheKey.url(canonical: $0).text }
            #expect(try await cache.remove(keys[0]))
            #expect(try await cache.remove(matching: EntryFilter(key: keys[1])) == 1)
            #expect(try await cache.remove(matching: EntryFilter(url: HeldBodies.urls[2])) == 1)
            #expect(try await cache.remove(matching: EntryFilter(md5: keys[3])) == 1)
            #expect(try cache.generation(of: "news")?.count == 2)
            #expect(try cache.findings() == [])
        }
    }

    @Test("A new body of a held entry, and a change of its metadata, leave it held")
    func changes() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("news", [HeldBodies.urls[0]: .some(HeldBodies.large)])
            try await cache.store("new", url: HeldBodies.urls[0])
            let key = CacheKey.url(canonical: HeldBodies.urls[0]).text
            _ = try await cache.update(key, pinned: true)
            _ = try await cache.update(key, pinned: false)
            #expect(try cache.entry(url: HeldBodies.urls[0])?.held == true)
            #expect(cache.takenDiskBytes.pinned == cache.totals.diskBytes)
            #expect(try cache.findings() == [])
        }
    }

    @Test("An entry stays held until its last holder releases it")
    func holders() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            try await cache.hold("b", [HeldBodies.urls[0]: .some(nil), HeldBodies.urls[1]: .some("other")])
            let keys = HeldBodies.urls.prefix(3).map { CacheKey.url(canonical: $0).text }
            #expect(try cache.holders(ofKeys: keys + keys)[keys[0]] == ["a", "b"])
            #expect(try cache.holders(ofKeys: Array(keys.dropFirst())) == [keys[1]: ["a", "b"], keys[2]: ["a"]])
            #expect(try cache.holders(ofKeys: ["absent"]) == [:] && cache.holders(ofKeys: []) == [:])
            // A former member stays as an ordinary entry.
            try await cache.hold("a", [HeldBodies.urls[0]: .some(nil), HeldBodies.urls[2]: .some(nil)])
            #expect(try cache.entry(url: HeldBodies.urls[5])?.held == false)
            #expect(try cache.entry(url: HeldBodies.urls[1])?.held == true)
            #expect(try await cache.release("a", removing: true) == 2)
            #expect(try cache.entry(url: HeldBodies.urls[2]) == nil)
            #expect(try cache.entry(url: HeldBodies.urls[0])?.held == true)
            #expect(try await cache.release("b", removing: false) == 2)
            #expect(try cache.entry(url: HeldBodies.urls[0])?.held == false)
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
                Dictionary(uniqueKeysWithValues: HeldBodies.urls.map { ($0, .some(longText(100_000, text + $0))) })
            }
            try await cache.hold("a", bodies("1"))
            await #expect(throws: DiskCacheError.noSpace) { try await cache.hold("a", bodies("2")) }
            for url in HeldBodies.urls { #expect(try await cache.text(url: url) == longText(100_000, "1" + url)) }
            try await cache.awaitNoDroppedCaptures()
            #expect(try cache.generation(of: "a") == HeldGeneration(number: 1, count: 6))
            #expect(try cache.findings() == [])
        }
    }

    @Test("An entry that a caller has pinned outlives its holder")
    func pinnedMember() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            try await cache.hold("a", HeldBodies.of("1"))
            _ = try await cache.update(CacheKey.url(canonical: HeldBodies.urls[0]).text, pinned: true)
            _ = try await cache.release("a", removing: true)
            #expect(try cache.keys().count == 1)
            #expect(try cache.entry(url: HeldBodies.urls[0])?.pinned == true)
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
                    try await cache.hold("news", HeldBodies.of("1"))
                }
                let count = Counter()
                let isArmed = Counter()
                let cache = try fixture.open(crashHook: { current in
                    if isArmed.value > 0, current == point, count.add() == occurrence { throw SimulatedCrash() }
                })
                let (stage, members) = try await cache.stage("news", HeldBodies.of("2"))
                _ = isArmed.add()
                let isNew = (try? await outcome { stage.publish(members, completion: $0) }) != nil
                try? await cache.awaitNoDroppedCaptures()
                cache.close()
                let hasCrashed = count.value >= occurrence
                if hasCrashed { reached += 1 }
                try await fixture.withCache { cache async throws in
                    let comment: Comment = "\(point) \(occurrence)"
                    var generations: Set<String> = []
                    for (number, url) in HeldBodies.urls.enumerated() {
                        let text = try await cache.text(url: url)
                        for generation in ["1", "2"] where text == HeldBodies.body(number, generation) {
                            generations.insert(generation)
                        }
                        #expect(try cache.entry(url: url)?.held == true, comment)
                        #expect(text == HeldBodies.body(number, "1") || text == HeldBodies.body(number, "2"), comment)
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
            try await cache.hold("a", HeldBodies.of("1"))
            #expect(try cache.findings() == [])
        }
    }
}
