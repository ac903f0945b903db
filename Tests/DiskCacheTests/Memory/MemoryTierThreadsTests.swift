import Dispatch
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The memory tier on many threads")
struct MemoryTierThreadsTests {
    @Test("The tier never holds more bytes than its limit under concurrent insertions")
    func byteBound() async {
        let limit = 64 * 1024
        let tier = MemoryTier<Int>(limit: limit, shardCount: 16)
        let largest = Locked(0)
        await onThreads(8) { thread in
            var generator = SplitMix64(seed: UInt64(thread))
            for round in 0..<5_000 {
                let key = "\(Int.random(in: 0..<2_000, using: &generator))"
                let cost = Int.random(in: 0...limit / 8, using: &generator)
                tier.insert(round, for: key, cost: cost, ticket: tier.ticket(for: key))
                if round % 16 == 0 { tier.remove(key) }
                if round % 64 == 0 {
                    let bytes = tier.bytesReserved
                    largest.withLock { $0 = max($0, bytes) }
                }
            }
        }
        #expect(largest.withLock { $0 } <= limit)
        let statistics = tier.statistics
        #expect(statistics.bytes <= limit)
        #expect(statistics.bytes == tier.bytesReserved, "the cost of each value is counted exactly once")
        tier.removeAll()
        #expect(tier.bytesReserved == 0)
    }

    @Test("A reader never finds a version that was replaced before the read")
    func noStaleVersion() async {
        let tier = MemoryTier<Int>(limit: 1_000_000, shardCount: 16)
        // The versions of two entries on disk.
        let disk = Locked([0, 0])
        let violations = Locked(0)
        await onThreads(4) { thread in
            for round in 0..<20_000 {
                let number = round % 2
                let key = "key \(number)"
                if thread == 0 {
                    // The only writer commits, and then removes the value from memory.
                    let version = disk.withLock { disk in
                        disk[number] += 1
                        return disk[number]
                    }
                    tier.remove(key)
                    if let found = tier.value(for: key), found < version { violations.withLock { $0 += 1 } }
                } else {
                    let ticket = tier.ticket(for: key)
                    let version = disk.withLock { $0[number] }
                    tier.insert(version, for: key, cost: 1, ticket: ticket)
                }
            }
        }
        for (number, version) in disk.withLock({ $0 }).enumerated() {
            if let found = tier.value(for: "key \(number)"), found < version { violations.withLock { $0 += 1 } }
        }
        #expect(violations.withLock { $0 } == 0)
    }
}
