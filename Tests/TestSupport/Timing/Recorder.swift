import Primitives

/// A list that threads append to and a test reads.
package final class Recorder<Element: Sendable>: Sendable {
    private let list = Locked<[Element]>([])

    /// An empty list.
    package init() {}

    /// The elements appended so far, in order.
    package var elements: [Element] { list.withLock { $0 } }

    /// Appends an element.
    package func append(_ element: Element) {
        list.withLock { $0.append(element) }
    }

    /// Appends the element that `make` returns for the number of earlier elements, and returns that element.
    @discardableResult
    package func append(_ make: @Sendable (Int) -> Element) -> Element {
        list.withLock { list in
            let element = make(list.count)
            list.append(element)
            return element
        }
    }

    /// Empties the list.
    package func removeAll() {
        list.withLock { $0 = [] }
    }
}
