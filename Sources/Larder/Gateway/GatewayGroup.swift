import DiskCache
import HTTPCaching
import Primitives
import Synchronization

/// The state of the gateways of all namespaces, which ask origins through one client and share parsed heads.
///
/// Invariant, under its lock: a fetch is in the ``Line`` of its authority from before it gives its request to the
/// origin client until all of its answer has arrived or the fetch has ended. A line has the order in which the fetches
/// entered. A thread that holds this lock takes no other lock.
final class GatewayGroup: Sendable {
    /// The fetches to one authority, by number, in the order in which they entered.
    private final class Line {
        var fetches = LinkedTable<UInt64, GatewayFetch>()
    }

    private struct State {
        /// Indexed by authority. No line is empty.
        var lines = LinkedTable<String, Line>()
        var count = 0
    }

    /// A fetch may get a place up to this many positions early, because the origin client has several threads.
    private static let slack = 64

    let heads = ParsedHeads()
    /// The bytes that all bodies together may hold for slow readers, besides the ``BodyFlow/window`` of each body.
    let tailRoom = SharedAllowance(limit: 128 << 20)
    private let state = Locked(State())
    private let lastNumber = Atomic<UInt64>(0)

    /// Returns a number for a fetch, higher than the numbers of all earlier fetches.
    func nextNumber() -> UInt64 { lastNumber.add(1, ordering: .relaxed).newValue }

    /// Appends a fetch to its line before it needs a place. A place is one of the origin client's running transfers.
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

    /// Returns the fetches that possibly hold the place for which `fetch` waits; no fetch when a place should be free.
    ///
    /// The search is bounded by the number of places, because a fetch with a place at an origin is among the first
    /// fetches of the origin's line. If the places for all origins are taken, each search begins where the last ended.
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

/// The parsed heads of recently read responses, of all namespaces. A hit need not parse an unchanged head.
///
/// A head is used only if its text equals the text in the entry, so a head of an older state of the entry does no harm.
final class ParsedHeads: Sendable {
    private struct Parsed: Sendable {
        var text: String
        var head: StoredResponse
    }

    /// In bytes of keys and texts. Beyond it, the heads of the namespace with the most bytes are forgotten.
    private static let limit = 8 << 20

    private let heads = Locked(NamespaceMemo<Parsed>(limit: limit))

    /// Returns the head of an entry; `nil` when the entry has no readable head.
    func head(of entry: Entry) -> StoredResponse? {
        guard let text = entry.fields else { return nil }
        let (namespace, key) = (entry.namespace, entry.key)
        if let known = heads.withLock({ $0[namespace, key] }), known.text == text { return known.head }
        guard let head = StoredResponse(text: text) else { return nil }
        let cost = namespace.utf8.count + key.utf8.count + text.utf8.count
        _ = heads.withLock { $0.remember(Parsed(text: text, head: head), for: key, of: namespace, cost: cost) }
        return head
    }

    func forget(_ namespace: String) {
        _ = heads.withLock { $0.forget(namespace) }
    }
}

/// A memo of computed values for several namespaces, with a common limit. At the limit, the namespace with the largest
/// share loses all its values, so a namespace that floods the memo does not harm the others.
struct NamespaceMemo<Value: Sendable>: Sendable {
    struct Remembered: Sendable {
        let value: Value
        let cost: Int
    }

    /// Forgotten values. The owner of the memo frees them after it has released its lock, because freeing takes long.
    typealias Forgotten = [[String: Remembered]]

    private struct Share: Sendable {
        var values: [String: Remembered] = [:]
        var cost = 0
    }

    private let limit: Int
    private var shares: [String: Share] = [:]
    private var cost = 0

    /// `limit` is the greatest cost of all values of all namespaces together.
    init(limit: Int) {
        self.limit = limit
    }

    subscript(namespace: String, key: String) -> Value? { shares[namespace]?.values[key]?.value }

    /// Remembers a value in place of the key's older one, if the limit permits its cost. Returns the forgotten values.
    mutating func remember(_ value: Value, for key: String, of namespace: String, cost: Int) -> Forgotten {
        guard cost <= limit else { return [] }
        var forgotten: Forgotten = []
        if let old = shares[namespace]?.values.removeValue(forKey: key) {
            shares[namespace]?.cost -= old.cost
            self.cost -= old.cost
            forgotten.append([key: old])
        }
        while self.cost + cost > limit, let largest = shares.max(by: { $0.value.cost < $1.value.cost })?.key {
            forgotten += forget(largest)
        }
        var share = shares.removeValue(forKey: namespace) ?? Share()
        share.values[key] = Remembered(value: value, cost: cost)
        share.cost += cost
        shares[namespace] = share
        self.cost += cost
        return forgotten
    }

    mutating func forget(_ namespace: String) -> Forgotten {
        guard let share = shares.removeValue(forKey: namespace) else { return [] }
        cost -= share.cost
        return [share.values]
    }
}
