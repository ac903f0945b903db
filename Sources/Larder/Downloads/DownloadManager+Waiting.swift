import Primitives

extension DownloadManager {
    struct Waiter {
        let request: DownloadRequest
        let joined: Bool
        let completion: Completion
    }

    /// A flight and the waiters for its result. There may be very many waiters, so code changes this value in place:
    /// while a copy exists, every join and every leave copies all waiters.
    struct Running {
        let flight: Flight
        var waiters: [UInt64: Waiter] = [:]
        /// The waiters that came after a purge had matched the flight, or after it was cancelled. They must not get its
        /// result, so another flight follows it.
        var later: [UInt64: Waiter] = [:]
        /// The request of the flight that follows; `nil` when no caller asked for it.
        var next: DownloadRequest?
        /// Whether the download continues without waiters, because a caller started it without waiting or left without
        /// giving it up.
        var goesOnAlone = false
        /// Whether the last waiter gave the flight up. The flight is then cancelled if it still waits for its turn, and
        /// callers that have joined since get another flight. If the flight has begun, they get its result.
        var isGivenUp = false

        /// Removes a caller from its list.
        ///
        /// A caller that leaves `waiters` without giving up makes the download continue alone. A caller that gives up
        /// as the last waiter marks the flight as given up, unless it continues alone.
        mutating func leave(_ number: UInt64, givingUp: Bool) {
            if waiters.removeValue(forKey: number) == nil {
                later.removeValue(forKey: number)
            } else if !givingUp {
                goesOnAlone = true
            }
            isGivenUp = isGivenUp || (givingUp && waiters.isEmpty && !goesOnAlone)
        }
    }

    /// The position of a caller that waits. Its leaving does not affect the other callers. It does not affect the
    /// download either, unless the caller gives the download up.
    package struct Place: Sendable {
        let key: String
        let number: UInt64
    }

    /// Gives up a caller's place. Its completion is not called any more.
    ///
    /// - Parameter givingUp: whether the caller does not want the download any more. If no other caller wants it
    ///   either, the download ends if it still waits for its turn. A download that has begun continues.
    package func leave(_ place: Place, givingUp: Bool = false) {
        let unwanted: Flight? = state.withLock { state in
            state.running[place.key]?.leave(place.number, givingUp: givingUp)
            guard let running = state.running[place.key], running.isGivenUp else { return nil }
            return running.flight
        }
        unwanted?.cancelIfWaiting()
    }
}
