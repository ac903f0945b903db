import Synchronization

/// Tells operators whether a database of the state directory works.
///
/// A failed opening, read, transaction or checkpoint makes it fail; the next opening, transaction or checkpoint that
/// succeeds ends this. A full disk and a closed database are no failures of the database.
package final class StateHealth: Sendable {
    private let state = Atomic(false)

    package init() {}

    /// `false` before the first opening.
    package var isFailing: Bool { state.load(ordering: .relaxed) }

    func succeeded() { state.store(false, ordering: .relaxed) }

    func failed(_ error: any Error) {
        switch error {
        case StateError.noSpace, StateError.closed: break
        case is StateError: state.store(true, ordering: .relaxed)
        default: break
        }
    }
}
