import Primitives
import Synchronization

/// What the gateways of all namespaces have together, as they ask origins through one client: its places, and the
/// memory for heads.
///
/// Invariant, under its lock, which nobody holds who takes another: a flight is in the line of its authority, in the
/// order of departure, from before it departs until all of its answer has come or it has ended.
final class GatewayGroup: Sendable {
    /// The flights to one authority, by their numbers.
    private final class Line {
        var flights = LinkedTable<UInt64, FetchFlight>()
    }

    private struct State {
        /// By authority. None is empty.
        var lines = LinkedTable<String, Line>()
        /// How many flights there are in all of them.
        var count = 0
    }

    /// By how many the order of departure may differ from that in which the client gives places: it has several
    /// threads.
    private static let slack = 64

    let heads = ParsedHeads()
    private let state = Locked(State())
    private let lastNumber = Atomic<UInt64>(0)

    /// A number for a flight, higher than those of all before it.
    func nextNumber() -> UInt64 { lastNumber.add(1, ordering: .relaxed).newValue }

    /// A flight is about to depart, and will need a place.
    func enter(_ flight: FetchFlight) {
        let authority = flight.authority
        state.withLock { state in
            let line = state.lines[authority] ?? Line()
            if line.flights.isEmpty { state.lines.append(line, for: authority) }
            line.flights.append(flight, for: flight.number)
            state.count += 1
        }
    }

    /// A flight needs no place any more; nothing happens when it did not before.
    func leave(_ flight: FetchFlight) {
        let authority = flight.authority
        state.withLock { state in
            guard let line = state.lines[authority], line.flights.remove(flight.number) != nil else { return }
            state.count -= 1
            if line.flights.isEmpty { state.lines.remove(authority) }
        }
    }

    /// The flights that may have the place for which another one waits; none when there should be a free one.
    ///
    /// However many flights there are, it looks at few more than there are places: who has one at an origin is among
    /// those that departed there first. When it is not the origin that is short of places, the origins take turns, and
    /// whoever is not looked at this time is the next time.
    func rivals(of flight: FetchFlight, limitPerHost: Int, limit: Int) -> [FetchFlight] {
        let authority = flight.authority
        let (perHost, inAll) = (max(limitPerHost, 1), max(limit, 1))
        let rivals: [FetchFlight] = state.withLock { state in
            if let line = state.lines[authority], line.flights.count > perHost {
                return line.flights.prefix(perHost + Self.slack)
            }
            guard state.count > inAll else { return [] }
            var found: [FetchFlight] = []
            var turns = state.lines.count
            while turns > 0, found.count < inAll + Self.slack, let (_, line) = state.lines.first {
                found += line.flights.prefix(perHost)
                state.lines.rotate()
                turns -= 1
            }
            return found
        }
        return rivals.filter { $0 !== flight }
    }
}
