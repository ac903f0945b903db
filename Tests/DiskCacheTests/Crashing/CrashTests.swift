import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("A kill at any instant")
struct CrashTests {
    /// The operation during which the process ends. The stores of ``prepare(_:_:)`` are acknowledged before.
    enum Scenario: CaseIterable, Sendable {
        case store, replace, replaceInlineByFile, replaceFileByInline, replaceTwice, remove, removeThenStore
        case replaceInOtherLayout, makeWayForDirectory, fillLeafBelowBody, storeWhereDirectoryIs, purge

        /// The number of transactions until the operation is done.
        var transactions: Int {
            switch self {
            case .replaceTwice, .removeThenStore: 2
            default: 1
            }
        }
    }

    private static let url = "http://h/a"
    private static let below = "http://h/a/b"
    private static let old = longText(5000, "old")
    private static let new = longText(6000, "new")

    @Test(
        "A kill during a change leaves either the whole old body or the whole new body, and no other file",
        arguments: Scenario.allCases, Layout.allCases)
    func killed(_ scenario: Scenario, _ layout: Layout) async throws {
        var reached = 0
        for point in CrashPoint.allCases {
            for occurrence in 1...3 {
                let fixture = try CacheFixture(layout) { $0.inlineLimit = 1000 }
                try await fixture.withCache { cache async throws in try await Self.prepare(scenario, cache) }

                let other: Layout = layout == .hashed ? .readable : .hashed
                let count = Counter()
                let cache = try fixture.open {
                    if scenario == .replaceInOtherLayout { $0.layout = other }
                } crashHook: { current in
                    if current == point, count.add() == occurrence { throw SimulatedCrash() }
                }
                let acknowledged = try await Self.run(scenario, cache)
                cache.close()
                let crashed = count.value >= occurrence
                if crashed { reached += 1 }

                try await fixture.withCache { cache async throws in
                    let comment: Comment = "\(point) \(occurrence), acknowledged: \(acknowledged)"
                    #expect(crashed || acknowledged, comment)
                    #expect(try cache.findings() == [], comment)
                    let isCommitted = point == .afterCommit && occurrence >= scenario.transactions
                    try await Self.check(scenario, cache, isNew: acknowledged || isCommitted, comment)
                    #expect(try cache.findings() == [], comment)
                }
                if !crashed { break }
            }
        }
        #expect(reached >= 2)
    }

