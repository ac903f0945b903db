import Primitives

/// For a daemon's next connection. Exists before the daemon starts, so that an earlier replacement is not lost.
final class CurrentCredentials: Sendable {
    private let current: Locked<TLSCredentials>

    init(_ credentials: TLSCredentials) {
        current = Locked(credentials)
    }

    var credentials: TLSCredentials { current.withLock { $0 } }

    func use(_ credentials: TLSCredentials) {
        current.withLock { $0 = credentials }
    }
}
