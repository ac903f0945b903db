import Primitives
import TestSupport
import Testing

struct HeapTests {
    @Test("The elements of a heap come out in their order for any order of insertions", arguments: UInt64(0)..<20)
    func order(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var heap = Heap<Int>()
        var rest: [Int] = []
        for _ in 0..<500 {
            if Int.random(in: 0..<3, using: &random) == 0 {
                let least = rest.min()
                #expect(heap.first == least && heap.removeFirst() == least)
                if let least { rest.remove(at: rest.firstIndex(of: least)!) }
            } else {
                let element = Int.random(in: 0..<100, using: &random)
                heap.insert(element)
                rest.append(element)
            }
        }
        #expect(rest.sorted() == rest.map { _ in heap.removeFirst() })
        #expect(heap.first == nil && heap.removeFirst() == nil)
    }
}
