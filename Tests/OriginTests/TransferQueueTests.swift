import TestSupport
import Testing

@testable import Origin

@Suite struct TransferQueueTests {
    private func queue(_ limit: Int, perHost: Int, _ waiting: [(UInt64, String)]) -> TransferQueue {
        var queue = TransferQueue(limit: limit, limitPerHost: perHost)
        for (transfer, host) in waiting { queue.enqueue(transfer, host: host) }
        return queue
    }

    private func drain(_ queue: inout TransferQueue) -> [UInt64] {
        var started: [UInt64] = []
        while let next = queue.next() { started.append(next) }
        return started
    }

    @Test("Transfers of a host run in order of arrival, up to the host's limit")
    func order() {
        var queue = queue(10, perHost: 2, [(1, "a"), (2, "a"), (3, "a"), (4, "a")])
        #expect(drain(&queue) == [1, 2])
        queue.remove(2)
        #expect(drain(&queue) == [3])
        queue.remove(1)
        queue.remove(3)
        #expect(drain(&queue) == [4])
    }

    @Test("Over all hosts together, no more transfers run than the total limit allows")
    func total() {
        var queue = queue(3, perHost: 2, [(1, "a"), (2, "b"), (3, "c"), (4, "d")])
        #expect(drain(&queue) == [1, 2, 3])
        #expect(queue.runningCount == 3)
        #expect(queue.waitingCount == 1)
        queue.remove(2)
        #expect(drain(&queue) == [4])
    }

    @Test("Hosts take turns, so that the long queue of one host does not delay another")
    func fairness() {
        var queue = TransferQueue(limit: 1, limitPerHost: 1)
        for transfer in 1...100 { queue.enqueue(UInt64(transfer), host: "busy") }
        #expect(queue.next() == 1)
        queue.enqueue(1000, host: "quiet")
        queue.remove(1)
        var order: [UInt64] = []
        while let next = queue.next(), order.count < 4 {
            order.append(next)
            queue.remove(next)
        }
        #expect(order.firstIndex(of: 1000)! <= 1)
    }

    @Test("A host at its limit does not delay other hosts")
    func limitedHost() {
        var queue = queue(10, perHost: 1, [(1, "a"), (2, "a"), (3, "b")])
        #expect(drain(&queue) == [1, 3])
    }

    @Test("A transfer that is removed from the queue before its start never starts, and frees no place of its host")
    func leaving() {
        var queue = queue(10, perHost: 1, [(1, "a"), (2, "a"), (3, "a")])
        #expect(queue.next() == 1)
        queue.remove(2)
        queue.remove(2)
        #expect(queue.next() == nil)
        queue.remove(1)
        #expect(queue.next() == 3)
        queue.remove(3)
        #expect(queue.runningCount == 0)
        #expect(queue.waitingCount == 0)
    }

    @Test("A redirected transfer becomes the first transfer in the queue of its new host")
    func redirected() {
        var queue = queue(10, perHost: 1, [(1, "a"), (2, "b"), (3, "b")])
        #expect(drain(&queue) == [1, 2])
        queue.remove(1)
        queue.enqueue(1, host: "b", first: true)
        #expect(queue.next() == nil)
        queue.remove(2)
        #expect(queue.next() == 1)
    }

    @Test("In 10,000 random steps, the queue keeps the limits and each host's order, and loses no transfer")
    func randomSteps() {
        var generator = SplitMix64(seed: 42)
        var queue = TransferQueue(limit: 8, limitPerHost: 3)
        var waiting: [String: [UInt64]] = [:]
        var running: [UInt64: String] = [:]
        var transfer: UInt64 = 0
        for _ in 0..<10_000 {
            switch generator.next() % 4 {
            case 0, 1:
                transfer += 1
                let host = "h\(generator.next() % 5)"
                queue.enqueue(transfer, host: host)
                waiting[host, default: []].append(transfer)
            case 2:
                if let one = running.keys.sorted().first {
                    queue.remove(one)
                    running[one] = nil
                }
            default:
                let host = "h\(generator.next() % 5)"
                if let line = waiting[host], !line.isEmpty {
                    let one = line[Int(generator.next() % UInt64(line.count))]
                    queue.remove(one)
                    waiting[host]?.removeAll { $0 == one }
                }
            }
            while let next = queue.next() {
                let host = waiting.first { $0.value.first == next }?.key
                #expect(host != nil, "\(next) was not the first of any line")
                guard let host else { return }
                waiting[host]?.removeFirst()
                running[next] = host
            }
            #expect(running.count <= 8)
            #expect(Dictionary(grouping: running.values, by: { $0 }).values.allSatisfy { $0.count <= 3 })
            let couldRun =
                running.count < 8
                && waiting.contains { host, line in !line.isEmpty && running.values.count { $0 == host } < 3 }
            #expect(!couldRun, "a transfer waits although it could run")
        }
        #expect(queue.waitingCount == waiting.values.reduce(0) { $0 + $1.count })
    }
}