    @Test(
        "A kill during the store of a new entry leaves no body, even for a key that begins with an accent",
        arguments: [CrashPoint.bodyPlaced, .beforeCommit])
    func accentFirst(_ point: CrashPoint) async throws {
        let fixture = try CacheFixture(.readable)
        try await fixture.withCache { cache async throws in try await cache.store(Self.old, key: "bystander") }
        let cache = try fixture.open(crashHook: { current in
            if current == point { throw SimulatedCrash() }
        })
        await #expect(throws: (any Error).self) { try await cache.store(Self.new, key: "\u{301}x") }
        cache.close()
        try await fixture.withCache { cache async throws in #expect(try cache.findings() == []) }
    }

    /// Stores the entries that are acknowledged before the kill.
    private static func prepare(_ scenario: Scenario, _ cache: DiskCache) async throws {
        switch scenario {
        case .store: break
        case .replaceInlineByFile: try await cache.store("inline", url: url)
        case .storeWhereDirectoryIs: try await cache.store(old, url: below)
        case .purge:
            try await cache.store(old, url: url)
            try await cache.store(old, url: below)
        default: try await cache.store(old, url: url)
        }
        try await cache.store(old, key: "bystander")
    }

    /// Runs the operation during which the process ends. Returns whether the operation was acknowledged.
    private static func run(_ scenario: Scenario, _ cache: DiskCache) async throws -> Bool {
        func store(_ body: String, _ url: String) async throws {
            let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
            try reservation.receive(Array(body.utf8))
            _ = try await reservation.publish(EntryMetadata(ttl: .seconds(10)))
        }
        do {
            switch scenario {
            case .store, .replace, .replaceInlineByFile, .replaceInOtherLayout: try await store(new, url)
            case .replaceFileByInline: try await store("inline", url)
            case .makeWayForDirectory: try await store(new, below)
            case .fillLeafBelowBody: try await store(new, below + "/c/d")
            case .storeWhereDirectoryIs: try await store(new, url)
            case .remove: try await cache.remove(CacheKey.url(canonical: url).text)
            case .purge: try await cache.remove(matching: EntryFilter(host: "h"))
            case .replaceTwice, .removeThenStore:
                let gate = Gate("group")
                try await cache.holdWriter(until: gate)
                let first = Gate("first")
                let second = Counter("second")
                if scenario == .removeThenStore {
                    cache.writer.submit(
                        { context in
                            if let row = try context.index.row(forKey: CacheKey.url(canonical: url).text) {
                                try context.remove(row)
                            }
                        }, completion: { _ in first.open() })
                } else {
                    publish(cache, longText(5500, "between"), url) { _ in first.open() }
                }
                let results = Recorder<Bool>()
                publish(cache, new, url) { succeeded in
                    results.append(succeeded)
                    second.add()
                }
                gate.open()
                try await first.wait()
                try await second.wait(for: 1)
                return results.elements == [true]
            }
            return true
        } catch DiskCacheError.closed {
            return false
        }
    }

    private static func publish(
        _ cache: DiskCache, _ body: String, _ url: String, _ completion: @escaping @Sendable (Bool) -> Void
    ) {
        let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
        do {
            try reservation.receive(Array(body.utf8))
        } catch {
            return completion(false)
        }
        reservation.publish(EntryMetadata(ttl: .seconds(10))) { result in
            completion((try? result.get()) != nil)
        }
    }

    private static func check(
        _ scenario: Scenario, _ cache: DiskCache, isNew: Bool, _ comment: Comment
    ) async throws {
        let (atURL, atBelow): (String?, String?) =
            switch scenario {
            case .store: (isNew ? new : nil, nil)
            case .replace, .replaceTwice, .removeThenStore, .replaceInOtherLayout: (isNew ? new : old, nil)
            case .replaceInlineByFile: (isNew ? new : "inline", nil)
            case .replaceFileByInline: (isNew ? "inline" : old, nil)
            case .remove: (isNew ? nil : old, nil)
            case .makeWayForDirectory: (old, isNew ? new : nil)
            case .fillLeafBelowBody: (old, nil)
            case .storeWhereDirectoryIs: (isNew ? new : nil, old)
            case .purge: (isNew ? nil : old, isNew ? nil : old)
            }
        #expect(try await cache.text(url: url) == atURL, comment)
        #expect(try await cache.text(url: below) == atBelow, comment)
        if scenario == .fillLeafBelowBody {
            #expect(try await cache.text(url: below + "/c/d") == (isNew ? new : nil), comment)
        }
        #expect(try await cache.text(key: "bystander") == old, comment)
    }

    @Test("A partly received body is removed at the next start")
    func parts() async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 0 }
        try await fixture.withCache { cache async throws in try await cache.store("1", key: "k") }
        let part = fixture.namespace + "/incoming/77.part"
        try Data("half".utf8).write(to: URL(fileURLWithPath: part))
        try await fixture.withCache { cache async throws in
            #expect(FileSystem.status(of: part) == nil)
            #expect(try cache.findings() == [])
        }
    }

    @Test(
        "The start after a kill removes the directories that were made for an unfinished store",
        arguments: Layout.allCases)
    func emptyDirectories(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout) { $0.inlineLimit = 0 }
        let cache = try fixture.open(crashHook: { if $0 == .directoryMade { throw SimulatedCrash() } })
        await #expect(throws: DiskCacheError.closed) { try await cache.store("1", url: Self.below) }
        cache.close()
        func roots() throws -> [String] { try FileSystem.names(in: fixture.namespace).filter(BodyTree.isRoot) }
        #expect(try roots().count == 1)
        try await fixture.withCache { _ async throws in #expect(try roots() == []) }
    }

    @Test("A start removes directories that have the names of temporary bodies")
    func directoriesInIncoming() async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 0 }
        try await fixture.withCache { cache async throws in try await cache.store("1", key: "k") }
        for name in ["1-7.old", "99-8.old", "1.part"] {
            try FileSystem.makeDirectories(fixture.namespace + "/incoming/\(name)/sub")
        }
        try await fixture.withCache { cache async throws in
            #expect(try cache.findings() == [])
            #expect(try await cache.text(key: "k") == "1")
            try await cache.store("2", key: "l")
        }
    }

    @Test(
        "A start removes no file outside the bodies' directories, even if a damaged incoming/intents names such files")
    func hostileIntents() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { _ async throws in }
        let victim = fixture.temporary.path("victim")
        try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
        let names = ["../../victim", "ab/../../../victim", victim, "index.sqlite", "QUrlCaches/../index.sqlite"]
        try Data(names.joined(separator: "\0").utf8 + [0])
            .write(to: URL(fileURLWithPath: fixture.namespace + "/incoming/intents"))
        try await fixture.withCache { cache async throws in
            #expect(FileSystem.status(of: victim) != nil)
            #expect(try cache.findings() == [])
        }
    }

    @Test(
        "A failed operation's rows and files are undone, and the other operations of its transaction are kept",
        arguments: Layout.allCases)
    func failingOperation(_ layout: Layout) async throws {
        struct Failure: Error {}
        let fixture = try CacheFixture(layout) { $0.inlineLimit = 0 }
        try await fixture.withCache { cache async throws in
            try await cache.store(Self.old, url: Self.url)
            let gate = Gate("group")
            try await cache.holdWriter(until: gate)
            let done = Counter()
            cache.writer.submit(
                { context in
                    let row = try #require(try context.index.row(forKey: CacheKey.url(canonical: Self.url).text))
                    try context.remove(row)
                    throw Failure()
                }, completion: { (_: Result<Void, DiskCacheError>) in done.add() })
            Self.publish(cache, Self.new, Self.below) { _ in done.add() }
            gate.open()
            try await done.wait(for: 2)
            try await cache.flush()
            #expect(try await cache.text(url: Self.url) == Self.old)
            #expect(try await cache.text(url: Self.below) == Self.new)
            #expect(cache.totals.entries == 2)
            #expect(try cache.findings() == [])
        }
    }

    @Test(
        "A failed transaction is undone, and its operations run again, each in its own transaction",
        arguments: Layout.allCases)
    func failingCommit(_ layout: Layout) async throws {
        struct Failure: Error {}
        let fixture = try CacheFixture(layout) { $0.inlineLimit = 0 }
        try await fixture.withCache { cache async throws in
            try await cache.store(Self.old, url: Self.url)
            try await cache.store(Self.old, key: "goes")
        }
        let commits = Counter()
        let cache = try fixture.open(crashHook: { point in
            // The first commit belongs to the operation that holds the writer.
            if point == .beforeCommit, commits.add() == 2 { throw Failure() }
        })
        defer { cache.close() }
        let gate = Gate("group")
        try await cache.holdWriter(until: gate)
        let results = Recorder<Bool>()
        let done = Counter()
        let note: @Sendable (Bool) -> Void = { succeeded in
            results.append(succeeded)
            done.add()
        }
        Self.publish(cache, Self.new, Self.url, note)
        Self.publish(cache, Self.new, Self.below, note)
        cache.remove("goes") { note((try? $0.get()) == true) }
        gate.open()
        try await done.wait(for: 3)
        try await cache.flush()
        #expect(results.elements == [true, true, true])
        #expect(try await cache.text(url: Self.url) == Self.new)
        #expect(try await cache.text(url: Self.below) == Self.new)
        #expect(try await cache.text(key: "goes") == nil)
        #expect(try cache.findings() == [])
    }
}
