import Primitives

extension DownloadManager {
    struct Waiter {
        let request: DownloadRequest
        let joined: Bool
        let completion: Completion
    }

    /// A flight and those who want what it brings. A crowd may wait, so it is changed where it is: while a copy is
    /// held, whoever joins or leaves copies all of them.
    struct Running {
        let flight: Flight
        var waiters: [UInt64: Waiter] = [:]
        /// Those who asked after a purge had met the flight, or after it was cancelled: they must not get what it
        /// brings, so another follows it.
        var later: [UInt64: Waiter] = [:]
        /// What the flight that follows is to do; `nil` when nobody asked.
        var next: DownloadRequest?
        /// Whether it is to be done although nobody waits: for somebody who did not want to, or has left.
        var goesOnAlone = false
        /// Whether it was cancelled for want of anybody; who has come since gets another.
        var isGivenUp = false

        /// Takes a caller off its list.
        mutating func leave(_ number: UInt64, givingUp: Bool) {
            if waiters.removeValue(forKey: number) == nil {
                later.removeValue(forKey: number)
            } else if !givingUp {
                goesOnAlone = true
            }
            isGivenUp = isGivenUp || (givingUp && waiters.isEmpty && !goesOnAlone)
        }
    }

    /// A caller's place among those who wait. Leaving it harms nobody else, nor the download.
    public struct Place: Sendable {
        let key: String
        let number: UInt64
    }

    /// Gives up a caller's place; its completion is not called any more.
    ///
    /// - Parameter givingUp: whether the caller does not want the download any more, either. If nobody else does, it
    ///   ends when it still waits for its turn; what was begun goes on.
    public func leave(_ place: Place, givingUp: Bool = false) {
        let unwanted: Flight? = state.withLock { state in
            state.running[place.key]?.leave(place.number, givingUp: givingUp)
            guard let running = state.running[place.key], running.isGivenUp else { return nil }
            return running.flight
        }
        unwanted?.cancelIfWaiting()
    }
}
