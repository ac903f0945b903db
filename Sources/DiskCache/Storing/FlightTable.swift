import Primitives

/// The bodies that are being received, so that a purge reaches them.
///
/// Why nothing that was purged comes back: a purge marks the flights that match on the writer's thread, before it
/// removes the first entry, and publishing asks for the mark on the same thread. So a body was either published before
/// the purge began, and is removed by it, or it is marked, or its reservation was made after the purge began.
final class FlightTable: Sendable {
    private struct State {
        var flights: [Int: Flight] = [:]
        var next = 0
    }

    private let state = Locked(State())

    /// Adds a flight; the number by which it is known from then on.
    func begin(_ flight: Flight) -> Int {
        state.withLock { state in
            state.next += 1
            state.flights[state.next] = flight
            return state.next
        }
    }

    /// Forgets a flight.
    func end(_ number: Int) {
        state.withLock { _ = $0.flights.removeValue(forKey: number) }
    }

    /// What is known of a flight; `nil` when it has ended.
    func flight(_ number: Int) -> Flight? {
        state.withLock { $0.flights[number] }
    }

    /// Decides the key of a flight; see ``Flight/isVariantOpen``.
    func decide(_ key: CacheKey, of number: Int) {
        state.withLock { state in
            state.flights[number]?.key = key
            state.flights[number]?.isVariantOpen = false
        }
    }

    /// Adds tags to a flight.
    func add(_ tags: [String], to number: Int) {
        state.withLock { $0.flights[number]?.tags.formUnion(tags.map(ExactText.init)) }
    }

    /// A flight of which only the index can tell whether a purge means it, by the entry that it is to bring up to date.
    struct Doubt {
        var purged: PurgeMark
        var url: String?
        /// See ``Flight/heldKeys``.
        var heldKeys: (first: String, last: String)
        /// What would mean it.
        var scopes: [PurgeScope]
    }

    /// A purge began: marks what it means, but for the flight `spared`.
    func purge(_ scopes: [PurgeScope], sparing spared: Int? = nil) -> [Doubt] {
        state.withLock { state in
            var doubts: [Doubt] = []
            for (number, flight) in state.flights where number != spared && !flight.purged.isSet {
                var doubtful: [PurgeScope] = []
                scan: for scope in scopes {
                    switch flight.meaning(of: scope) {
                    case .nothingOfIt: break
                    case .perhapsHeld: doubtful.append(scope)
                    case .it:
                        flight.purged.set()
                        break scan
                    }
                }
                if !doubtful.isEmpty, !flight.purged.isSet {
                    doubts.append(
                        Doubt(purged: flight.purged, url: flight.url, heldKeys: flight.heldKeys, scopes: doubtful))
                }
            }
            return doubts
        }
    }
}
