/// Values within a limit of their total weight. The value that was used longest ago is the first to go.
struct WeightedTable<Key: Hashable, Value> {
    private var values = LinkedTable<Key, (value: Value, weight: Int)>()
    private(set) var weight = 0
    let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Counts as a use.
    mutating func value(for key: Key) -> Value? {
        guard let held = values[key] else { return nil }
        values.append(held, for: key)
        return held.value
    }

    /// A value that weighs more than a quarter of the limit is not kept, because it would replace too many others.
    mutating func insert(_ value: Value, for key: Key, weight: Int) {
        remove(key)
        guard weight <= limit / 4 else { return }
        values.append((value, weight), for: key)
        self.weight += weight
        while self.weight > limit, let oldest = values.first { remove(oldest.key) }
    }

    mutating func remove(_ key: Key) {
        if let held = values.remove(key) { weight -= held.weight }
    }
}
