import Primitives

/// A pause in reading a connection, because the sink of its request's body has no room. Invariants: `phase` is locked.
/// The thread that takes the phase out of `waiting` must resume the connection, after the lock is released.
final class BodyPause: SuspensionOwner {
    private enum Phase {
        /// The connection is about to be suspended.
        case beginning
        case waiting(Suspension)
        case over
        /// The client went away, or the daemon gave up.
        case hungUp
    }

    private let phase = Locked(Phase.beginning)
    private let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Called on the connection's thread. Returns false, without suspending, if the daemon is stopping.
    func begin(_ sink: any BodySink) -> Bool {
        connection.stopBodyClock()
        guard let suspension = connection.suspend(owner: self) else { return false }
        // The hang-up may have come already.
        let isWaiting = phase.withLock { phase in
            guard case .beginning = phase else { return false }
            phase = .waiting(suspension)
            return true
        }
        if isWaiting {
            sink.onRoom { [weak self] in self?.end(.over) }
        } else {
            connection.resume(suspension)
        }
        return true
    }

    var isHungUp: Bool {
        phase.withLock { phase in
            if case .hungUp = phase { return true }
            return false
        }
    }

    func clientLeft() {
        end(.hungUp)
    }

    private func end(_ last: Phase) {
        let before = phase.withLock { phase in
            let before = phase
            switch phase {
            case .beginning, .waiting: phase = last
            case .over, .hungUp: break
            }
            return before
        }
        guard case .waiting(let suspension) = before else { return }
        connection.startBodyClock()
        connection.resume(suspension)
    }
}
