import Primitives
import Synchronization

/// The state that the gateways of all namespaces share, because they ask origins through one client: the lines for the
/// client's places, and the memory for parsed heads.
///
/// Invariant, under its lock: a flight is in the line of its authority, in the order of departure, from before it
/// departs until all of its answer has arrived or it has ended. A thread that holds this lock takes no other lock.
final class GatewayGroup: Sendable {
    /// The flights to one authority, by their numbers.
    private final class Line {
        var flights = LinkedTable<UInt64, FetchFlight>()
    }

    private struct State {
        /// Indexed by authority. No line is empty.
        var lines = LinkedTable<String, Line>()
        /// The number of flights in all lines.
        var count = 0
    }

    /// The number of positions by which the order of departure may differ from the order in which the client gives
    /// places. The orders differ because the client has several threads.
    private static let slack = 64

    let heads = ParsedHeads()
    private let state = Locked(State())
    private let lastNumber = Atomic<UInt64>(0)

    /// Returns a number for a flight, higher than the numbers of all earlier flights.
    func nextNumber() -> UInt64 { lastNumber.add(1, ordering: .relaxed).newValue }

    /// Puts a flight into its line: it is about to depart and will need a place.
    func enter(_ flight: FetchFlight) {
        let authority = flight.authority
        state.withLock { state in
            let line = state.lines[authority] ?? Line()
            if line.flights.isEmpty { state.lines.append(line, for: authority) }
            line.flights.append(flight, for: flight.number)
            state.count += 1
        }
    }

    /// Removes a flight that no longer needs a place. Has no effect on a flight that is not in a line.
    func leave(_ flight: FetchFlight) {
        let authority = flight.authority
        state.withLock { state in
            guard let line = state.lines[authority], line.flights.remove(flight.number) != nil else { return }
            state.count -= 1
            if line.flights.isEmpty { state.lines.remove(authority) }
        }
    }

    /// Returns the flights that may have the place for which `flight` waits; none when a place should be free.
    ///
    /// The search looks at few more flights than there are places, regardless of the number of flights: a flight that
    /// has a place at an origin is among the flights that departed there first. When not the origin but the client is
    /// short of places, the origins take turns. An origin that is not looked at this time is looked at the next time.
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
