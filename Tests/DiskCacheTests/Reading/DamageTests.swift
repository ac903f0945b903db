import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Damaged bodies")
struct DamageTests {
    private static let url = "http://h/a"
    private static let body = longText(40_000, "body")

    enum Damage: CaseIterable, Sendable {
        case flippedByte, truncated, extended, removed, replacedByDirectory, replacedByLink, parentRemoved
    }

    private static func inflict(_ damage: Damage, on path: String) throws {
        switch damage {
        case .flippedByte: try edit(path) { $0[20_000] ^= 1 }
        case .truncated: try edit(path) { $0 = $0.prefix(39_999) }
        case .extended: try edit(path) { $0.append(0) }
        case .removed: FileSystem.unlink(path)
        case .replacedByDirectory:
            FileSystem.unlink(path)
            try FileSystem.makeDirectories(path + "/sub")
        case .replacedByLink:
            let elsewhere = path + "-elsewhere"
            _ = FileSystem.rename(path, to: elsewhere)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere)
        case .parentRemoved:
            try FileManager.default.removeItem(atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path)
        }
    }

    @Test(
        "A damaged body is never served, and its entry is removed", arguments: Damage.allCases,
        [true, false])
    func damaged(_ damage: Damage, whileOpen: Bool) async throws {
        let fixture = try CacheFixture(.readable) { $0.memoryLimit = 0 }
        var cache = try fixture.open()
        let entry = try await cache.store(Self.body, url: Self.url)
        let path = try #require(entry.localPath)
        if !whileOpen { cache.close() }
        try Self.inflict(damage, on: path)
        if !whileOpen { cache = try fixture.open() }
        defer { cache.close() }

        guard case .needsVerification = try cache.load(entry.key) else {
            Issue.record("the damaged body was served, or its file was not checked")
            return
        }
        #expect(try await cache.stored(entry.key) == nil)
        #expect(try cache.entry(for: entry.key) == nil)
        #expect(cache.totals.entries == 0)
        #expect(fixture.notices.elements.contains("a body was damaged or missing, and its entry was removed"))

        // The body can be stored again.
        try await cache.store("again", url: Self.url)
        #expect(try await cache.text(url: Self.url) == "again")
    }

    @Test(
        "After the file of a body was touched or copied, the body is hashed once and served",
        arguments: Layout.allCases)
    func touched(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout) { $0.memoryLimit = 0 }
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store(Self.body, url: Self.url)
            let path = try #require(entry.localPath)
            let copy = path + ".copy"
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            #expect(FileSystem.rename(copy, to: path) == 0)
            guard case .needsVerification = try cache.load(entry.key) else {
                Issue.record("the copied file was not noticed")
                return
            }
            #expect(try await cache.text(url: Self.url) == Self.body)
            guard case .hit(let stored) = try cache.load(entry.key) else {
                Issue.record("the verified file is verified again")
                return
            }
            #expect(try stored.text() == Self.body)
            #expect(stored.entry.version == entry.version)
        }
    }

    @Test("A flipped byte of a body in the slab is detected")
    func inline() async throws {
        let fixture = try CacheFixture()
        let text = "a body that can be found in the file"
        try await fixture.withCache { cache async throws in
            try await cache.store(text, url: Self.url)
            try await cache.store("another", key: "other")
        }
        try edit(fixture.namespace + "/bodies.slab") { data in
            let range = try #require(data.range(of: Data(text.utf8)))
            data[range.lowerBound + 3] ^= 1
        }
        try await fixture.withCache { cache async throws in
            let key = CacheKey.url(canonical: Self.url).text
            #expect(try cache.findings() == [.corrupt(key: key, path: nil)])
            #expect(try await cache.text(url: Self.url) == nil)
            #expect(try cache.entry(for: key) == nil)
            #expect(try await cache.text(key: "other") == "another")
            #expect(try cache.findings() == [])
        }
    }

    @Test("After the file of a body was touched, many requests wait for one verification, and all get the body")
    func sharedVerification() async throws {
        let fixture = try CacheFixture { $0.memoryLimit = 0 }
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store(Self.body, url: Self.url)
            try edit(try #require(entry.localPath)) { _ in }
            let done = Counter()
            let found = Recorder<StoredEntry?>()
            // The held writer keeps the verification from ending before all requests have come.
            let gate = Gate("writer")
            try await cache.holdWriter(until: gate)
            for _ in 0..<50 {
                cache.verify(entry.key) { result in
                    found.append(try? result.get())
                    done.add()
                }
            }
            gate.open()
            try await done.wait(for: 50)
            // Each verification opens the file anew, so one file means one verification.
            var files: Set<ObjectIdentifier> = []
            for entry in found.elements {
                #expect(try entry?.text() == Self.body)
                if case .file(let file)? = entry?.body { files.insert(ObjectIdentifier(file)) }
            }
            #expect(files.count == 1)
        }
    }

    @Test("The verification of a damaged body that is being replaced returns either the new body or no body")
    func verificationRace() async throws {
        let fixture = try CacheFixture { $0.memoryLimit = 0 }
        try await fixture.withCache { cache async throws in
            let entry = try await cache.store(Self.body, url: Self.url)
            try edit(try #require(entry.localPath)) { $0[0] ^= 1 }
            let gate = Gate("writer")
            try await cache.holdWriter(until: gate)
            let result = Recorder<String?>()
            let done = Gate("verified")
            cache.verify(entry.key) { verified in
                result.append(try? verified.get()?.text())
                done.open()
            }
            async let second = cache.store("new", url: Self.url)
            gate.open()
            _ = try await second
            try await done.wait()
            // The verification either saw the damage first and removed the entry, or saw the new body, but never the
            // old body.
            #expect(result.elements == ["new"] || result.elements == [nil])
            #expect(try await cache.text(url: Self.url) == "new")
        }
    }

    @Test("Readers see only whole bodies while a writer replaces the bodies", arguments: Layout.allCases)
    func readersBesideWriter(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout) { $0.memoryLimit = 0 }
        try await fixture.withCache { cache async throws in
            let bodies = (0..<4).map { longText(20_000 + $0, "version \($0)") }
            let key = CacheKey.url(canonical: Self.url).text
            try await cache.store(bodies[0], url: Self.url)
            let isDone = Locked(false)
            async let readers = concurrently(3) { _ in
                try await blocking {
                    var reads = 0
                    while !isDone.withLock({ $0 }) {
                        guard case .hit(let stored) = try cache.load(key) else { continue }
                        guard bodies.contains(try stored.text()) else { return -1 }
                        reads += 1
                    }
                    return reads
                }
            }
            for round in 1...60 { try await cache.store(bodies[round % 4], url: Self.url) }
            isDone.withLock { $0 = true }
            let reads = try await readers
            #expect(reads.allSatisfy { $0 > 0 })
            #expect(try cache.findings() == [])
        }
    }

    @Test("The scrub finds changed bytes in a file that looks untouched, and removes bodies without entries")
    func scrub() async throws {
        let fixture = try CacheFixture(.readable)
        try await fixture.withCache { cache async throws in
            let rotten = try await cache.store(Self.body, url: Self.url)
            try await cache.store(Self.body, url: "http://h/good")
            let path = try #require(rotten.localPath)
            try edit(path) { $0[7] ^= 1 }
            // Simulates decay of the medium: the index gets the identity of the changed file, as if the file were
            // untouched.
            let status = try #require(FileSystem.status(of: path))
            let key = rotten.key
            try await blocking {
                try cache.writer.perform { context in
                    let row = try #require(try context.index.row(forKey: key))
                    try context.index.setFile(of: row.id, path: row.path ?? "", identity: status.identity)
                }
            }
            try FileSystem.makeDirectories(cache.directory + "/QUrlCaches/http/x/y")
            try Data("orphan".utf8).write(to: URL(fileURLWithPath: cache.directory + "/QUrlCaches/http/x/y/z"))
            #expect(
                Set(try cache.findings()) == [
                    .corrupt(key: key, path: path), .orphan(path: cache.directory + "/QUrlCaches/http/x/y/z"),
                ])
            let done = Gate("maintained")
            cache.maintain { done.open() }
            try await done.wait()
            #expect(try cache.findings() == [])
            #expect(try cache.keys() == [CacheKey.url(canonical: "http://h/good").text])
            #expect(FileSystem.status(of: cache.directory + "/QUrlCaches/http/x") == nil)
        }
    }

    @Test("Any number of bodies without entries is logged in a single line")
    func orphansInOneLine() async throws {
        let fixture = try CacheFixture(.readable)
        try await fixture.withCache { cache async throws in
            for number in 0..<20 {
                let directory = cache.directory + "/QUrlCaches/http/h/\(number)"
                try FileSystem.makeDirectories(directory)
                try Data("orphan".utf8).write(to: URL(fileURLWithPath: directory + "/a"))
            }
            let done = Gate("maintained")
            cache.maintain { done.open() }
            try await done.wait()
            #expect(try cache.findings() == [])
            #expect(fixture.notices.elements == ["bodies without an entry were removed"])
        }
    }

    @Test("A verification reports missing bodies, leftover files, wrong totals and orphaned rows")
    func findings() async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 0 }
        try await fixture.withCache { cache async throws in
            let missing = try await cache.store("1", key: "missing")
            FileSystem.unlink(try #require(missing.localPath))
            let leftover = cache.directory + "/incoming/1.part"
            try Data().write(to: URL(fileURLWithPath: leftover))
            try await blocking {
                try cache.writer.perform { context in
                    try context.index.db.execute(sql: "UPDATE totals SET entries = 5")
                    try context.index.db.execute(sql: "INSERT INTO tags VALUES ('x', 99)")
                }
            }
            #expect(
                Set(try cache.findings()) == [
                    .missing(key: "missing", path: missing.localPath), .leftover(path: leftover),
                    .wrongTotal(name: "entries of kind data", stated: 5, counted: 1), .orphanInIndex(count: 1),
                ])
        }
    }
}
