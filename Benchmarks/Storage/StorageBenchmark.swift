import ArgumentParser
import DiskCache
import Dispatch
import Foundation
import Primitives

/// Stores bodies in an empty cache and reads them in random order, without HTTP. `scripts/bench storage` runs this
/// program for each body size and each way to store bodies. The program prints one line of JSON.
@main
struct StorageBenchmark: ParsableCommand {
    @Argument(help: "An empty directory.")
    var directory: String

    @Option(help: "The length of each body.")
    var bodyBytes = 1024

    @Option(help: "The longest body that is kept in the slab; 0 makes every body a file.")
    var inlineLimit: Int64 = 16 << 10

    @Option(help: "The size of the index's pages.")
    var pageSize: Int?

    @Option(help: "After how many pages of its log the index makes a checkpoint.")
    var checkpointPages: Int?

    @Option(help: "The seconds to store, and the seconds to read.")
    var seconds = 5.0

    @Option(help: "How many stores wait for their answer at once.")
    var clients = 64

    @Option(help: "The durability: process or power.")
    var durability = Durability.process

    /// The limit of stored bytes, so that a run does not fill the disk.
    private static let mostBytes = 2 << 30

    func run() throws {
        let place = try CacheDirectory(path: directory)
        var configuration = CacheConfiguration()
        configuration.inlineLimit = inlineLimit
        configuration.durability = durability
        if let pageSize { configuration.indexPageSize = pageSize }
        if let checkpointPages { configuration.checkpointPages = checkpointPages }
        // Without a memory tier, all reads come from the disk tier.
        configuration.memoryLimit = 0
        // The files of earlier turns stay until the last turn ends. Without a reserve, they cause no eviction.
        configuration.diskReserve = .bytes(0)

        let stores: Measurement
        do {
            let cache = try DiskCache(in: place, configuration: configuration)
            defer { cache.close() }
            stores = try store(in: cache)
        }
        let cache = try DiskCache(in: place, configuration: configuration)
        defer { cache.close() }
        let reads = try read(from: cache, count: stores.count)
        print(
            """
            {"stores":\(stores.count),"storeSeconds":\(stores.seconds),\
            "reads":\(reads.count),"readSeconds":\(reads.seconds)}
            """)
    }

    private struct Measurement {
        var count: Int
        var seconds: Double
    }

    private func store(in cache: DiskCache) throws -> Measurement {
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: bodyBytes)
        let free = DispatchSemaphore(value: clients)
        let failure = Locked<DiskCacheError?>(nil)
        let start = ContinuousClock.now
        var count = 0
        while start.duration(to: .now) < .seconds(seconds), count * bodyBytes < Self.mostBytes {
            free.wait()
            let reservation = cache.reserve(try Self.key(count), kind: .data)
            try body.withUnsafeBytes { try reservation.receive($0) }
            reservation.publish(EntryMetadata(ttl: .seconds(86_400))) { result in
                if case .failure(let error) = result { failure.withLock { $0 = error } }
                free.signal()
            }
            count += 1
        }
        for _ in 0..<clients { free.wait() }
        let elapsed = start.duration(to: .now) / .seconds(1)
        // A semaphore must not be deallocated with a value below its initial value.
        for _ in 0..<clients { free.signal() }
        if let error = failure.withLock({ $0 }) { throw error }
        return Measurement(count: count, seconds: elapsed)
    }

    private func read(from cache: DiskCache, count: Int) throws -> Measurement {
        var random = SystemRandomNumberGenerator()
        let start = ContinuousClock.now
        var reads = 0
        while start.duration(to: .now) < .seconds(seconds) {
            let key = try Self.key(Int.random(in: 0..<count, using: &random))
            guard case .hit(let stored) = try cache.load(key.text), try stored.body.bytes().count == bodyBytes else {
                throw ValidationError("the entry \(key.text) is missing")
            }
            reads += 1
        }
        return Measurement(count: reads, seconds: start.duration(to: .now) / .seconds(1))
    }

    /// The key of entry `number`. Successive keys are in no order, as MD5 keys are.
    private static func key(_ number: Int) throws -> CacheKey {
        let mixed = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
        return try .data("entry-" + String(mixed, radix: 16))
    }
}

extension Durability: ExpressibleByArgument {}
