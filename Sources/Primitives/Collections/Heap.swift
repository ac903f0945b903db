/// Elements of which the smallest comes out first: a binary heap. Equal elements come out in any order.
package struct Heap<Element: Comparable> {
    private var elements: [Element] = []

    /// An empty heap.
    package init() {}

    /// The smallest element; `nil`: the heap is empty.
    package var first: Element? { elements.first }
    package var count: Int { elements.count }

    /// Needs a time that is logarithmic in the number of elements, as ``removeFirst()`` does.
    package mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0, elements[child] < elements[(child - 1) / 2] {
            elements.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the smallest element; `nil`: the heap is empty.
    @discardableResult
    package mutating func removeFirst() -> Element? {
        guard let last = elements.popLast() else { return nil }
        guard let first = elements.first else { return last }
        elements[0] = last
        var parent = 0
        while true {
            var child = 2 * parent + 1
            if child + 1 < elements.count, elements[child + 1] < elements[child] { child += 1 }
            guard child < elements.count, elements[child] < elements[parent] else { return first }
            elements.swapAt(child, parent)
            parent = child
        }
    }

    /// Keeps certain elements. Sorts them, because a sorted array is a heap.
    package mutating func filter(_ isKept: (Element) -> Bool) {
        elements = elements.filter(isKept).sorted()
    }
}

extension Heap: Sendable where Element: Sendable {}
