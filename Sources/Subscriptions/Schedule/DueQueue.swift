import Primitives

/// The members that wait for a request, by their hosts, and in each host by the time. An element that no longer fits
/// its member stays until it comes to the front; ``front(of:isCurrent:)`` then drops it.
struct DueQueue: Sendable {
    struct Element: Comparable, Sendable {
        var due: Timestamp
        var key: String

        static func < (left: Element, right: Element) -> Bool { (left.due, left.key) < (right.due, right.key) }
    }

    /// Binary heaps with the smallest element first. No heap is empty.
    private var heaps: [String: [Element]] = [:]

    var hosts: some Collection<String> { heaps.keys }

    mutating func add(_ element: Element, host: String) {
        var heap = heaps.removeValue(forKey: host) ?? []
        heap.append(element)
        var index = heap.count - 1
        while index > 0, heap[index] < heap[(index - 1) / 2] {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
        heaps[host] = heap
    }

    /// The first element that `isCurrent` accepts; `nil` when the host has none.
    mutating func front(of host: String, isCurrent: (Element) -> Bool) -> Element? {
        while let first = heaps[host]?.first {
            if isCurrent(first) { return first }
            removeFront(of: host)
        }
        return nil
    }

    mutating func removeFront(of host: String) {
        guard var heap = heaps.removeValue(forKey: host), let last = heap.popLast(), !heap.isEmpty else { return }
        heap[0] = last
        var index = 0
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
            guard heap[child] < heap[index] else { break }
            heap.swapAt(child, index)
            index = child
        }
        heaps[host] = heap
    }
}
