import Synchronization

/// What all namespaces have together of something that takes memory: places, or bytes.
///
/// Each may take as much as others have left: one alone gets half, the next one a quarter, and so on. And each may have
/// a little in any case. So nobody can keep the others from working, and what all take is bounded by the limit and
/// that little for each.
final class SharedAllowance: Sendable {
    /// What all may take together; half of it is what one may take.
    private let limit: Int
    /// What each may have, whatever others have taken.
    private let floor: Int
    private let taken = Atomic<Int>(0)

    init(limit: Int, floor: Int = 0) {
        self.limit = limit
        self.floor = floor
    }

    /// What one owner has taken; it goes back with the last who knows this part. Only who holds its owner's lock takes.
    final class Part: Sendable {
        private let allowance: SharedAllowance
        private let own = Atomic<Int>(0)

        init(of allowance: SharedAllowance) {
            self.allowance = allowance
        }

        /// Takes some, or nothing when that would be more than others have left.
        func take(_ count: Int) -> Bool {
            guard allowance.take(count, by: own.load(ordering: .relaxed)) else { return false }
            own.add(count, ordering: .relaxed)
            return true
        }

        /// Gives some of it back.
        func giveBack(_ count: Int) {
            own.subtract(count, ordering: .relaxed)
            allowance.giveBack(count)
        }

        deinit {
            allowance.giveBack(own.load(ordering: .relaxed))
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

    private func giveBack(_ count: Int) {
        taken.subtract(count, ordering: .relaxed)
    }
}
