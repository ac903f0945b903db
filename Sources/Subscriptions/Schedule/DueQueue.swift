import Primitives

/// The members that wait for a request, by their hosts, and in each host by the time. An element that no longer fits
/// its member stays until it comes to the front; ``front(of:isCurrent:)`` then drops it.
struct DueQueue: Sendable {
    struct Element: Comparable, Sendable {
        var due: Timestamp
        var key: String

        static func < (left: Element, right: Element) -> Bool { (left.due, left.key) < (right.due, right.key) }
    }

    /// No heap is empty.
    private var heaps: [String: Heap<Element>] = [:]

    var hosts: some Collection<String> { heaps.keys }

    mutating func add(_ element: Element, host: String) { heaps[host, default: Heap()].insert(element) }

    /// The first element that `isCurrent` accepts; `nil` when the host has none.
    mutating func front(of host: String, isCurrent: (Element) -> Bool) -> Element? {
        while let first = heaps[host]?.first {
            if isCurrent(first) { return first }
            removeFront(of: host)
        }
        return nil
    }

    mutating func removeFront(of host: String) {
        heaps[host]?.removeFirst()
        if heaps[host]?.first == nil { heaps[host] = nil }
    }
}
