import Testing

@testable import Larder

@Suite("A linked table")
struct LinkedTableTests {
    @Test("The table keeps the order in which values were added, despite removals")
    func order() {
        var table = LinkedTable<Int, String>()
        for key in 0..<6 { table.append("\(key)", for: key) }
        #expect(table.prefix(3) == ["0", "1", "2"])
        let removed = [0, 3, 5, 3].map { table.remove($0) }
        #expect(removed == ["0", "3", "5", nil])
        #expect(table.prefix(9) == ["1", "2", "4"])
        table.append("1 again", for: 1)
        table.append("6", for: 6)
        #expect(table.prefix(9) == ["2", "4", "1 again", "6"])
        table.rotate()
        #expect(table.prefix(9) == ["4", "1 again", "6", "2"])
        #expect(table.first?.key == 4)
        for key in [1, 2, 4, 6] { table.remove(key) }
        #expect(table.isEmpty && table.count == 0 && table.first == nil)
        table.rotate()
        table.append("7", for: 7)
        #expect(table.prefix(9) == ["7"])
    }
}
