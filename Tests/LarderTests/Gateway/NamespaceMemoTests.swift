import Testing

@testable import Larder

@Suite("The memo: remembered values of several namespaces")
struct NamespaceMemoTests {
    @Test("A namespace that floods the memo loses its own values, and no value of another namespace")
    func flood() {
        var memo = NamespaceMemo<Int>(limit: 100)
        for key in 0..<4 { _ = memo.remember(key, for: "\(key)", of: "calm", cost: 10) }
        for key in 0..<1_000 { _ = memo.remember(key, for: "\(key)", of: "flood", cost: 10) }
        let calm = (0..<4).map { memo["calm", "\($0)"] }
        #expect(calm == [0, 1, 2, 3])
        #expect(memo["flood", "999"] == 999)
        let left = (0..<1_000).filter { memo["flood", "\($0)"] != nil }
        #expect(left.count <= 6)
    }

    @Test("A value replaces the older value of its key, and a value above the limit is not remembered")
    func replacing() {
        var memo = NamespaceMemo<Int>(limit: 100)
        for value in 0..<1_000 { _ = memo.remember(value, for: "a", of: "calm", cost: 60) }
        _ = memo.remember(1, for: "b", of: "calm", cost: 40)
        #expect(memo["calm", "a"] == 999)
        #expect(memo["calm", "b"] == 1)
        _ = memo.remember(2, for: "c", of: "calm", cost: 101)
        #expect(memo["calm", "c"] == nil)
        #expect(memo["calm", "a"] == 999)
    }

    @Test("A memo that forgets a namespace drops its values, and has room for others")
    func forgetting() {
        var memo = NamespaceMemo<Int>(limit: 100)
        _ = memo.remember(1, for: "a", of: "old", cost: 90)
        _ = memo.remember(2, for: "a", of: "new", cost: 10)
        let forgotten = memo.forget("old")
        #expect(forgotten.map(\.count) == [1])
        let again = memo.forget("old")
        #expect(again.isEmpty)
        _ = memo.remember(3, for: "b", of: "new", cost: 90)
        #expect(memo["old", "a"] == nil)
        #expect(memo["new", "a"] == 2)
        #expect(memo["new", "b"] == 3)
    }
}
