import DiskCache
import Primitives

/// The state of a gateway's fetches, in shards with a lock each. All fetches of one URL are in one shard, so requests
/// for different URLs hardly ever wait for each other.
final class GatewayShards: Sendable {
    struct State {
        var fetches = GatewayFetchTable()
        var isStopping = false
    }

    private let states = Sharded { State() }
    private let hints = Sharded { SharingHints() }

    /// Runs `body` with the shard of a URL, under the shard's lock.
    func withState<Result>(of url: ResponseURL, _ body: (inout sending State) -> sending Result) -> sending Result {
        states[Int(url.spread)].withLock(body)
    }

    /// Runs `body` with each shard in turn. An earlier shard may have changed by the turn of a later shard.
    func forEach<Result: Sendable>(_ body: (inout State) -> Result) -> [Result] {
        states.all.map { $0.withLock { body(&$0) } }
    }

    /// Runs `body` with the sharing hints of a kind of requests, under their lock. The hints have locks of their own,
    /// because the requests for one URL may be of any number of kinds.
    ///
    /// - Parameter kind: ``GatewayCall/sharingHash(isValidating:)`` or ``GatewayCall/rangeHash``.
    func withHints<Result>(
        of kind: Int, _ body: (inout sending SharingHints) -> sending Result
    ) -> sending Result {
        hints[kind].withLock(body)
    }
}
