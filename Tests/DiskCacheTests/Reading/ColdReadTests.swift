import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("Loads by a thread that may not wait for the disk")
struct ColdReadTests {
    /// Makes the kernel forget the content of a file, by default of the index, and makes connections forget their
    /// pages, until `isForgotten` returns true. The kernel keeps pages that it is writing, and the cache's own threads
    /// read, too, so several attempts may be necessary.
    private func forget(
        _ path: String? = nil, of cache: DiskCache, in fixture: CacheFixture, until isForgotten: () throws -> Bool
    ) async throws {
        let paths = path.map { [$0] } ?? ["/index.sqlite", "/index.sqlite-wal"].map { fixture.namespace + $0 }
        for _ in 0..<100 {
            if path == nil { try await cache.store("1", key: "other") }
            for path in paths {
                let file = try FileDescriptor(opening: path, O_RDONLY)
                #expect(fsync(file.number) == 0)
                #expect(posix_fadvise(file.number, 0, 0, POSIX_FADV_DONTNEED) == 0)
            }
            if try isForgotten() { return }
        }
        Issue.record("the kernel kept the pages in memory")
    }

    /// Returns whether the kernel reports which pages of a file are in memory. An overlay file system reports no pages,
    /// as if none were in memory.
    private func canTell(_ path: String) throws -> Bool {
        let file = try FileDescriptor(opening: path, O_RDONLY)
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 16)
        defer { bytes.deallocate() }
        _ = try file.read(into: bytes, at: 0, path: path)
        return CachedFile.read(file.number, into: bytes, at: 0) == 16
    }

    private func text(_ result: LoadResult) throws -> String? {
        guard case .hit(let stored) = result else { return nil }
        return try stored.body.bytes().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    private func isOnDisk(_ result: LoadResult) -> Bool {
        if case .onDisk = result { true } else { false }
    }

    @Test(
        "A load that may not wait for the disk returns an entry in memory, and reports an entry that is only on disk",
        arguments: Layout.allCases)
    func entries(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout) { $0.memoryLimit = 0 }
        try await fixture.withCache { cache async throws in try await cache.store("1", key: "k") }
        try await fixture.withCache { cache async throws in
            let index = fixture.namespace + "/index.sqlite"
            guard try canTell(index) else { return }
            try await forget(of: cache, in: fixture) { isOnDisk(try cache.load("k", mayWait: false)) }
            try await becomesCached(cache)
            guard let path = try cache.entry(for: "k")?.localPath else { return }
            try await forget(path, of: cache, in: fixture) { isOnDisk(try cache.load("k", mayWait: false)) }
            try await becomesCached(cache)
        }
    }

    /// Reads until a load finds the entry in memory. Repeats, because the kernel may forget pages at any moment.
    private func becomesCached(_ cache: DiskCache) async throws {
        try await poll("an entry in memory") {
            #expect(try text(cache.load("k")) == "1")
            return try text(cache.load("k", mayWait: false)) == "1"
        }
    }

    @Test("A body with a known slot is read without the index; if the read would wait, the result is `onDisk`")
    func slab() async throws {
        let fixture = try CacheFixture { $0.memoryLimit = 256 << 10 }
        try await fixture.withCache { cache async throws in
            let slab = fixture.namespace + "/bodies.slab"
            let keys = (0..<600).map { "k\($0)" }
            for key in keys { try await cache.store(longText(1000) + key, key: key) }
            for key in keys { _ = try cache.load(key) }
            guard try canTell(slab) else { return }
            let file = try FileDescriptor(opening: slab, O_RDONLY)
            // The kernel may begin to read at the first request, although the request does not wait. So each key is
            // requested once.
            var cold = 0
            for key in keys.prefix(20) {
                #expect(fsync(file.number) == 0 && posix_fadvise(file.number, 0, 0, POSIX_FADV_DONTNEED) == 0)
                let misses = cache.memoryStatistics.misses
                var found = cache.passing(key, at: fixture.clock.now())
                if case .onDisk = found {
                    cold += 1
                    #expect(cache.memoryStatistics.misses == misses)
                    found = cache.passing(key, at: fixture.clock.now(), mayWait: true)
                }
                guard case .found(let body?) = found else {
                    Issue.record("\(key) is not read from the slab: \(found)")
                    continue
                }
                let text = body.bytes.withUnsafeBytes { String(decoding: $0[body.range], as: UTF8.self) }
                #expect(text == longText(1000) + key)
                #expect(cache.parts.memory.peek(key) == nil)
                #expect(cache.memoryStatistics.misses == misses + 1)
            }
            #expect(cold > 0)
        }
    }

    @Test("A repeated request is answered from the slab before the index is read to put the entry into the memory tier")
    func admitted() async throws {
        let fixture = try CacheFixture { $0.memoryLimit = 256 << 10 }
        try await fixture.withCache { cache async throws in
            let keys = (0..<600).map { "k\($0)" }
            for key in keys { try await cache.store(longText(1000) + key, key: key) }
            try await cache.flush()
            for key in keys { _ = try cache.load(key) }
            guard try canTell(fixture.namespace + "/index.sqlite") else { return }
            var deferred = 0
            for key in keys.prefix(20) {
                func passes() -> Bool {
                    guard case .found(_?) = cache.passing(key, at: fixture.clock.now(), mayWait: true) else {
                        return false
                    }
                    return true
                }
                #expect(passes())
                let mayGoOn = Gate("the release of the disk threads")
                for _ in 0..<cache.configuration.footprint.diskThreadCount {
                    cache.onDiskThread { try? mayGoOn.waitBlocking() }
                }
                defer { mayGoOn.open() }
                try await forget(of: cache, in: fixture) {
                    if case .onDisk = try cache.parts.reader.row(forKey: "k599", mayWait: false) { true } else { false }
                }
                #expect(passes())
                if cache.parts.memory.peek(key) == nil { deferred += 1 }
                mayGoOn.open()
                // If a commit during the read keeps the entry out of memory, `passes` requests the entry again.
                try await poll("\(key) in memory") { cache.parts.memory.peek(key) != nil || !passes() }
            }
            #expect(deferred > 0)
        }
    }

    @Test("A load that may not wait for the disk sees recent stores and removals")
    func log() async throws {
        let fixture = try CacheFixture { $0.memoryLimit = 0 }
        try await fixture.withCache { cache async throws in
            guard try canTell(fixture.namespace + "/index.sqlite") else { return }
            var hits = 0
            for number in 0..<100 {
                try await cache.store("\(number)", key: "k")
                try await cache.store("\(number)", key: "k\(number)")
                for key in ["k", "k\(number)"] {
                    let found = try cache.load(key, mayWait: false)
                    // Now and then the kernel has dropped a page already.
                    if isOnDisk(found) { continue }
                    hits += 1
                    #expect(try text(found) == "\(number)")
                }
            }
            #expect(hits > 100)
            try await cache.remove("k")
            let found = try cache.load("k", mayWait: false)
            #expect(try isOnDisk(found) || text(found) == nil)
        }
    }

    @Test("The threads that may wait for the disk do all work of waiting callers, even after a stop")
    func threads() async throws {
        let threads = DiskThreads()
        let done = Counter()
        for _ in 0..<100 { threads.run { done.add() } }
        threads.stop()
        threads.run { done.add() }
        try await done.wait(for: 101)
    }

    @Test("If the index is not in memory, a look-up of responses that may not wait for the disk reports this")
    func responses() async throws {
        let fixture = try CacheFixture()
        let url = ResponseURL("http://h/r")
        try await fixture.withCache { cache async throws in
            guard try canTell(fixture.namespace + "/index.sqlite") else { return }
            try await forget(of: cache, in: fixture) { try cache.responses(to: url, mayWait: false) == nil }
            try await poll("the index pages in memory") {
                #expect(try cache.responses(to: url).isEmpty)
                return try cache.responses(to: url, mayWait: false)?.isEmpty == true
            }
        }
    }

    @Test("The index is found under a path with any special characters")
    func paths() async throws {
        let directory = try TemporaryDirectory()
        let cache = try DiskCache(
            in: CacheDirectory(path: directory.path + "/a b?c=d&e#f%20é"), configuration: CacheConfiguration())
        defer { cache.close() }
        try await cache.store("1", key: "k")
        #expect(try text(cache.load("k")) == "1")
    }
}
