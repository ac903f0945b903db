import DiskCache
import Primitives

/// What a gateway knows of its requests that are under way, in parts with a lock each: all about one URL is in one of
/// them, and requests for different URLs hardly ever wait for each other.
final class GatewayShards: Sendable {
    struct State {
        var flights = FetchFlightTable()
        /// By ``GatewayCall/sharingHash``, in which the URL is.
        var hints = SharingHints()
        var isStopping = false
    }

    private final class Shard: Sendable {
        let state = Locked(State())
    }

    private let shards = (0..<ResponseURL.shardCount).map { _ in Shard() }

    /// Runs `body` with the part in which a URL is, while its lock is held.
    func withState<Result>(of url: ResponseURL, _ body: (inout sending State) -> sending Result) -> sending Result {
        shards[url.shard].state.withLock(body)
    }

    /// Runs `body` with each part in turn; what one of them was when another's turn comes may have changed by then.
    func forEach<Result: Sendable>(_ body: (inout State) -> Result) -> [Result] {
        shards.map { $0.state.withLock { body(&$0) } }
    }
}
