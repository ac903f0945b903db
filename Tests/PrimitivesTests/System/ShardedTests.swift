import Primitives
import Testing

@Suite("Sharded states")
struct ShardedTests {
    @Test(
        "The number of shards is rounded down to a power of two, at least 1",
        arguments: [(-1, 1), (0, 1), (1, 1), (3, 2), (16, 16), (31, 16)])
    func count(asked: Int, made: Int) {
        #expect(Sharded(count: asked) { 0 }.all.count == made)
    }

    @Test("Two hashes, even negative hashes, share a shard exactly if their lowest bits are equal")
    func shards() {
        let shards = Sharded(count: 4) { 0 }
        for hash in [0, 1, 2, 3, 4, -1, Int.min] { shards[hash].withLock { $0 += 1 } }
        // 0, 4 and Int.min end in the same two bits, as 3 and -1 do.
        #expect(shards.all.map { $0.withLock { $0 } } == [3, 1, 1, 2])
        #expect(shards.sum { $0 } == 7)
    }
}
