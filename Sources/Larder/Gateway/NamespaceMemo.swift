/// A memo of computed values for several namespaces, with a common limit. When the limit is reached, the namespace with
/// the largest share loses all its values. So a namespace that floods the memo loses its own values, and namespaces
/// within their share keep theirs.
///
/// The memo has no lock. Its owner must guard it.
struct NamespaceMemo<Value: Sendable>: Sendable {
    /// A value and its cost.
    struct Remembered: Sendable {
        let value: Value
        let cost: Int
    }

    /// Forgotten values. An owner with a lock releases these values after the lock, because freeing many of them takes
    /// long.
    typealias Forgotten = [[String: Remembered]]

    private struct Share: Sendable {
        var values: [String: Remembered] = [:]
        var cost = 0
    }

    private let limit: Int
    private var shares: [String: Share] = [:]
    private var cost = 0

    /// Creates an empty memo.
    ///
    /// - Parameter limit: the greatest cost of all values of all namespaces together.
    init(limit: Int) {
        self.limit = limit
    }

    /// The remembered value of a key in a namespace; `nil` when there is none.
    subscript(namespace: String, key: String) -> Value? { shares[namespace]?.values[key]?.value }

    /// Remembers a value, in place of an older value of the key. A value whose cost is above the limit is not
    /// remembered.
    ///
    /// - Returns: the values that were forgotten to make room.
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

    /// Forgets all values of a namespace, and returns them.
    mutating func forget(_ namespace: String) -> Forgotten {
        guard let share = shares.removeValue(forKey: namespace) else { return [] }
        cost -= share.cost
        return [share.values]
    }
}
