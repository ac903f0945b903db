import Primitives

/// The pending accesses of one shard of the ``AccessLog``. Their number is bounded, except for slides.
///
/// Slides from before a mark are kept apart from later slides, so that they can be written a few at a time until all of
/// them are written. Later accesses to the same entry are merged into its marked slide.
///
/// Hits are kept in two generations. An access is noted in the younger generation, and takes along the hits that the
/// older generation has for the same entry. When the younger generation is full, it becomes the older one, and the hits
/// of the former older generation are forgotten. So entries that are read again and again stay, and a flood of entries
/// that are read once passes through.
struct AccessTable {
    /// Forgotten hits. The caller frees them, because freeing may take long.
    typealias Forgotten = [ExactText: PendingAccess]

    /// The most entries of a generation. With two generations in each of the log's sixteen shards, there are at most
    /// 16,384 entries in some 4 MiB.
    static let generationLimit = 512

    /// The entries with a slide, and their hits, noted since the last mark.
    private var slid: [ExactText: PendingAccess] = [:]
    /// The entries with a slide, and their hits, from before the last mark.
    private var marked: [ExactText: PendingAccess] = [:]
    private var younger: [ExactText: PendingAccess] = [:]
    private var older: [ExactText: PendingAccess] = [:]

    /// Whether no accesses are pending.
    var isEmpty: Bool { younger.isEmpty && older.isEmpty && slid.isEmpty && marked.isEmpty }

    /// The number of entries with a slide.
    var slideCount: Int { slid.count + marked.count }

    /// The number of entries whose slide was there at the last mark.
    var markedCount: Int { marked.count }

    /// Marks all slides that are pending now.
    mutating func markSlides() {
        if marked.isEmpty {
            swap(&marked, &slid)
        } else {
            // A key is in one table at most, so no entry is overwritten.
            for (key, access) in slid { marked[key] = access }
            slid = [:]
        }
    }

    /// The pending access of a key.
    subscript(key: ExactText) -> PendingAccess? {
        // A key is in one table at most.
        younger[key] ?? older[key] ?? slid[key] ?? marked[key]
    }

    /// Adds an access that came after the key's pending access.
    mutating func add(_ access: PendingAccess, for key: ExactText) -> Forgotten {
        if access.slide == nil {
            if slideCount == 0 { return addHits(access, for: key) }
            if younger[key]?.merge(access) != nil { return [:] }
        }
        if !marked.isEmpty, marked[key]?.merge(access) != nil { return [:] }
        var sum = remove(key)
        if sum?.merge(access) == nil { sum = access }
        return insert(sum ?? access, for: key)
    }

    /// Adds an access that came before the key's pending access.
    mutating func putBack(_ access: PendingAccess, for key: ExactText) -> Forgotten {
        var sum = access
        if let later = remove(key) { sum.merge(later) }
        if sum.slide == nil { return insert(sum, for: key) }
        // Marked, because the operation that marked the slide may still wait for it.
        marked[key] = sum
        return [:]
    }

    /// Removes the pending access of a key and returns it.
    mutating func remove(_ key: ExactText) -> PendingAccess? {
        Self.remove(key, &younger) ?? Self.remove(key, &older) ?? Self.remove(key, &slid) ?? Self.remove(key, &marked)
    }

    /// Skips the hashing for an empty table, because most tables are empty when a hit is noted.
    private static func remove(_ key: ExactText, _ table: inout [ExactText: PendingAccess]) -> PendingAccess? {
        table.isEmpty ? nil : table.removeValue(forKey: key)
    }

    /// The keys of entries with a slide, at most `limit`. Marked slides come first. `onlyMarked` omits later slides.
    func slidKeys(limit: Int, onlyMarked: Bool) -> [ExactText] {
        let keys = Array(marked.keys.prefix(limit))
        return onlyMarked ? keys : keys + Array(slid.keys.prefix(limit - keys.count))
    }

    /// The keys of entries without a slide, at most `limit`. The older generation comes first, because it is forgotten
    /// first.
    func hitKeys(limit: Int) -> [ExactText] {
        let keys = Array(older.keys.prefix(limit))
        return keys + Array(younger.keys.prefix(limit - keys.count))
    }

    /// Adds hits of an entry without a slide, with as little hashing as possible, because most accesses are of this
    /// kind.
    private mutating func addHits(_ access: PendingAccess, for key: ExactText) -> Forgotten {
        let count = younger.count
        younger[key, default: PendingAccess(version: access.version)].merge(access)
        guard younger.count > count else { return [:] }
        if var sum = Self.remove(key, &older) {
            sum.merge(access)
            younger[key] = sum
        }
        return forgetOlder()
    }

    private mutating func insert(_ access: PendingAccess, for key: ExactText) -> Forgotten {
        guard access.slide == nil else {
            slid[key] = access
            return [:]
        }
        younger[key] = access
        return forgetOlder()
    }

    /// Makes room in the younger generation once it is full. Returns the forgotten hits.
    private mutating func forgetOlder() -> Forgotten {
        guard younger.count >= Self.generationLimit else { return [:] }
        defer { (older, younger) = (younger, Dictionary(minimumCapacity: Self.generationLimit)) }
        return older
    }
}
