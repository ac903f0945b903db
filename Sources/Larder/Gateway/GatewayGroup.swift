import Primitives
import Synchronization

/// The state that the gateways of all namespaces share, because they ask origins through one client: the lines for the
/// client's places, and the memory for parsed heads.
///
/// Invariant, under its lock: a fetch is in the line of its authority, in the order of departure, from before it
/// departs until all of its answer has arrived or it has ended. A thread that holds this lock takes no other lock.
final class GatewayGroup: Sendable {
    /// The fetches to one authority, by their numbers.
    private final class Line {
        var fetches = LinkedTable<UInt64, GatewayFetch>()
    }

    private struct State {
        /// Indexed by authority. No line is empty.
        var lines = LinkedTable<String, Line>()
        /// The number of fetches in all lines.
        var count = 0
    }

    /// The number of positions by which the order of departure may differ from the order in which the client gives
    /// places. The orders differ because the client has several threads.
    private static let slack = 64

    let heads = ParsedHeads()
    /// The bytes that bodies may hold in memory for slow readers, beyond ``BodyFlow/window``.
    let tailRoom = SharedAllowance(limit: 128 << 20)
    private let state = Locked(State())
    private let lastNumber = Atomic<UInt64>(0)

    /// Returns a number for a fetch, higher than the numbers of all earlier fetches.
    func nextNumber() -> UInt64 { lastNumber.add(1, ordering: .relaxed).newValue }

    /// Puts a fetch into its line: it is about to depart and will need a place.
    func enter(_ fetch: GatewayFetch) {
        let authority = fetch.policy.leader.request.url.authority
        state.withLock { state in
            let line = state.lines[authority] ?? Line()
            if line.fetches.isEmpty { state.lines.append(line, for: authority) }
            line.fetches.append(fetch, for: fetch.number)
            state.count += 1
        }
    }

    /// Removes a fetch that no longer needs a place. Has no effect on a fetch that is not in a line.
    func leave(_ fetch: GatewayFetch) {
        let authority = fetch.policy.leader.request.url.authority
        state.withLock { state in
            guard let line = state.lines[authority], line.fetches.remove(fetch.number) != nil else { return }
            state.count -= 1
            if line.fetches.isEmpty { state.lines.remove(authority) }
        }
    }

    /// Returns the fetches that may have the place for which `fetch` waits; none when a place should be free.
    ///
    /// The search looks at few more fetches than there are places, regardless of the number of fetches: a fetch that
    /// has a place at an origin is among the fetches that departed there first. When not the origin but the client is
    /// short of places, the origins take turns. An origin that is not looked at this time is looked at the next time.
    func rivals(of fetch: GatewayFetch, limitPerHost: Int, limit: Int) -> [GatewayFetch] {
        let authority = fetch.policy.leader.request.url.authority
        let (perHost, inAll) = (max(limitPerHost, 1), max(limit, 1))
        let rivals: [GatewayFetch] = state.withLock { state in
            if let line = state.lines[authority], line.fetches.count > perHost {
                return line.fetches.prefix(perHost + Self.slack)
            }
            guard state.count > inAll else { return [] }
            var found: [GatewayFetch] = []
            var turns = state.lines.count
            while turns > 0, found.count < inAll + Self.slack, let (_, line) = state.lines.first {
                found += line.fetches.prefix(perHost)
                state.lines.rotate()
                turns -= 1
            }
            return found
        }
        return rivals.filter { $0 !== fetch }
    }
}
