import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The queues of the memory tier")
struct MemoryQueuesTests {
    @Test("The queues have the contents of two model lists after insertions, moves, removals and changes of cost")
    func model() {
        struct Item {
            var id: Int
            var key: String
            var cost: Int
        }
        var generator = SplitMix64(seed: 11)
        var queues = MemoryQueues()
        var model: [EvictionQueue: [Item]] = [.small: [], .main: []]
        for round in 0..<5000 {
            let queue: EvictionQueue = Bool.random(using: &generator) ? .small : .main
            let other: EvictionQueue = Bool.random(using: &generator) ? .small : .main
            let count = model[queue]?.count ?? 0
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                let cost = Int.random(in: 0..<100, using: &generator)
                let id = queues.insert(ExactText("\(round)"), cost: cost, at: QueuePlace(queue: queue))
                model[queue]?.append(Item(id: id, key: "\(round)", cost: cost))
            case 2 where count > 0:
                guard let oldest = queues.oldest(in: queue), let item = model[queue]?.removeFirst() else {
                    Issue.record("the queue is empty")
                    return
                }
                #expect(oldest.id == item.id)
                queues.move(oldest, to: QueuePlace(queue: other))
                model[other]?.append(item)
            case 3 where count > 0:
                guard let item = model[queue]?.remove(at: Int.random(in: 0..<count, using: &generator)) else { return }
                #expect(queues.key(of: item.id)?.text == item.key)
                let place = queues.remove(item.id)
                #expect(place.queue == queue)
            case 4 where count > 0:
                let index = Int.random(in: 0..<count, using: &generator)
                model[queue]?[index].cost = round
                if let id = model[queue]?[index].id { queues.setCost(round, of: id) }
            default: break
            }
            let (small, main) = (model[.small] ?? [], model[.main] ?? [])
            let smallBytes = small.reduce(0) { $0 + $1.cost }
            #expect(
                queues.totals
                    == QueueTotals(
                        entries: small.count + main.count, bytes: Int64(main.reduce(smallBytes) { $0 + $1.cost }),
                        smallBytes: Int64(smallBytes)))
            #expect(queues.oldest(in: .small)?.id == small.first?.id)
            #expect(queues.oldest(in: .main)?.id == main.first?.id)
        }
    }

    @Test("The queues count at most three hits of an entry")
    func hits() {
        var queues = MemoryQueues()
        let id = queues.insert(ExactText("a"), cost: 1, at: QueuePlace(queue: .small))
        for count in 1...5 {
            queues.hit(id)
            #expect(queues.oldest(in: .small)?.place.frequency == UInt8(min(count, 3)))
        }
    }
}
