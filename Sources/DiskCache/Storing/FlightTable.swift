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

    /// What comes from origins and no purge has met yet, by number, with the key of the entry to be.
    var fetches: [(number: Int, key: CacheKey, isVariantOpen: Bool)] {
        state.withLock { state in
            state.flights.filter { $0.value.kind == .download || $0.value.kind == .response }
                .filter { !$0.value.purged.isSet }
                .map { ($0.key, $0.value.key, $0.value.isVariantOpen) }
        }
    }

    /// A purge met this flight.
    func purge(_ number: Int) {
        state.withLock { $0.flights[number]?.purged.set() }
    }

    /// A purge began: marks what it means.
    func purge(_ filter: EntryFilter) {
        state.withLock { state in
            for flight in state.flights.values where flight.matches(filter) { flight.purged.set() }
        }
    }
}
