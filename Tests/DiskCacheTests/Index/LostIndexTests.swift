import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("An index that is taken away during use")
struct LostIndexTests {
    enum Loss: CaseIterable, Sendable {
        case directoryRemoved, indexRemoved, logRemoved, indexReplaced
    }

    private static func inflict(_ loss: Loss, on namespace: String) throws {
        let index = namespace + "/index.sqlite"
        switch loss {
        case .directoryRemoved: try FileManager.default.removeItem(atPath: namespace)
        case .indexRemoved: FileSystem.unlink(index)
        case .logRemoved: FileSystem.unlink(index + "-wal")
        case .indexReplaced:
            try FileManager.default.copyItem(atPath: index, toPath: index + ".copy")
            #expect(FileSystem.rename(index + ".copy", to: index) == 0)
        }
    }

    @Test(
        "When its index is taken away, a cache refuses changes, and logs the loss once", arguments: Loss.allCases,
        Layout.allCases)
    func lost(_ loss: Loss, _ layout: Layout) async throws {
        let fixture = try CacheFixture(layout)
        try await fixture.withCache { cache async throws in
            try await cache.store("1", key: "before")
            #expect(cache.isInPlace)
            try Self.inflict(loss, on: fixture.namespace)
            #expect(!cache.isInPlace)
            let index = fixture.namespace + "/index.sqlite"
            let error = DiskCacheError.indexLost(path: loss == .logRemoved ? index + "-wal" : index)
            let results = Recorder<DiskCacheError?>()
            let done = Counter()
            let gate = Gate("group")
            try await cache.holdWriter(until: gate)
            for key in ["before", "after"] {
                cache.remove(key) { result in
                    if case .failure(let error) = result { results.append(error) }
                    done.add()
                }
            }
            gate.open()
            try await done.wait(for: 2)
            #expect(results.elements == [error, error])
            if layout == .hashed {
                await #expect(throws: error) { try await cache.store("1", key: "k") }
                #expect(try await cache.text(key: "before") == "1")
            }
            #expect(fixture.notices.elements.filter { $0 == "the index is lost" }.count == 1)
        }
    }

    @Test("After a missing index is put back, the cache uses the index again")
    func putBack() async throws {
        let fixture = try CacheFixture()
        try await fixture.withCache { cache async throws in
            #expect(FileSystem.rename(fixture.namespace, to: fixture.namespace + "-away") == 0)
            await #expect(throws: DiskCacheError.self) { try await cache.store("1", key: "k") }
            #expect(FileSystem.rename(fixture.namespace + "-away", to: fixture.namespace) == 0)
            try await cache.store("1", key: "k")
        }
        try await fixture.withCache { cache async throws in #expect(try await cache.text(key: "k") == "1") }
    }

    @Test("After a missing index was put back, stores are retried one by one when their common transaction fails")
    func groupAfterPutBack() async throws {
        let fixture = try CacheFixture()
        let failures = Locked(0)
        let cache = try fixture.open(crashHook: { point in
            guard point == .beforeCommit else { return }
            let fails = failures.withLock { failures in
                defer { failures = max(failures - 1, 0) }
                return failures > 0
            }
            if fails { throw DiskCacheError.noSpace }
        })
        defer { cache.close() }
        #expect(FileSystem.rename(fixture.namespace, to: fixture.namespace + "-away") == 0)
        await #expect(throws: DiskCacheError.self) { try await cache.store("1", key: "k") }
        #expect(FileSystem.rename(fixture.namespace + "-away", to: fixture.namespace) == 0)

        let gate = Gate("group")
        try await cache.holdWriter(until: gate)
        let results = Recorder<Bool>()
        let done = Counter()
        for key in ["a", "b"] {
            let reservation = cache.reserve(try .data(key), kind: .data)
            try reservation.receive(Array("1".utf8))
            reservation.publish(EntryMetadata(ttl: .seconds(100))) { result in
                results.append((try? result.get()) != nil)
                done.add()
            }
        }
        // Fails the operation that holds the writer, and the transaction that the two stores share.
        failures.withLock { $0 = 2 }
        gate.open()
        try await done.wait(for: 2)
        #expect(results.elements == [true, true])
    }

    @Test(
        "After its directory was moved away, a cache changes no file of a new cache at the same path",
        arguments: Layout.allCases)
    func successor(_ layout: Layout) async throws {
        let fixture = try CacheFixture(layout) { $0.inlineLimit = 10 }
        let url = "http://h/a"
        let (ours, theirs) = (longText(5000, "ours"), longText(5000, "theirs"))
        let first = try fixture.open()
        #expect(FileSystem.rename(fixture.namespace, to: fixture.namespace + "-away") == 0)
        try await fixture.withCache { second async throws in
            try await second.store(theirs, url: url)
            await #expect(throws: DiskCacheError.indexLost(path: fixture.namespace + "/index.sqlite")) {
                try await first.store(ours, url: url)
            }
            first.close()
            #expect(second.isInPlace)
            try await second.store("inline", key: "k")
            #expect(try await second.text(url: url) == theirs)
        }
        try await fixture.withCache { cache async throws in
            #expect(try await cache.text(url: url) == theirs)
            #expect(try await cache.text(key: "k") == "inline")
            #expect(try cache.findings() == [])
        }
    }
}
