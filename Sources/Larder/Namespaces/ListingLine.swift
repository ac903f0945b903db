import Dispatch
import Synchronization

/// A namespace's queue for requests that may read many of its entries. They run one after another on a thread that
/// serves no connections, and the length of the queue is limited.
package final class ListingLine: Sendable {
    /// Includes the running request.
    package static let limit = 64

    private let queue = DispatchQueue(label: "larder.listings")
    private let count = Atomic<Int>(0)

    /// Runs `work` in its turn. Returns `false`, without running `work`, when the queue is full.
    package func enter(_ work: @escaping @Sendable () -> Void) -> Bool {
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
