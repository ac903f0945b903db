import Primitives

/// Dates with elements, the earliest first; elements of one date by their number. A binary heap. Its owner checks an
/// element when it comes out, because elements that have lost their meaning stay until then, or until
/// ``compact(_:)``.
struct DueQueue<Element: Sendable>: Sendable {
    struct Item: Sendable {
        var due: Timestamp
        /// Breaks ties, and lets the owner recognize an item without a meaning.
        var number: Int64
        var element: Element
    }

    private var heap: [Item] = []

    var first: Item? { heap.first }
    /// The number of items, also of those without a meaning.
    var count: Int { heap.count }

    mutating func insert(_ element: Element, due: Timestamp, number: Int64) {
        heap.append(Item(due: due, number: number, element: element))
        var child = heap.count - 1
        while child > 0, precedes(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < heap.count else { return }
            let child = left + 1 < heap.count && precedes(left + 1, left) ? left + 1 : left
            guard precedes(child, parent) else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }

    /// Whether ``compact(_:)`` is due. `count` is the most items that have a meaning.
    func isSparse(_ count: Int) -> Bool { heap.count > 2 * count + 64 }

    /// Keeps certain items.
    mutating func compact(_ isKept: (Item) -> Bool) {
        // A sorted array is a heap.
        heap = heap.filter(isKept).sorted { ($0.due, $0.number) < ($1.due, $1.number) }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (heap[left].due, heap[left].number) < (heap[right].due, heap[right].number)
    }
}
