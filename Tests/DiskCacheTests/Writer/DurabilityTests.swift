import Foundation
import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Durability through a power cut")
struct DurabilityTests {
    /// Records each sync of a body or a directory, and each ``CrashPoint`` that a transaction reaches. `body of 20000`
    /// is the sync of a file of 20,000 bytes, and `body of 0` is the sync of the slab.
    private final class Log: Sendable {
        let steps = Recorder<String>()
        private let fixture: CacheFixture
        private let failing: Locked<String?> = Locked(nil)

        init(_ fixture: CacheFixture) {
            self.fixture = fixture
        }

        func open(_ durability: Durability) throws -> DiskCache {
            let sync = FileSync(
                file: { self.note("body", "of \($0.length)") ?? FileSync.system.file($0) },
                directory: { self.note("directory", self.relative($0)) ?? FileSync.system.directory($0) })
            return try fixture.open(
                { $0.durability = durability }, crashHook: { [steps] in steps.append($0.rawValue) }, sync: sync)
        }

        /// Makes the sync of `step` fail from now on; with `nil`, all syncs succeed again.
        func fail(_ step: String?) { failing.withLock { $0 = step } }

        private func note(_ kind: String, _ name: String) -> Int32? {
            let step = "\(kind) \(name)"
            steps.append(step)
            return failing.withLock { $0 } == step ? EIO : nil
        }

        private func relative(_ path: String) -> String {
            path == fixture.namespace ? "." : path.replacing(fixture.namespace + "/", with: "")
        }
    }

    private static let key = "k"
    private static let long = longText(20_000)

    private static func open(_ durability: Durability) throws -> (CacheFixture, Log, DiskCache) {
        let fixture = try CacheFixture()
        let log = Log(fixture)
        return (fixture, log, try log.open(durability))
    }

    /// Returns the directories above a body, the lowest first, as ``Log`` names them.
    private static func directories(of key: String) throws -> [String] {
        let path = Layout.hashed.path(for: try .data(key), url: nil).split(separator: "/")
        return ["\(path[0])/\(path[1])", "\(path[0])"]
    }

    @Test("The index syncs each transaction only when the cache must survive a power cut")
    func log() async throws {
        for (durability, level) in [(Durability.process, 1), (.power, 2)] {
            let cache = try CacheFixture().open { $0.durability = durability }
            defer { cache.close() }
            let synchronous = try cache.parts.index.writing.inDatabase {
                try Int.fetchOne($0, sql: "PRAGMA synchronous")
            }
            #expect(synchronous == level)
        }
    }

    @Test("A transaction with several stores syncs their bodies, then each directory once, and then commits the rows")
    func order() async throws {
        let (_, log, cache) = try Self.open(.power)
        defer { cache.close() }
        let gate = Gate("group")
        try await cache.holdWriter(until: gate)
        log.steps.removeAll()
        let done = Counter()
        for number in 0..<3 {
            let reservation = cache.reserve(try .data("k\(number)"), kind: .data)
            try reservation.receive(Array(longText(20_000 + number).utf8))
            reservation.publish(EntryMetadata(ttl: .seconds(100))) { _ in done.add() }
        }
        gate.open()
        try await done.wait(for: 3)
        // Skips the last steps of the first transaction, which held the writer.
        let steps = Array(log.steps.elements.drop { $0 != "intentNoted" })
        let end = try #require(steps.firstIndex(of: "beforeCommit"))
        #expect(steps.filter { $0 == "beforeCommit" }.count == 1)
        #expect(steps[end...] == ["beforeCommit", "afterCommit"])
        let synced = steps[..<end].filter { $0.hasPrefix("body ") || $0.hasPrefix("directory ") }
        #expect(steps[..<end].suffix(synced.count) == synced[...])
        #expect(synced.prefix(3) == ["body of 20000", "body of 20001", "body of 20002"])
        let named = try (0..<3).flatMap { try Self.directories(of: "k\($0)") } + ["."]
        #expect(synced.dropFirst(3).sorted() == Set(named).map { "directory \($0)" }.sorted())
    }

