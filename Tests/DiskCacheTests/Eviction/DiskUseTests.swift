import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The use of the disk")
struct DiskUseTests {
    private static let limit: Int64 = 4 << 20

    @Test(
        "All files together exceed the disk limit by at most a tenth, for any body length and eviction order",
        arguments: [100, 1024, 1434, 2048, 4096, 8192, 16_384], [true, false])
    func realSize(length: Int, isEvictedAtRandom: Bool) async throws {
        let fixture = try CacheFixture { $0.diskLimit = Self.limit }
        try await fixture.withCache { cache async throws in
            let body = Array(longText(length).utf8)
            var generator = SplitMix64(seed: UInt64(length))
            // Stores twice as many bodies as fit.
            let count = Int(Self.limit) * 2 / (length + 512)
            // Bodies that are being stored cannot be evicted, so each batch takes a quarter of the limit at most.
            let batch = min(250, count / 8)
            for start in stride(from: 0, to: count, by: batch) {
                let done = Counter("stored")
                let failures = Recorder<DiskCacheError>()
                fixture.clock.advance(by: .seconds(1))
                for number in start..<(start + batch) {
                    let url = "https://api.example.com/v1/items/\(generator.next())?page=\(number)"
                    let reservation = cache.reserve(.url(canonical: url), kind: .download, url: url)
                    try reservation.expect(length: Int64(length))
                    try reservation.receive(body)
                    // Expired entries are evicted first, in the order of expiry, so random dates make the order random.
                    let ttl = isEvictedAtRandom ? Int64(generator.next() % 1_000_000) : 1_000_000
                    var metadata = EntryMetadata(ttl: .seconds(1_000_000))
                    metadata.contentType = "application/json"
                    metadata.expiryDate = Timestamp(milliseconds: ttl)
                    metadata.staleAllowance = .seconds(1_000_000)
                    reservation.publish(metadata) { result in
                        if case .failure(let error) = result { failures.append(error) }
                        done.add()
                    }
                }
                try await done.wait(for: batch)
                #expect(failures.elements == [])
            }
        }
        let size = try Self.size(of: fixture.namespace)
        #expect(size <= Self.limit * 11 / 10)
    }

    @Test("All files together exceed the disk limit by at most a tenth when bodies in files replace bodies in the slab")
    func inlineThenFiles() async throws {
        let limit: Int64 = 32 << 20
        let fixture = try CacheFixture { $0.diskLimit = limit }
        try await fixture.withCache { cache async throws in
            for (count, length) in [(2500, 16_000), (1200, 40_000)] {
                let body = longText(length)
                for number in 0..<count {
                    fixture.clock.advance(by: .seconds(1))
                    try await cache.store(body, url: "http://h/\(length)/\(number)", ttl: .seconds(1_000_000))
                }
                try await cache.flush()
                #expect(try Self.size(of: fixture.namespace) <= limit * 11 / 10)
            }
            #expect(try cache.findings() == [])
        }
    }

    @Test("After a purge, the files of the cache take less room on the disk")
    func purge() async throws {
        let fixture = try CacheFixture { $0.diskLimit = 32 << 20 }
        try await fixture.withCache { cache async throws in
            let body = longText(16_000)
            for number in 0..<1200 { try await cache.store(body, url: "http://h/\(number)") }
            #expect(try Self.size(of: fixture.namespace) >= 8 << 20)
            try await cache.remove(matching: .all)
            try await poll("the room is given back") { try Self.size(of: fixture.namespace) <= 4 << 20 }
        }
    }

    /// Returns the bytes of the blocks of all files below a directory, except the ballast and the index's log.
    private static func size(of directory: String) throws -> Int64 {
        let counted = files(below: directory).filter {
            $0 != "ballast" && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
        }
        return try counted.reduce(0) { sum, file in
            var raw = stat()
            try #require(lstat(directory + "/" + file, &raw) == 0)
            return sum + Int64(raw.st_blocks) * 512
        }
    }
}
