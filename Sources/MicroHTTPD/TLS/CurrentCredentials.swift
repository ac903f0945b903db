import Primitives

/// The credentials of a daemon's next connection. The object exists before the daemon starts, so that a replacement
/// before the start is not lost.
final class CurrentCredentials: Sendable {
    private let current: Locked<TLSCredentials>

    init(_ credentials: TLSCredentials) {
        current = Locked(credentials)
    }

    var credentials: TLSCredentials { current.withLock { $0 } }

    /// See ``Daemon/use(_:)``.
    func use(_ credentials: TLSCredentials) {
        current.withLock { $0 = credentials }
    }
}
