import Primitives

/// Dates with elements, the earliest first; elements of one date by their number. A binary heap. Its owner checks an
/// element when it comes out, because elements that have lost their meaning stay until then.
struct DueQueue<Element: Sendable>: Sendable {
    struct Item: Sendable {
        var due: Timestamp
        /// Breaks ties, and lets the owner recognize an item without a meaning.
        var number: Int64
        var element: Element
    }

    private var heap: [Item] = []

    var first: Item? { heap.first }

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

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (heap[left].due, heap[left].number) < (heap[right].due, heap[right].number)
    }
}
