import Synchronization

/// Tells operators whether a database of the state directory works.
///
/// A failed opening, read, transaction or checkpoint makes it fail; the next opening, transaction or checkpoint that
/// succeeds ends this. Damage ends only with an opening, because transactions that do not touch the damaged part still
/// succeed. A full disk and a closed database are no failures of the database.
package final class StateHealth: Sendable {
    private let isDamaged = Atomic(false)
    private let hasFailed = Atomic(false)

    package init() {}

    /// `false` before the first opening.
    package var isFailing: Bool { isDamaged.load(ordering: .relaxed) || hasFailed.load(ordering: .relaxed) }

    func opened() {
        isDamaged.store(false, ordering: .relaxed)
        succeeded()
    }

    func succeeded() { hasFailed.store(false, ordering: .relaxed) }

    func failed(_ error: any Error) {
        switch error {
        case StateError.noSpace, StateError.closed: break
        case StateError.damaged: isDamaged.store(true, ordering: .relaxed)
        case is StateError: hasFailed.store(true, ordering: .relaxed)
        default: break
        }
    }
}
