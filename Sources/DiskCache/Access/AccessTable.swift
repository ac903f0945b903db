import Primitives

/// What is pending in one shard of the ``AccessLog``, bounded but for slides.
///
/// Slides that were noted before some moment are told from later ones, so that they can be written down a few at a time
/// until all of them are: what is noted later of the same entry is kept with them.
///
/// Hits are kept in two generations. What is noted comes to the younger, and with it what the older knew of the same
/// entry; when the younger is full it becomes the older, and what was in that is forgotten. So what is asked for again
/// and again stays, and a flood of entries that are asked for once passes through.
struct AccessTable {
    /// Hits that were forgotten. It may take long to drop them.
    typealias Forgotten = [ExactText: PendingAccess]

    /// The most entries of one generation. There are two, in each of the log's sixteen shards: 16,384 entries at most,
    /// some 4 MiB.
    static let generationLimit = 512

    /// What has a slide, with its hits; noted since the last mark.
    private var slid: [ExactText: PendingAccess] = [:]
    /// The same from before it.
    private var marked: [ExactText: PendingAccess] = [:]
    private var younger: [ExactText: PendingAccess] = [:]
    private var older: [ExactText: PendingAccess] = [:]

    /// Whether there is nothing.
    var isEmpty: Bool { younger.isEmpty && older.isEmpty && slid.isEmpty && marked.isEmpty }

    /// How many entries have a slide.
    var slideCount: Int { slid.count + marked.count }

    /// How many of them had it at the last mark.
    var markedCount: Int { marked.count }

    /// Marks all slides of now.
    mutating func markSlides() {
        if marked.isEmpty {
            swap(&marked, &slid)
        } else {
            // Of one key there is something in one table only.
            for (key, access) in slid { marked[key] = access }
            slid = [:]
        }
    }

    /// What is pending about a key.
    subscript(key: ExactText) -> PendingAccess? {
        // Of one key there is something in one table only.
        younger[key] ?? older[key] ?? slid[key] ?? marked[key]
    }

    /// Adds what happened later.
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

    /// Adds what happened earlier.
    mutating func putBack(_ access: PendingAccess, for key: ExactText) -> Forgotten {
        var sum = access
        if let later = remove(key) { sum.merge(later) }
        if sum.slide == nil { return insert(sum, for: key) }
        // Whoever had it marked still waits for it.
        marked[key] = sum
        return [:]
    }

    /// Takes away what is pending about a key.
    mutating func remove(_ key: ExactText) -> PendingAccess? {
        Self.remove(key, &younger) ?? Self.remove(key, &older) ?? Self.remove(key, &slid) ?? Self.remove(key, &marked)
    }

    /// Hashes nothing for a table that is empty, as most are on the way of a hit.
    private static func remove(_ key: ExactText, _ table: inout [ExactText: PendingAccess]) -> PendingAccess? {
        table.isEmpty ? nil : table.removeValue(forKey: key)
    }

    /// The keys of some entries that have a slide: those first that had it at the last mark, or only those.
    func slidKeys(limit: Int, onlyMarked: Bool) -> [ExactText] {
        let keys = Array(marked.keys.prefix(limit))
        return onlyMarked ? keys : keys + Array(slid.keys.prefix(limit - keys.count))
    }

    /// The keys of some entries that have none; those first that would be forgotten first.
    func hitKeys(limit: Int) -> [ExactText] {
        let keys = Array(older.keys.prefix(limit))
        return keys + Array(younger.keys.prefix(limit - keys.count))
    }

    /// Adds hits of an entry that has no slide, as most have none, with as little hashing as can be.
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

    /// Makes room in the younger generation once it is full.
    private mutating func forgetOlder() -> Forgotten {
        guard younger.count >= Self.generationLimit else { return [:] }
        defer { (older, younger) = (younger, Dictionary(minimumCapacity: Self.generationLimit)) }
        return older
    }
}
