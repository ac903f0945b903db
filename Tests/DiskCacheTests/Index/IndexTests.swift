import Foundation
import GRDB
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The index file")
struct IndexTests {
    private static let setAside = "the index could not be read and was set aside; the cache starts empty"

    enum Trouble: CaseIterable, Sendable {
        case noise, truncated, emptied, notOurs, headerOnly
    }

    private static func inflict(_ trouble: Trouble, on path: String) throws {
        switch trouble {
        case .noise:
            var generator = SystemRandomNumberGenerator()
            try edit(path) { data in
                for index in data.indices { data[index] = UInt8.random(in: 0...255, using: &generator) }
            }
        case .truncated: try edit(path) { $0 = $0.prefix($0.count / 2) }
        case .headerOnly: try edit(path) { $0 = $0.prefix(100) }
        case .emptied: try edit(path) { $0 = Data() }
        case .notOurs: try edit(path) { $0.replaceSubrange(60..<64, with: [0, 0, 0, 0]) }
        }
    }

    @Test(
        "A cache with an unreadable index starts empty, and sets the index aside unless the index file is empty",
        arguments: Trouble.allCases)
    func unreadable(_ trouble: Trouble) async throws {
        let fixture = try CacheFixture { $0.inlineLimit = 10 }
        try await fixture.withCache { cache async throws in
            for number in 0..<50 { try await cache.store(longText(500, "\(number)"), key: "k\(number)") }
        }
        let index = fixture.namespace + "/index.sqlite"
        try Self.inflict(trouble, on: index)
        let damaged = try Data(contentsOf: URL(fileURLWithPath: index))
        try await fixture.withCache { cache async throws in
            #expect(try cache.keys() == [])
            #expect(cache.totals.entries == 0)
            let names = try FileSystem.names(in: fixture.namespace).filter { $0.contains("corrupt-2026") }
            if trouble == .emptied {
                // An empty file is an empty index, so there is no content to keep.
                #expect(names == [])
            } else {
                #expect(fixture.notices.elements.contains(Self.setAside))
                let kept = try #require(names.first { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") })
                #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.namespace + "/" + kept)) == damaged)
            }
            try await cache.store("new", key: "k1")
            let done = Gate("maintained")
            cache.maintain { done.open() }
            try await done.wait()
            #expect(try await cache.text(key: "k1") == "new")
            #expect(try cache.findings() == [])
        }
    }