    @Test("The old body gets a second name, and its directory is synced, before the new body takes the first name")
    func replaced() async throws {
        let (_, log, cache) = try Self.open(.power)
        defer { cache.close() }
        try await cache.store(Self.long, key: Self.key)
        log.steps.removeAll()
        try await cache.store(Self.long + "2", key: Self.key)
        let expected = [
            "intentNoted", "oldBodyLinked", "directory incoming", "bodyPlaced", "body of 20001",
            "directory \(try Self.directories(of: Self.key)[0])", "beforeCommit", "afterCommit",
        ]
        #expect(log.steps.elements == expected)
    }

    @Test("A failed sync of a body or directory is an error, and the old body stays", arguments: [true, false])
    func failure(isBody: Bool) async throws {
        let (_, log, cache) = try Self.open(.power)
        defer { cache.close() }
        try await cache.store(Self.long, key: Self.key)
        log.fail(isBody ? "body of 20001" : "directory \(try Self.directories(of: Self.key)[0])")
        let error = await #expect(throws: DiskCacheError.self) {
            try await cache.store(Self.long + "2", key: Self.key)
        }
        guard case .fileSystem("fsync", _, EIO) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try await cache.text(key: Self.key) == Self.long)
        #expect(try cache.findings() == [])
        log.fail(nil)
        try await cache.store(Self.long + "2", key: Self.key)
        #expect(try await cache.text(key: Self.key) == Self.long + "2")
    }

    @Test("After a failed sync of a body each later sync fails, although the kernel reports success")
    func failureIsRemembered() throws {
        let fixture = try CacheFixture()
        let path = fixture.directory.path + "/body"
        try Data("body".utf8).write(to: URL(fileURLWithPath: path))
        let body = BodyFile(try FileDescriptor(opening: path, O_RDONLY), length: 4, path: path)
        #expect(body.sync { _ in 0 } == 0)
        #expect(body.sync { _ in EIO } == EIO)
        #expect(body.sync { _ in 0 } == EIO)
    }

    @Test("The slab is synced before the rows of small bodies, and a removal syncs no body")
    func inline() async throws {
        let (_, log, cache) = try Self.open(.power)
        defer { cache.close() }
        try await cache.store(Self.long, key: Self.key)
        log.steps.removeAll()
        try await cache.store("small", key: "small")
        try await cache.remove("small")
        try await cache.remove(Self.key)
        let steps = log.steps.elements.filter { $0 != "bodySetAside" }
        let removal = ["beforeCommit", "afterCommit"]
        #expect(steps == ["slotWritten", "body of 0"] + removal + removal + removal)
    }

    @Test("A failed sync of the slab fails the store, and the next store succeeds")
    func failingSlab() async throws {
        let (_, log, cache) = try Self.open(.power)
        defer { cache.close() }
        log.fail("body of 0")
        await #expect(throws: DiskCacheError.self) { try await cache.store("small", key: "small") }
        #expect(try cache.findings() == [])
        log.fail(nil)
        try await cache.store("small", key: "small")
        #expect(try await cache.text(key: "small") == "small")
    }

    @Test("The opening of a namespace syncs its directory and all directories above it")
    func opening() async throws {
        let (fixture, log, cache) = try Self.open(.power)
        cache.close()
        let directories = log.steps.elements.filter { $0.hasPrefix("directory ") }
        #expect(directories.first == "directory .")
        #expect(directories.dropFirst().first == "directory \(fixture.directory.path)")
        #expect(directories.last == "directory /")
    }

    @Test("A cache that must survive only a kill syncs no body and no directory")
    func process() async throws {
        let (_, log, cache) = try Self.open(.process)
        defer { cache.close() }
        try await cache.store(Self.long, key: Self.key)
        try await cache.store(Self.long + "2", key: Self.key)
        #expect(log.steps.elements.filter { $0.hasPrefix("body ") || $0.hasPrefix("directory ") } == [])
    }
}
