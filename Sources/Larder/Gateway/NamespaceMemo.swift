/// What was worked out for several namespaces, up to a limit for all of them together. Where that is reached, the
/// namespace that takes most loses all that it has: whoever floods it loses its own, and those that take no more than
/// their share keep theirs.
///
/// It has no lock, which is its owner's to add.
struct NamespaceMemo<Value: Sendable>: Sendable {
    /// A value and what it counts.
    struct Remembered: Sendable {
        let value: Value
        let cost: Int
    }

    /// What had to be forgotten. Who holds a lock lets go of it after that was released: it may be much.
    typealias Forgotten = [[String: Remembered]]

    private struct Share: Sendable {
        var values: [String: Remembered] = [:]
        var cost = 0
    }

    private let limit: Int
    private var shares: [String: Share] = [:]
    private var cost = 0

    /// An empty one.
    ///
    /// - Parameter limit: what all values of all namespaces together may cost.
    init(limit: Int) {
        self.limit = limit
    }

    /// What is remembered of a key in a namespace; `nil` when nothing is.
    subscript(namespace: String, key: String) -> Value? { shares[namespace]?.values[key]?.value }

    /// Remembers a value, in place of an older one of that key. What costs more than the limit is not remembered.
    ///
    /// - Returns: what was forgotten to make room.
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

    /// Forgets all of a namespace; that.
    mutating func forget(_ namespace: String) -> Forgotten {
        guard let share = shares.removeValue(forKey: namespace) else { return [] }
        cost -= share.cost
        return [share.values]
    }
}
