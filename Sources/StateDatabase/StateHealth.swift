import Primitives

/// Tells operators whether a database of the state directory works.
///
/// A failed opening, a failed read and a failed transaction make it fail; the next opening or transaction that succeeds
/// ends this. A full disk and a closed database are no failures of the database.
package final class StateHealth: Sendable {
    private let state = Locked(false)

    package init() {}

    /// `false` before the first opening.
    package var isFailing: Bool { state.withLock(\.self) }

    func succeeded() { state.withLock { $0 = false } }

    func failed(_ error: any Error) {
        switch error {
        case StateError.noSpace, StateError.closed: break
        case is StateError: state.withLock { $0 = true }
        default: break
        }
    }
}
