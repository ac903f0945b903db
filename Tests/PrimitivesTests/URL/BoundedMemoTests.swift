import Primitives
import Testing

@Suite("The bounded memo")
struct BoundedMemoTests {
    @Test("Values are remembered up to the limit; beyond it the memo is emptied, and returns its old values")
    func limit() {
        var memo = BoundedMemo<String, Int>(limit: 2)
        #expect(memo.remember(1, for: "a").isEmpty)
        #expect(memo.remember(2, for: "b").isEmpty)
        #expect(memo["a"] == 1 && memo["b"] == 2 && memo["c"] == nil)
        #expect(memo.remember(3, for: "c").count == 2)
        #expect(memo["a"] == nil && memo["c"] == 3 && memo.count == 1)
    }

    @Test("A key counts once, with its newest value")
    func newest() {
        var memo = BoundedMemo<String, Int>(limit: 1)
        for value in 0..<5 { #expect(memo.remember(value, for: "a").isEmpty) }
        #expect(memo["a"] == 4 && memo.count == 1)
    }
}
