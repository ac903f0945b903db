import Primitives

/// Dates with elements, the earliest first; elements of one date by their number. Its owner checks an element when it
/// comes out, because elements that have lost their meaning stay until then, or until ``compact(_:)``.
struct DueQueue<Element: Sendable>: Sendable {
    struct Item: Comparable, Sendable {
        var due: Timestamp
        /// Breaks ties, and lets the owner recognize an item without a meaning.
        var number: Int64
        var element: Element

        static func == (left: Item, right: Item) -> Bool { (left.due, left.number) == (right.due, right.number) }
        static func < (left: Item, right: Item) -> Bool { (left.due, left.number) < (right.due, right.number) }
    }

    private var items = Heap<Item>()

    var first: Item? { items.first }
    /// The number of items, also of those without a meaning.
    var count: Int { items.count }

    mutating func insert(_ element: Element, due: Timestamp, number: Int64) {
        items.insert(Item(due: due, number: number, element: element))
    }

    mutating func removeFirst() { items.removeFirst() }

    /// Whether ``compact(_:)`` is due. `count` is the most items that have a meaning.
    func isSparse(_ count: Int) -> Bool { items.count > 2 * count + 64 }

    /// Keeps certain items.
    mutating func compact(_ isKept: (Item) -> Bool) { items.filter(isKept) }
}
