import Primitives

/// The bodies that are being received. A purge reaches the bodies that come from an origin.
///
/// A purged body never comes back, for this reason: a purge marks the matching flights on the writer's thread, before
/// it removes the first entry, and publishing reads the mark on the same thread. So there are three cases. A body was
/// published before the purge began: the purge removes it. A body was in flight: it is marked. A reservation was made
/// after the purge began: the purge does not concern it. A flight that only lacks a tag of the purge remembers that
/// tag, and is marked if it gets the tag later.
final class FlightTable: Sendable {
    private struct State {
        var flights: [Int: Flight] = [:]
        var next = 0
    }

    private let state = Locked(State())

    /// Adds a flight and returns its number.
    func begin(_ flight: Flight) -> Int {
        state.withLock { state in
            state.next += 1
            state.flights[state.next] = flight
            return state.next
        }
    }

    /// Removes a flight.
    func end(_ number: Int) {
        state.withLock { _ = $0.flights.removeValue(forKey: number) }
    }

    /// The flight of a number; `nil` when it has ended.
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

    /// A flight that a purge may match only by the entry that the flight is to bring up to date. Only the index can
    /// tell whether the purge matches that entry.
    struct Doubt {
        var purged: PurgeMark
        var url: String?
        /// See ``Flight/heldKeys``.
        var heldKeys: (first: String, last: String)
        /// The scopes that purge the flight if they match the entry.
        var scopes: [PurgeScope]
    }

    /// Marks the flights that a purge matches when it begins, except the flight `spared`. Returns the flights that need
    /// a look in the index.
    func purge(_ scopes: [PurgeScope], sparing spared: Int? = nil) -> [Doubt] {
        state.withLock { state in
            var doubts: [Doubt] = []
            // Changes each flight in place, because taking it out and putting it back would copy all that it remembers.
            for index in state.flights.indices where state.flights.keys[index] != spared {
                if let doubt = state.flights.values[index].meet(scopes) { doubts.append(doubt) }
            }
            return doubts
        }
    }
}

extension Flight {
    /// Marks the flight if a purge that begins now matches it. Returns a doubt when only the index can tell.
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
