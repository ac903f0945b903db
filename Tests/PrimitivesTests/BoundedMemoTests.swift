import Primitives
import Testing

@Suite("What was worked out before")
struct BoundedMemoTests {
    @Test("is remembered up to the limit; then all is forgotten, and given back to be let go")
    func limit() {
        var memo = BoundedMemo<String, Int>(limit: 2)
        #expect(memo.remember(1, for: "a").isEmpty)
        #expect(memo.remember(2, for: "b").isEmpty)
        #expect(memo["a"] == 1 && memo["b"] == 2 && memo["c"] == nil)
        #expect(memo.remember(3, for: "c").count == 2)
        #expect(memo["a"] == nil && memo["c"] == 3 && memo.count == 1)
    }

    @Test("counts a key once, by what its newest value costs; what is above the limit is not remembered")
    func cost() {
        var memo = BoundedMemo<String, Int>(limit: 10)
        for value in 0..<5 { #expect(memo.remember(value, for: "a", cost: 6).isEmpty) }
        #expect(memo["a"] == 4 && memo.count == 1)
        #expect(memo.remember(9, for: "b", cost: 11).count == 1)
        #expect(memo["b"] == nil && memo.count == 0)
    }
}
