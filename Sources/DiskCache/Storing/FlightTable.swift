import Primitives

/// The bodies that are being received, so that a purge reaches those that come from an origin.
///
/// Why nothing that was purged comes back: a purge marks the flights that match on the writer's thread, before it
/// removes the first entry, and publishing asks for the mark on the same thread. So a body was either published before
/// the purge began, and is removed by it, or it is marked, or its reservation was made after the purge began. What only
/// a tag kept from matching, while its tags were not all known, remembers the purge: it is marked when the tag comes.
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

    /// See ``Flight/decide(_:tags:)``.
    func decide(_ key: CacheKey, tags: [String], of number: Int) {
        state.withLock { $0.flights[number]?.decide(key, tags: tags) }
    }

    /// Adds tags to a flight; see ``Flight/add(_:)``.
    func add(_ tags: [String], to number: Int) {
        state.withLock { $0.flights[number]?.add(tags) }
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
            // In place: taken out and put back, each flight would be copied with all that it remembers.
            for index in state.flights.indices where state.flights.keys[index] != spared {
                if let doubt = state.flights.values[index].meet(scopes) { doubts.append(doubt) }
            }
            return doubts
        }
    }
}

extension Flight {
    /// A purge began: marks it when that means it; when only the index can tell, that is returned.
    fileprivate mutating func meet(_ scopes: [PurgeScope]) -> FlightTable.Doubt? {
        if purged.isSet { return nil }
        var doubtful: [PurgeScope] = []
        for scope in scopes {
            switch meet(scope) {
            case .nothingOfIt: break
            case .perhapsHeld: doubtful.append(scope)
            case .it:
                purged.set()
                return nil
            }
        }
        return doubtful.isEmpty
            ? nil : FlightTable.Doubt(purged: purged, url: url, heldKeys: heldKeys, scopes: doubtful)
    }
}
