import Primitives

/// What the TLS of a daemon's next connection begins with. It is there before the daemon starts, so that a replacement
/// that comes in between is not lost.
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
