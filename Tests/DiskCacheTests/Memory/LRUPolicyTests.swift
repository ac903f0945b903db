import TestSupport
import Testing

@testable import DiskCache

@Suite("LRU policy")
struct LRUPolicyTests {
    private func drain(_ policy: inout LRUPolicy<String>) -> [String] {
        var keys: [String] = []
        while let key = policy.victim() { keys.append(key) }
        return keys
    }

    @Test("without hits, what was inserted first goes first")
    func insertionOrder() {
        var policy = LRUPolicy<String>()
        for key in ["a", "b", "c"] { _ = policy.insert(key, cost: 1) }
        #expect(drain(&policy) == ["a", "b", "c"])
    }

    @Test("a hit makes a key the last to go")
    func hits() {
        var policy = LRUPolicy<String>()
        let slots = ["a", "b", "c", "d"].map { policy.insert($0, cost: 1) }
        policy.hit(slots[0])
        policy.hit(slots[2])
        policy.hit(slots[2])
        #expect(drain(&policy) == ["b", "d", "a", "c"])
    }

    @Test("what was removed is never the victim, wherever it stood")
    func removal() {
        for removed in 0..<3 {
            var policy = LRUPolicy<String>()
            var keys = ["a", "b", "c"]
            let slots = keys.map { policy.insert($0, cost: 1) }
            policy.remove(slots[removed])
            keys.remove(at: removed)
            #expect(drain(&policy) == keys)
        }
    }

    @Test("an empty policy has no victim")
    func empty() {
        var policy = LRUPolicy<String>()
        #expect(policy.victim() == nil)
        let slot = policy.insert("a", cost: 1)
        policy.remove(slot)
        #expect(policy.victim() == nil)
    }

    @Test("it agrees with a list that is searched from end to end")
    func model() {
        var generator = SplitMix64(seed: 3)
        var policy = LRUPolicy<Int>()
        var model: [Int] = []
        var slots: [Int: Int] = [:]
        for key in 0..<5000 {
            switch Int.random(in: 0..<4, using: &generator) {
            case 0, 1:
                slots[key] = policy.insert(key, cost: 1)
                model.append(key)
            case 2:
                guard let hit = model.randomElement(using: &generator), let slot = slots[hit] else { continue }
                policy.hit(slot)
                model.removeAll { $0 == hit }
                model.append(hit)
            default:
                if Bool.random(using: &generator) {
                    #expect(policy.victim() == model.first)
                    if !model.isEmpty { slots[model.removeFirst()] = nil }
                } else if let gone = model.randomElement(using: &generator), let slot = slots.removeValue(forKey: gone)
                {
                    policy.remove(slot)
                    model.removeAll { $0 == gone }
                }
            }
        }
        while let key = policy.victim() { #expect(key == model.removeFirst()) }
        #expect(model.isEmpty)
    }
}
