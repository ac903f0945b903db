import Dispatch
import Synchronization

/// A namespace's line of those who ask for something that may look at many of its entries: they take turns on a thread
/// that serves no connections, and only so many may wait.
public final class ListingLine: Sendable {
    /// How many may be in the line.
    public static let limit = 64

    private let queue = DispatchQueue(label: "larder.listings")
    private let count = Atomic<Int>(0)

    /// Runs `work` when it is its turn; `false`, and nothing happens, when the line is full.
    public func enter(_ work: @escaping @Sendable () -> Void) -> Bool {
        guard count.add(1, ordering: .relaxed).newValue <= Self.limit else {
            count.subtract(1, ordering: .relaxed)
            return false
        }
        queue.async { [self] in
            work()
            count.subtract(1, ordering: .relaxed)
        }
        return true
    }
}
