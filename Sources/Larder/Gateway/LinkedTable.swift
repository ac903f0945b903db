/// Values in the order in which they were added, found and removed by their keys; each in constant time.
///
/// It has no lock, which is its owner's to add.
struct LinkedTable<Key: Hashable, Value> {
    private struct Link {
        var value: Value
        var previous: Key?
        var next: Key?
    }

    private var links: [Key: Link] = [:]
    private var firstKey: Key?
    private var lastKey: Key?

    /// How many there are.
    var count: Int { links.count }

    var isEmpty: Bool { links.isEmpty }

    /// The value of a key; `nil` when there is none.
    subscript(key: Key) -> Value? { links[key]?.value }

    /// What was added first of all that is there.
    var first: (key: Key, value: Value)? {
        guard let key = firstKey, let link = links[key] else { return nil }
        return (key: key, value: link.value)
    }

    /// The first values, at most so many.
    func prefix(_ limit: Int) -> [Value] {
        var values: [Value] = []
        var next = firstKey
        while values.count < limit, let key = next, let link = links[key] {
            values.append(link.value)
            next = link.next
        }
        return values
    }

    /// Adds a value at the end, in place of an older one of that key.
    mutating func append(_ value: Value, for key: Key) {
        remove(key)
        links[key] = Link(value: value, previous: lastKey, next: nil)
        if let last = lastKey { links[last]?.next = key } else { firstKey = key }
        lastKey = key
    }

    /// Removes what a key has; that.
    @discardableResult
    mutating func remove(_ key: Key) -> Value? {
        guard let link = links.removeValue(forKey: key) else { return nil }
        if let previous = link.previous { links[previous]?.next = link.next } else { firstKey = link.next }
        if let next = link.next { links[next]?.previous = link.previous } else { lastKey = link.previous }
        return link.value
    }

    /// Puts the first at the end.
    mutating func rotate() {
        if let first { append(first.value, for: first.key) }
    }
}
