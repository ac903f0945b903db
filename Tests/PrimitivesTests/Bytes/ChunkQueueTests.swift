import Testing

@testable import Primitives

@Suite("The queue of bytes to send")
struct ChunkQueueTests {
    private func take(_ count: Int, from queue: inout ChunkQueue) -> [UInt8] {
        var target = [UInt8](repeating: 0, count: count)
        let taken = target.withUnsafeMutableBytes { queue.take(into: $0) }
        return Array(target[..<taken])
    }

    @Test("Bytes leave the queue in order, for pieces of any size")
    func order() {
        var queue = ChunkQueue()
        for start in stride(from: UInt8(0), to: 200, by: 2) { queue.append(SharedBytes([start, start + 1])) }
        var taken: [UInt8] = []
        while queue.count > 0 { taken += take(3, from: &queue) }
        #expect(taken == Array(0..<200))
        queue.append(SharedBytes([7]))
        #expect(take(3, from: &queue) == [7])
    }

    @Test("A piece is released as soon as its bytes are taken, while other pieces wait")
    func release() {
        var queue = ChunkQueue()
        weak var first: SharedBytes?
        do {
            let bytes = SharedBytes([1, 2])
            first = bytes
            queue.append(bytes)
        }
        queue.append(SharedBytes([3]))
        #expect(take(1, from: &queue) == [1])
        #expect(first != nil)
        #expect(take(1, from: &queue) == [2])
        #expect(first == nil)
        #expect(queue.count == 1)
    }
}
