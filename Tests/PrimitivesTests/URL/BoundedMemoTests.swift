import Primitives
import Testing

@Suite("The bounded memo")
struct BoundedMemoTests {
    @Test("When the memo is full, a further value empties the memo, and the caller gets the removed values")
    func limit() {
        var memo = BoundedMemo<String, Int>(limit: 2)
        #expect(memo.remember(1, for: "a").isEmpty)
        #expect(memo.remember(2, for: "b").isEmpty)
        #expect(memo["a"] == 1 && memo["b"] == 2 && memo["c"] == nil)
        #expect(memo.remember(3, for: "c").count == 2)
        #expect(memo["a"] == nil && memo["c"] == 3 && memo.count == 1)
    }

    @Test("A repeated key counts once towards the limit, and keeps the newest value")
    func newest() {
        var memo = BoundedMemo<String, Int>(limit: 1)
        for value in 0..<5 { #expect(memo.remember(value, for: "a").isEmpty) }
        #expect(memo["a"] == 4 && memo.count == 1)
    }
}
