/// Values with their keys, in the order in which the values were added. Each operation takes constant time.
struct LinkedTable<Key: Hashable, Value> {
    private struct Link {
        var value: Value
        var previous: Key?
        var next: Key?
    }

    private var links: [Key: Link] = [:]
    private var firstKey: Key?
    private var lastKey: Key?

    var count: Int { links.count }
    var isEmpty: Bool { links.isEmpty }

    subscript(key: Key) -> Value? { links[key]?.value }

    /// The value that was added first, and its key; `nil` when the table is empty.
    var first: (key: Key, value: Value)? {
        firstKey.flatMap { key in links[key].map { (key, $0.value) } }
    }

    /// Returns the first values, at most `limit`.
    func prefix(_ limit: Int) -> [Value] { values(limit, from: firstKey) { $0.next } }

    /// Returns the last values, at most `limit`, the latest first.
    func latest(_ limit: Int) -> [Value] { values(limit, from: lastKey) { $0.previous } }

    private func values(_ limit: Int, from start: Key?, _ following: (Link) -> Key?) -> [Value] {
        var values: [Value] = []
        var next = start
        while values.count < limit, let key = next, let link = links[key] {
            values.append(link.value)
            next = following(link)
        }
        return values
    }

    /// Adds a value at the end, in place of an older value of the key.
    mutating func append(_ value: Value, for key: Key) {
        remove(key)
        links[key] = Link(value: value, previous: lastKey, next: nil)
        if let last = lastKey { links[last]?.next = key } else { firstKey = key }
        lastKey = key
    }

    @discardableResult
    mutating func remove(_ key: Key) -> Value? {
        guard let link = links.removeValue(forKey: key) else { return nil }
        if let previous = link.previous { links[previous]?.next = link.next } else { firstKey = link.next }
        if let next = link.next { links[next]?.previous = link.previous } else { lastKey = link.previous }
        return link.value
    }

    /// Moves the first value to the end.
    mutating func rotate() {
        if let first { append(first.value, for: first.key) }
    }
}
