import Testing

@testable import DiskCache

@Suite("The memory tier")
struct MemoryTierTests {
    private func insert(_ tier: MemoryTier<String>, _ key: String, _ value: String, cost: Int) -> Bool {
        tier.insert(value, for: key, cost: cost, ticket: tier.ticket(for: key))
    }

    @Test("An inserted value is found, and hits and misses are counted")
    func hitsAndMisses() {
        let tier = MemoryTier<String>(limit: 1000)
        #expect(tier.value(for: "a") == nil)
        #expect(insert(tier, "a", "A", cost: 10))
        #expect(tier.value(for: "a") == "A")
        #expect(tier.value(for: "b") == nil)
        let statistics = tier.statistics
        #expect(statistics.count == 1)
        #expect(statistics.bytes == 10)
        #expect(statistics.hits == 1)
        #expect(statistics.misses == 2)
        #expect(statistics.evictions == 0)
    }

    @Test("A newer value replaces the older value and its cost")
    func replacing() {
        let tier = MemoryTier<String>(limit: 1000)
        #expect(insert(tier, "a", "old", cost: 100))
        #expect(insert(tier, "a", "new", cost: 7))
        #expect(tier.value(for: "a") == "new")
        #expect(tier.statistics.bytes == 7)
        #expect(tier.statistics.count == 1)
    }

