import DiskCache
import Primitives

/// What a gateway knows of its requests that are under way, in parts with a lock each: all flights of one URL are in
/// one of them, and requests for different URLs hardly ever wait for each other.
final class GatewayShards: Sendable {
    struct State {
        var flights = FetchFlightTable()
        var isStopping = false
    }

    private let states = Sharded { State() }
    private let hints = Sharded { SharingHints() }

    /// Runs `body` with the part in which a URL is, while its lock is held.
    func withState<Result>(of url: ResponseURL, _ body: (inout sending State) -> sending Result) -> sending Result {
        states[Int(url.spread)].withLock(body)
    }

    /// Runs `body` with each part in turn; what one of them was when another's turn comes may have changed by then.
    func forEach<Result: Sendable>(_ body: (inout State) -> Result) -> [Result] {
        states.all.map { $0.withLock { body(&$0) } }
    }

    /// Runs `body` with what is known of requests of a kind, while its lock is held: one of its own, for those of one
    /// URL may be of any number of kinds.
    ///
    /// - Parameter kind: ``GatewayCall/sharingHash``.
    func withHints<Result>(
        of kind: Int, _ body: (inout sending SharingHints) -> sending Result
    ) -> sending Result {
        hints[kind].withLock(body)
    }
}
