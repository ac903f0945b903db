import Primitives

/// A list that threads append to and a test reads.
public final class Recorder<Element: Sendable>: Sendable {
    private let list = Locked<[Element]>([])

    /// An empty list.
    public init() {}

    /// The elements appended so far, in order.
    public var elements: [Element] { list.withLock { $0 } }

    /// Appends an element.
    public func append(_ element: Element) {
        list.withLock { $0.append(element) }
    }

    /// Appends the element that `make` returns for the number of earlier elements, and returns that element.
    @discardableResult
    public func append(_ make: @Sendable (Int) -> Element) -> Element {
        list.withLock { list in
            let element = make(list.count)
            list.append(element)
            return element
        }
    }

    /// Empties the list.
    public func removeAll() {
        list.withLock { $0 = [] }
    }
}
