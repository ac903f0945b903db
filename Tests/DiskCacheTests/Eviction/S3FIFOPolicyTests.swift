import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The S3-FIFO policy")
struct S3FIFOPolicyTests {
    /// A cache of a fixed capacity, which uses the policy as a shard of the memory tier does.
    private struct Cache {
        let capacity: Int64
        var policy = S3FIFOPolicy()
        var queues = MemoryQueues()
        var ids: [String: Int] = [:]

        init(_ capacity: Int64) {
            self.capacity = capacity
        }

        var keys: [String] { ids.keys.sorted() }

        /// Requests a key, and inserts a missing key. Returns whether the key was in the cache.
        @discardableResult
        mutating func ask(_ key: String, cost: Int = 1) -> Bool {
            if let id = ids[key] {
                queues.hit(id)
                return true
            }
            while queues.totals.bytes + Int64(cost) > capacity, evict() != nil {}
            let key = ExactText(key)
            let place = policy.place(hash: key.hashValue, cost: Int64(cost), among: queues.totals)
            ids[key.text] = queues.insert(key, cost: cost, at: place)
            return false
        }

        mutating func evict() -> String? {
            guard let victim = policy.victim(of: &queues, sparesNewest: false), let key = queues.key(of: victim.id)
            else { return nil }
            queues.remove(victim.id)
            ids[key.text] = nil
            return key.text
        }
    }

    @Test("Without hits, keys are evicted in the order of insertion; an empty cache has no victim")
    func insertionOrder() {
        var cache = Cache(3)
        for key in ["a", "b", "c"] { cache.ask(key) }
        var order: [String] = []
        while let key = cache.evict() { order.append(key) }
        #expect(order == ["a", "b", "c"])
        #expect(cache.queues.totals == QueueTotals())
    }

    @Test("Keys that are requested twice are not evicted by any number of keys that are requested once")
    func scan() {
        var cache = Cache(100)
        for number in 0..<50 { for _ in 0..<2 { cache.ask("hot \(number)") } }
        for number in 0..<10_000 { cache.ask("once \(number)") }
        #expect((0..<50).allSatisfy { cache.ids["hot \($0)"] != nil })
    }

    @Test("A key that is requested again soon after its eviction is not evicted a second time")
    func ghost() {
        var cache = Cache(100)
        cache.ask("back")
        for number in 0..<100 { cache.ask("once \(number)") }
        #expect(cache.ids["back"] == nil)
        cache.ask("back")
        for number in 100..<1000 { cache.ask("once \(number)") }
        #expect(cache.ids["back"] != nil)
    }

    @Test("A key that was evicted long ago counts as new")
    func oldGhost() {
        var cache = Cache(100)
        cache.ask("back")
        for number in 0..<1000 { cache.ask("once \(number)") }
        cache.ask("back")
        for number in 1000..<1200 { cache.ask("once \(number)") }
        #expect(cache.ids["back"] == nil)
    }

    @Test("A large entry needs one request more than a small entry to avoid eviction")
    func large() {
        var cache = Cache(1000)
        for number in 0..<500 { cache.ask("small \(number)") }
        for _ in 0..<2 { cache.ask("large", cost: 100) }
        for _ in 0..<3 { cache.ask("in use", cost: 100) }
        for _ in 0..<2 { cache.ask("little") }
        for number in 0..<3000 { cache.ask("once \(number)") }
        #expect(cache.ids["large"] == nil)
        #expect(cache.ids["in use"] != nil)
        #expect(cache.ids["little"] != nil)
    }

    @Test("The choice of a victim moves at most 1,000 entries, even if all entries have the most hits")
    func bounded() {
        /// Counts the moves between and within queues.
        struct Counting: EvictionQueues {
            var queues = MemoryQueues()
            var moves = 0
            var totals: QueueTotals { queues.totals }
            mutating func oldest(in queue: EvictionQueue) -> QueuedEntry<Int>? { queues.oldest(in: queue) }
            mutating func move(_ entry: QueuedEntry<Int>, to place: QueuePlace) {
                moves += 1
                queues.move(entry, to: place)
            }
        }
        var queues = Counting()
        var policy = S3FIFOPolicy()
        for number in 0..<5000 {
            let id = queues.queues.insert(ExactText("\(number)"), cost: 1, at: QueuePlace(queue: .main))
            for _ in 0..<10 { queues.queues.hit(id) }
        }
        let victim = policy.victim(of: &queues, sparesNewest: false)
        #expect(victim != nil)
        #expect(queues.moves <= 1000)
    }

    @Test(
        "After a key is removed from the main queue, its first insertion is into that queue, its second into the small"
    )
    func replaced() {
        var policy = S3FIFOPolicy()
        let totals = QueueTotals(entries: 10, bytes: 10, smallBytes: 1)
        policy.remember(hash: 1 << 40, place: QueuePlace(queue: .small), totals: totals)
        policy.remember(hash: 2 << 40, place: QueuePlace(queue: .main), totals: totals)
        let queues = [1, 2, 2].map { policy.place(hash: $0 << 40, cost: 1, among: totals).queue }
        #expect(queues == [.small, .main, .small])
    }

    @Test("While no store waits for room, the newest entry stays, even if the small queue exceeds a tenth of the bytes")
    func newest() {
        var cache = Cache(100)
        for number in 0..<40 { for _ in 0..<2 { cache.ask("hot \(number)") } }
        cache.ask("large", cost: 30)
        // The hot keys move to the main queue as soon as the small queue exceeds its tenth of the bytes.
        cache.ask("next", cost: 40)
        #expect(cache.ids["large"] == nil && cache.ids["next"] != nil)
        let victim = cache.policy.victim(of: &cache.queues, sparesNewest: true)
        #expect(victim.flatMap { cache.queues.key(of: $0.id)?.text }?.hasPrefix("hot") == true)
        // When a store waits for room, the newest entry is the next victim.
        let next = cache.policy.victim(of: &cache.queues, sparesNewest: false)
        #expect(next.flatMap { cache.queues.key(of: $0.id)?.text } == "next")
    }

    @Test("While no store waits for room, an entry that is the newest and only one is not evicted")
    func onlyOne() {
        var cache = Cache(100)
        cache.ask("only", cost: 90)
        #expect(cache.policy.victim(of: &cache.queues, sparesNewest: true) == nil)
        #expect(cache.evict() == "only")
    }
}