    @Test(
        "A damaged or foreign index stays as it is when setting aside is disabled, and the error names the reason",
        arguments: [true, false])
    func unreadableForLooking(wasOurs: Bool) async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in try await cache.store("1", key: "k") }
        let index = fixture.namespace + "/index.sqlite"
        if wasOurs {
            try Self.inflict(.notOurs, on: index)
        } else {
            for name in [index, index + "-wal"] { FileSystem.unlink(name) }
            let other = try DatabaseQueue(path: index)
            try await other.write { try $0.execute(sql: "CREATE TABLE entries (id INTEGER)") }
            try other.close()
        }
        let damaged = try Data(contentsOf: URL(fileURLWithPath: index))
        do {
            try await fixture.withCache({ $0.setsAsideUnreadableIndex = false }) { _ in }
            Issue.record("the index was opened")
        } catch {
            #expect("\(error)".contains("the index is damaged, or not an index of Larder"), "\(error)")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: index)) == damaged)
    }

    @Test("An index keeps the page size with which it was created, and can give back free pages")
    func pageSize() async throws {
        let fixture = try CacheFixture()
        for asked in [8192, 4096] {
            try await fixture.withCache({ $0.indexPageSize = asked }) { cache async throws in
                let (size, vacuum) = try cache.parts.index.list {
                    (try Int.fetchOne($0, sql: "PRAGMA page_size"), try Int.fetchOne($0, sql: "PRAGMA auto_vacuum"))
                }
                #expect(size == 8192)
                #expect(vacuum == 2)
            }
        }
    }

    @Test("An index of a format before the first release is set aside, and the cache begins empty")
    func unreleasedFormat() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in try await cache.store("1", key: "k") }
        let index = fixture.namespace + "/index.sqlite"
        try edit(index) { $0.replaceSubrange(60..<64, with: [0, 0, 0, UInt8(Schema.firstFormat - 1)]) }
        try await fixture.withCache { cache async throws in
            #expect(try cache.keys() == [])
            try await cache.store("2", key: "k")
            #expect(try await cache.text(key: "k") == "2")
        }
    }

    @Test("A purge by the canonical host matches stored and pending responses with any spelling of the host")
    func responseHosts() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            for (sent, host) in [
                ("http://127.1./x", "127.0.0.1"), ("http://a.example.:9/x", "a.example"),
                ("http://a.example./x?", "a.example"), ("http://[::1]/x", "[::1]"),
            ] {
                func reserve() -> Reservation {
                    let url = ResponseURL(sent)
                    let reservation = cache.reserve(responseTo: url)
                    reservation.decide(.response(to: url, variant: ""))
                    return reservation
                }
                let stored = reserve()
                try stored.receive(Array("1".utf8))
                _ = try await stored.publish(EntryMetadata(ttl: .seconds(9)))
                #expect(try cache.count(matching: EntryFilter(host: host)) == 1, "\(sent)")
                let underWay = reserve()
                try await cache.remove(matching: EntryFilter(host: host))
                #expect(underWay.isPurged, "\(sent)")
                #expect(cache.totals.entries == 0, "\(sent)")
            }
        }
    }

    @Test("An index of a newer format is refused and left as it is")
    func newer() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in try await cache.store("1", key: "k") }
        let index = fixture.namespace + "/index.sqlite"
        try edit(index) { $0.replaceSubrange(60..<64, with: [0, 0, 0, 99]) }
        let before = try Data(contentsOf: URL(fileURLWithPath: index))
        #expect(throws: DiskCacheError.newerFormat(found: 99, supported: Schema.format)) { try fixture.open() }
        #expect(try Data(contentsOf: URL(fileURLWithPath: index)) == before)
        try edit(index) { $0.replaceSubrange(60..<64, with: [0, 0, 0, UInt8(Schema.format)]) }
        try await fixture.withCache { cache async throws in #expect(try await cache.text(key: "k") == "1") }
    }

    @Test("An index that turns out damaged during use is set aside at the next start")
    func damagedWhileUsed() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in try await fill(cache, 3000) }
        let index = fixture.namespace + "/index.sqlite"
        try edit(index) { data in
            // The first and the last pages stay intact, because each start reads them.
            for page in stride(from: data.count / 4096 * 4 / 10 * 4096, to: data.count * 6 / 10, by: 4096) {
                data.replaceSubrange(page..<page + 12, with: [UInt8](repeating: 0xEE, count: 12))
            }
        }
        let cache = try fixture.open()
        var isNoticed = false
        do {
            for number in stride(from: 0, to: 3000, by: 50) { _ = try cache.entry(for: fillKey(number)) }
        } catch DiskCacheError.index {
            isNoticed = true
        }
        cache.close()
        #expect(isNoticed)
        try await fixture.withCache { cache async throws in
            #expect(fixture.notices.elements.contains(Self.setAside))
            #expect(try cache.keys() == [])
            try await cache.store("1", key: "k")
            #expect(try await cache.text(key: "k") == "1")
        }
    }

    @Test("A copy of the index and its write-ahead log has all entries, even those that no checkpoint has written")
    func walOnly() async throws {
        let fixture = try CacheFixture()
        let copy = fixture.temporary.path("copy/default")
        try await fixture.withCache { cache async throws in
            try await fill(cache, 100)
            try FileSystem.makeDirectories(copy)
            for name in ["index.sqlite", "index.sqlite-wal", "bodies.slab"] {
                try FileManager.default.copyItem(atPath: cache.directory + "/" + name, toPath: copy + "/" + name)
            }
        }
        let directory = try CacheDirectory(path: fixture.temporary.path("copy"))
        let cache = try DiskCache(in: directory, configuration: CacheConfiguration())
        defer { cache.close() }
        #expect(try cache.keys().count == 100)
        #expect(try cache.findings() == [])
    }

    @Test("A cache directory in use cannot be opened a second time until the first user has closed it")
    func lock() async throws {
        let temporary = try TemporaryDirectory()
        do {
            let first = try CacheDirectory(path: temporary.path("deep/cache/"))
            #expect(first.path == temporary.path("deep/cache"))
            #expect(throws: DiskCacheError.inUse(directory: first.path)) { try CacheDirectory(path: first.path) }
            let mode = try FileManager.default.attributesOfItem(atPath: first.path)[.posixPermissions] as? Int
            #expect(mode == 0o700)
            #expect(try first.namespaceDirectories() == [])
            let cache = try DiskCache(in: first, configuration: CacheConfiguration())
            #expect(try first.namespaceDirectories().map(\.name) == ["default"])
            #expect(
                try String(contentsOfFile: first.path + "/CACHEDIR.TAG", encoding: .utf8)
                    .hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n"))
            cache.close()
        }
        // The writer's thread holds the directory until the thread ends.
        try await poll("the lock is free") { (try? CacheDirectory(path: temporary.path("deep/cache"))) != nil }
    }

    @Test("The opening of a cache directory waits briefly for the previous process to release the lock")
    func lockOfTheKilled() throws {
        let temporary = try TemporaryDirectory()
        let first = try CacheDirectory(path: temporary.path("cache"))
        var pauses = 0
        let second = try CacheDirectory(path: first.path) {
            pauses += 1
            first.unlock()
        }
        #expect(pauses == 1)
        #expect(throws: DiskCacheError.inUse(directory: first.path)) { try CacheDirectory(path: second.path) }
    }

    @Test("A cache directory stays locked when its file \"lock\" is removed")
    func lockRemoved() throws {
        let temporary = try TemporaryDirectory()
        let first = try CacheDirectory(path: temporary.path("cache"))
        FileSystem.unlink(first.path + "/lock")
        #expect(throws: DiskCacheError.inUse(directory: first.path)) { try CacheDirectory(path: first.path) }
        first.unlock()
        #expect(throws: Never.self) { try CacheDirectory(path: first.path) }
    }

    @Test("Foreign directories are not namespaces, and a directory with only foreign files is not a cache")
    func foreignDirectory() throws {
        let temporary = try TemporaryDirectory()
        try FileSystem.makeDirectories(temporary.path("music"))
        try temporary.write("mine", to: "thesis.txt")
        #expect(try !CacheDirectory.isCache(at: temporary.path))
        #expect(try !CacheDirectory.isCache(at: temporary.path("missing")))
        #expect(files(below: temporary.path) == ["thesis.txt"])
        let directory = try CacheDirectory(path: temporary.path)
        #expect(try directory.namespaceDirectories() == [])
        try DiskCache(in: directory, configuration: CacheConfiguration()).close()
        #expect(try directory.namespaceDirectories().map(\.name) == ["default"])
        #expect(try CacheDirectory.isCache(at: temporary.path))
    }

    @Test("An unreadable directory is reported as an error, and not as a directory without a cache")
    func unreadableDirectory() throws {
        let temporary = try TemporaryDirectory()
        // Root can read any directory, but not a symbolic link to itself.
        try FileManager.default.createSymbolicLink(
            atPath: temporary.path("loop"), withDestinationPath: temporary.path("loop"))
        let path = temporary.path("loop")
        #expect(throws: DiskCacheError.fileSystem(operation: "opendir", path: path, errno: ELOOP)) {
            try CacheDirectory.isCache(at: path)
        }
    }

    @Test(
        "An invalid namespace name is refused",
        arguments: ["", "..", "a/b", "A", "a_b", "é", String(repeating: "a", count: 64)])
    func namespaceNames(_ name: String) throws {
        let fixture = try CacheFixture { $0.namespace = name }
        #expect(throws: DiskCacheError.invalidNamespace(name)) { try fixture.open() }
        #expect(try fixture.directory.namespaceDirectories() == [])
    }

    @Test("The index has no shared-memory file, because only one process opens the index")
    func alone() async throws {
        let fixture = try CacheFixture()
        let cache = try fixture.open()
        let entry = try await cache.store("body", url: "http://h/a")
        #expect(try cache.entry(for: entry.key)?.digest == entry.digest)
        // Only a database that several processes share has a file `index.sqlite-shm`.
        #expect(!files(below: fixture.directory.path).contains { $0.hasSuffix("-shm") })
        #expect(files(below: fixture.directory.path).contains { $0.hasSuffix("-wal") })
        cache.close()
    }
}
