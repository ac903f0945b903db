import Synchronization

/// A limit for places or bytes of memory that several owners share. An owner may take more if its part is then no
/// larger than the rest that no owner has taken: a single owner gets half of the limit, the next owner a quarter, and
/// so on. Each owner always gets up to `floor`. So no owner can stop the others, and limit and floors bound the total.
package final class SharedAllowance: Sendable {
    private let limit: Int
    private let floor: Int
    private let taken = Atomic<Int>(0)

    package init(limit: Int, floor: Int = 0) {
        self.limit = limit
        self.floor = floor
    }

    /// The part that one owner has taken; `deinit` gives it back. ``take(_:)`` is called under the owner's lock.
    package final class Part: Sendable {
        private let allowance: SharedAllowance
        private let own = Atomic<Int>(0)

        package init(of allowance: SharedAllowance) {
            self.allowance = allowance
        }

        /// Takes `count`, or returns `false` if the owner's part would become larger than the rest, and than `floor`.
        package func take(_ count: Int) -> Bool {
            guard allowance.take(count, by: own.load(ordering: .relaxed)) else { return false }
            own.add(count, ordering: .relaxed)
            return true
        }

        package func giveBack(_ count: Int) {
            own.subtract(count, ordering: .relaxed)
            allowance.taken.subtract(count, ordering: .relaxed)
        }

        deinit {
            allowance.taken.subtract(own.load(ordering: .relaxed), ordering: .relaxed)
        }
    }

    private func take(_ count: Int, by owner: Int) -> Bool {
        var known = taken.load(ordering: .relaxed)
        while owner + count <= max(floor, limit - known - count) {
            let (isDone, current) = taken.compareExchange(
                expected: known, desired: known + count, ordering: .relaxed)
            if isDone { return true }
            known = current
        }
        return false
    }
}
