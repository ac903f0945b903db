import Primitives

/// What the gateways of all namespaces have together, as they ask origins through one client: its places, and the memory
/// for heads.
final class GatewayGroup: Sendable {
    private struct Member {
        weak var gateway: Gateway?
    }

    let heads = ParsedHeads()
    private let members = Locked<[Member]>([])

    /// A gateway belongs to it as long as somebody holds that.
    func add(_ gateway: Gateway) {
        members.withLock { members in
            members.removeAll { $0.gateway == nil }
            members.append(Member(gateway: gateway))
        }
    }

    /// The requests to origins that are under way, in all namespaces; the oldest of a URL first.
    var flights: [FetchFlight] {
        members.withLock { $0 }.compactMap(\.gateway).flatMap(\.flights)
    }
}