    @Test("An insertion evicts the oldest values without hits")
    func eviction() {
        let tier = MemoryTier<String>(limit: 80, shardCount: 1)
        for key in "abcdefgh" { #expect(insert(tier, String(key), "value", cost: 10)) }
        #expect(tier.value(for: "a") != nil)
        #expect(insert(tier, "i", "value", cost: 10))
        #expect(tier.value(for: "b") == nil)
        #expect(insert(tier, "j", "value", cost: 5))
        #expect(tier.value(for: "c") == nil)
        #expect(insert(tier, "k", "value", cost: 5))
        for key in "adefghijk" { #expect(tier.value(for: String(key)) != nil, "\(key)") }
        #expect(tier.statistics.bytes == 80)
        #expect(tier.statistics.evictions == 2)
    }

    @Test("A value over an eighth of the limit is not kept, and evicts no other value")
    func tooLarge() {
        let tier = MemoryTier<String>(limit: 800)
        #expect(insert(tier, "a", "A", cost: 100))
        #expect(!insert(tier, "b", "B", cost: 101))
        #expect(tier.value(for: "a") == "A")
        #expect(tier.value(for: "b") == nil)
    }

    @Test("A limit of 0 keeps no value, not even a value without cost")
    func off() {
        let tier = MemoryTier<String>(limit: 0)
        #expect(!insert(tier, "a", "A", cost: 0))
        #expect(tier.value(for: "a") == nil)
    }

    @Test("A reader cannot insert a value that was replaced after it was read")
    func slowReader() {
        let tier = MemoryTier<String>(limit: 1000)
        let ticket = tier.ticket(for: "a")
        // The reader has read the old value. Now the writer has replaced the value on disk.
        tier.remove("a")
        #expect(!tier.insert("old", for: "a", cost: 1, ticket: ticket))
        #expect(tier.value(for: "a") == nil)
        #expect(tier.statistics.bytes == 0)
        #expect(insert(tier, "a", "new", cost: 1))
    }

    @Test("A reader cannot insert a value that was read before a purge of all values")
    func slowReaderAndPurge() {
        let tier = MemoryTier<String>(limit: 1000)
        let tickets = (0..<100).map { ("\($0)", tier.ticket(for: "\($0)")) }
        tier.removeAll()
        for (key, ticket) in tickets { #expect(!tier.insert("old", for: key, cost: 1, ticket: ticket)) }
        #expect(tier.statistics.count == 0)
    }

    @Test("A value that was read before an eviction can be inserted after the eviction")
    func ticketSurvivesTrim() {
        let tier = MemoryTier<String>(limit: 1000)
        #expect(insert(tier, "a", "A", cost: 1))
        let ticket = tier.ticket(for: "a")
        tier.trim(toBytes: 0)
        #expect(tier.insert("A", for: "a", cost: 1, ticket: ticket))
    }

    @Test("Keys that are canonically equivalent in Unicode, but differ in their bytes, have separate values")
    func canonicalEquivalence() {
        let tier = MemoryTier<String>(limit: 1000)
        #expect(insert(tier, "caf\u{E9}", "one scalar", cost: 1))
        #expect(tier.value(for: "cafe\u{301}") == nil)
        #expect(insert(tier, "cafe\u{301}", "two scalars", cost: 1))
        #expect(tier.value(for: "caf\u{E9}") == "one scalar")
    }

    @Test("After the removal of all values, the tier has room for as many new values")
    func removeAll() {
        let tier = MemoryTier<String>(limit: 800)
        for round in 0..<3 {
            for number in 0..<8 { #expect(insert(tier, "\(round)/\(number)", "value", cost: 100)) }
            #expect(tier.statistics.bytes == 800)
            tier.removeAll()
            #expect(tier.statistics.count == 0)
            #expect(tier.statistics.bytes == 0)
        }
    }

    @Test("A trim evicts values until the rest fits the target size")
    func trim() {
        let tier = MemoryTier<String>(limit: 10_000)
        for number in 0..<100 { #expect(insert(tier, "\(number)", "value", cost: 100)) }
        #expect(tier.trim(toBytes: 2_550) == 7_500)
        #expect(tier.statistics.bytes == 2_500)
        #expect(tier.trim(toBytes: 5_000) == 0)
        #expect(tier.statistics.bytes == 2_500)
        tier.trim(toBytes: 0)
        #expect(tier.statistics.count == 0)
        for number in 0..<100 { #expect(insert(tier, "\(number)", "value", cost: 100)) }
    }

    @Test("A large value evicts values of every shard, not only of its own")
    func evictionAcrossShards() {
        let tier = MemoryTier<String>(limit: 8_000, shardCount: 16)
        for number in 0..<800 { #expect(insert(tier, "\(number)", "value", cost: 10)) }
        #expect(insert(tier, "large", "value", cost: 1_000))
        #expect(tier.value(for: "large") != nil)
        #expect(tier.statistics.bytes == 8_000)
        #expect(tier.statistics.count == 701)
    }

    @Test("Bytes that are held outside the tier count in the tier's limit until they are released")
    func heldByOthers() {
        let tier = MemoryTier<String>(limit: 1000)
        for number in 0..<10 { #expect(insert(tier, "\(number)", "value", cost: 100)) }
        tier.setHeldByOthers(250)
        #expect(tier.statistics.bytes == 700)
        #expect(insert(tier, "more", "value", cost: 100))
        #expect(tier.statistics.bytes == 700)
        tier.trim(toBytes: 600)
        #expect(tier.statistics.bytes == 600)
        tier.setHeldByOthers(50)
        for number in 20..<23 { #expect(insert(tier, "\(number)", "value", cost: 100)) }
        #expect(tier.statistics.bytes == 900)
        #expect(tier.bytesReserved == 950)
    }

    @Test("A lowered current limit evicts values and bounds insertions; it rises again to at most the configured limit")
    func currentLimit() {
        let tier = MemoryTier<String>(limit: 8 << 20)
        for number in 0..<8 { #expect(insert(tier, "\(number)", "value", cost: 1 << 20)) }
        tier.setCurrentLimit(3 << 20)
        #expect(tier.statistics.bytes == 3 << 20)
        #expect(tier.currentLimit == 3 << 20)
        #expect(!insert(tier, "too large for now", "value", cost: 1 << 20))
        for number in 0..<50 { #expect(insert(tier, "small \(number)", "value", cost: 300_000)) }
        #expect(tier.statistics.bytes <= 3 << 20)
        tier.setCurrentLimit(9 << 20)
        #expect(tier.currentLimit == 8 << 20)
        for number in 0..<8 { #expect(insert(tier, "\(number)", "value", cost: 1 << 20)) }
        #expect(tier.statistics.bytes > 7 << 20)
    }

    @Test("A lowered limit leaves room for the bytes held outside the tier; when those bytes grow, values are evicted")
    func currentLimitBesideOthers() {
        let tier = MemoryTier<String>(limit: 8 << 20)
        tier.setHeldByOthers(2 << 20)
        for number in 0..<10 { #expect(insert(tier, "\(number)", "value", cost: 1 << 19)) }
        tier.setCurrentLimit(1 << 20)
        #expect(tier.statistics.bytes == 1 << 20)
        #expect(tier.currentLimit == 3 << 20)
        tier.setHeldByOthers(3 << 20)
        #expect(tier.statistics.bytes == 0)
    }

    @Test("After a requested value is replaced on disk, its new version counts as requested when it is inserted")
    func replacedInUse() {
        let tier = MemoryTier<String>(limit: 1000)
        #expect(insert(tier, "hot", "1", cost: 10))
        #expect(tier.value(for: "hot") == "1")
        for number in 0..<50 { #expect(insert(tier, "other \(number)", "value", cost: 10)) }
        tier.remove("hot")
        #expect(insert(tier, "hot", "2", cost: 10))
        for number in 0..<1000 { #expect(insert(tier, "once \(number)", "value", cost: 10)) }
        #expect(tier.value(for: "hot") == "2")
    }

    /// A value that reads the tier in `deinit`. The read would wait for ever if the tier still held the shard's lock.
    private final class CallsBack: Sendable {
        let tier: MemoryTier<CallsBack>

        init(_ tier: MemoryTier<CallsBack>) {
            self.tier = tier
        }

        deinit {
            _ = tier.statistics
        }
    }

    @Test("The tier releases a removed value only after it has released the lock of the value's shard")
    func dropping() {
        let tier = MemoryTier<CallsBack>(limit: 80, shardCount: 1)
        func add(_ key: String) {
            tier.insert(CallsBack(tier), for: key, cost: 10, ticket: tier.ticket(for: key))
        }
        for number in 0..<20 { add("\(number)") }
        add("19")
        tier.remove("19")
        tier.trim(toBytes: 30)
        #expect(tier.statistics.count == 3)
        tier.removeAll()
        #expect(tier.statistics.count == 0)
    }

    /// A value that removes a key in `deinit`, like a writer that commits while the tier makes room for the value of a
    /// reader.
    private final class RemovesWhenDropped: Sendable {
        let tier: MemoryTier<RemovesWhenDropped>
        let key: String

        init(_ tier: MemoryTier<RemovesWhenDropped>, removing key: String) {
            self.tier = tier
            self.key = key
        }

        deinit {
            tier.remove(key)
        }
    }

    @Test("A value that is replaced on disk while the tier makes room for it is not inserted, and the room is freed")
    func replacedWhileMakingRoom() {
        let tier = MemoryTier<RemovesWhenDropped>(limit: 80, shardCount: 1)
        for number in 0..<8 {
            let value = RemovesWhenDropped(tier, removing: number == 0 ? "slow" : "nothing")
            tier.insert(value, for: "\(number)", cost: 10, ticket: tier.ticket(for: "\(number)"))
        }
        let ticket = tier.ticket(for: "slow")
        let old = RemovesWhenDropped(tier, removing: "nothing")
        #expect(!tier.insert(old, for: "slow", cost: 10, ticket: ticket))
        #expect(tier.value(for: "slow") == nil)
        #expect(tier.bytesReserved == 70)
        tier.removeAll()
    }
}
