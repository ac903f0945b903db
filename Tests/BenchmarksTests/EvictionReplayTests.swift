import TestSupport
import Testing
import TraceReplay

@Suite("The replay of request traces")
struct EvictionReplayTests {
    /// Returns a trace of `count` requests, in which the popularity of a key falls with the key's rank, and of `scans`
    /// runs of keys that are requested only once.
    private static func trace(_ count: Int, keys: Int, scans: Int = 0, scale: Int = 1) -> Trace {
        var generator = SplitMix64(seed: 42)
        var sums = [0.0]
        for rank in 1...keys { sums.append(sums[rank - 1] + 1 / Double(rank)) }
        var requests: [Trace.Request] = []
        for round in 0..<count {
            let point = Double.random(in: 0..<sums[keys], using: &generator)
            var (low, high) = (0, keys)
            while high - low > 1 {
                let middle = (low + high) / 2
                if sums[middle] <= point { low = middle } else { high = middle }
            }
            // Every tenth key is twenty times as large as the rest.
            requests.append(.init(key: "k\(low)", size: (low % 10 == 7 ? 20_000 : 1000) * scale))
            if scans > 0, round % (count / scans) == 0 {
                requests += (0..<keys / 4).map { .init(key: "scan \(round) \($0)", size: 1000) }
            }
        }
        return Trace(requests)
    }

    /// The miss ratio of a cache that evicts the least recently used key.
    private static func leastRecentlyUsed(_ trace: Trace, capacity: Int) -> Double {
        var lastUse: [String: Int] = [:]
        var order: [(key: String, size: Int)] = []
        var (misses, bytes, oldest) = (0, 0, 0)
        for request in trace.requests {
            if lastUse[request.key] == nil {
                misses += 1
                bytes += request.size
            }
            lastUse[request.key] = order.count
            order.append((request.key, request.size))
            while bytes > capacity {
                let (key, size) = order[oldest]
                if lastUse[key] == oldest {
                    lastUse[key] = nil
                    bytes -= size
                }
                oldest += 1
            }
        }
        return Double(misses) / Double(trace.requests.count)
    }

    private static func diskTier(_ trace: Trace, capacity: Int) throws -> EvictionReplay.Outcome {
        let temporary = try TemporaryDirectory("larder-replay")
        return try EvictionReplay.diskTier(trace, capacity: capacity, directory: temporary.path("cache"))
    }

    @Test(
        "Memory tier and disk tier miss less often than a least-recently-used cache, and almost equally often",
        arguments: [5, 20])
    func ratios(percent: Int) throws {
        let trace = Self.trace(15_000, keys: 3000)
        let capacity = trace.footprint * percent / 100
        let memory = EvictionReplay.memoryTier(trace, capacity: capacity)
        let disk = try Self.diskTier(trace, capacity: capacity)
        let other = Self.leastRecentlyUsed(trace, capacity: capacity)
        #expect(memory.requests == trace.requests.count)
        #expect(memory.objectMissRatio < other * 0.95)
        #expect(disk.objectMissRatio < other * 0.95)
        // The ratios differ slightly: some hashes collide, and the index does not get all hits of the disk tier.
        #expect(abs(disk.objectMissRatio / memory.objectMissRatio - 1) < 0.01)
        #expect(disk.policyBytes <= 16 * disk.entries + 72)
    }

    @Test("A run of keys requested once causes less than half of the misses that it causes in an LRU cache")
    func scans() throws {
        let (calm, scanned) = (Self.trace(10_000, keys: 2000), Self.trace(10_000, keys: 2000, scans: 20))
        let capacity = calm.footprint / 20
        let scanLength = scanned.requests.count - calm.requests.count
        func lost(_ misses: Int, _ calmMisses: Int) -> Double {
            Double(misses - scanLength - calmMisses) / Double(calm.requests.count)
        }
        let memory = lost(
            EvictionReplay.memoryTier(scanned, capacity: capacity).misses,
            EvictionReplay.memoryTier(calm, capacity: capacity).misses)
        let disk = lost(
            try Self.diskTier(scanned, capacity: capacity).misses, try Self.diskTier(calm, capacity: capacity).misses)
        let other = lost(
            Int((Self.leastRecentlyUsed(scanned, capacity: capacity) * Double(scanned.requests.count)).rounded()),
            Int((Self.leastRecentlyUsed(calm, capacity: capacity) * Double(calm.requests.count)).rounded()))
        #expect(memory < other / 2, "\(memory) \(other)")
        #expect(disk < other / 2, "\(disk) \(other)")
    }

    @Test("A memory tier with several shards misses at most 2 % more often than a tier with a single shard")
    func shards() {
        let trace = Self.trace(20_000, keys: 10_000, scale: 100)
        let capacity = 256 << 20
        let one = EvictionReplay.memoryTier(trace, capacity: capacity, shardCount: 1).objectMissRatio
        let many = EvictionReplay.memoryTier(trace, capacity: capacity).objectMissRatio
        #expect(many < one * 1.02, "\(many) \(one)")
    }

    @Test("Pinned entries are never evicted, even when the unpinned entries do not fit into the cache")
    func pinned() throws {
        let temporary = try TemporaryDirectory("larder-replay")
        let trace = Self.trace(5000, keys: 2000)
        let outcome = try EvictionReplay.diskTier(
            trace, capacity: trace.footprint / 20, directory: temporary.path("cache"), pinnedShare: 0.3)
        #expect(outcome.pinned > 5)
        #expect(outcome.pinnedLost == 0)
        #expect(outcome.misses > 1000)
    }

    @Test("Published miss ratios are read from a Markdown table; a missing cell gives no ratio")
    func published() {
        let table = """
            # Traces
            | trace | share | LRU | SIEVE |
            |---|---|---|---|
            | web | 1 % | 0.5 | 0.25 |
            | blocks | 10 % | 0.75 / 0.9 | ? |
            """
        let published = PublishedRatios(markdown: table)
        let web = published.ratios(of: "web", percent: 1)
        #expect(web.map(\.policy) == ["LRU", "SIEVE"])
        #expect(web.map(\.objects) == [0.5, 0.25])
        #expect(web.map(\.bytes) == [nil, nil])
        let blocks = published.ratios(of: "blocks", percent: 10)
        #expect(blocks.count == 1 && blocks[0].objects == 0.75 && blocks[0].bytes == 0.9)
        #expect(published.ratios(of: "web", percent: 10).isEmpty)
    }
}
