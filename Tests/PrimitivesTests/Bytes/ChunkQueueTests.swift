import Testing

@testable import Primitives

@Suite("The queue of bytes to send")
struct ChunkQueueTests {
    private func take(_ count: Int, from queue: inout ChunkQueue) -> [UInt8] {
        var target = [UInt8](repeating: 0, count: count)
        let taken = target.withUnsafeMutableBytes { queue.take(into: $0) }
        return Array(target[..<taken])
    }

    @Test("The queue returns bytes in the order in which they were added, in pieces of any size")
    func order() {
        var queue = ChunkQueue()
        for start in stride(from: UInt8(0), to: 200, by: 2) { queue.append(SharedBytes([start, start + 1])) }
        var taken: [UInt8] = []
        while queue.count > 0 { taken += take(3, from: &queue) }
        #expect(taken == Array(0..<200))
        queue.append(SharedBytes([7]))
        #expect(take(3, from: &queue) == [7])
    }

    @Test("The queue releases a piece as soon as all bytes of the piece are taken, while other pieces wait")
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
