import Primitives

/// A purge of the entries that were published before it began. Marks in ``PendingStores`` cover bodies being received.
struct Purge: Sendable {
    var filters: [EntryFilter]
    var now: Timestamp
    var lastVersion: Int64
    var telling: BulkRemoval
    /// Whether held entries go although no filter names them.
    var removesHeld = false

    /// Returns the number of entries removed. `count` entries were removed before.
    func step(_ context: WriteContext, after count: Int, limit: Int) throws -> Int {
        var removed = 0
        for filter in filters where removed < limit {
            var query = EntryQuery.purge(filter, now: now, removesHeld: removesHeld)
            query.restrict("version <= ?", [lastVersion])
            removed += try context.remove(
                query, because: .purged, limit: limit - removed, telling, after: count + removed)
        }
        return removed
    }
}

/// A condition on the entry of a key when a removal begins. `holds` gets `nil` without an entry, and must not wait.
package typealias RemovalCondition = (key: String, holds: @Sendable (Entry?) -> Bool)

extension WriteContext {
    /// Throws ``DiskCacheError/conditionFailed`` when the condition does not hold and there are entries to remove.
    func check(_ condition: RemovalCondition?, _ filters: [EntryFilter], now: Timestamp) throws {
        guard let condition, !condition.holds(try entry(forKey: condition.key)) else { return }
        for filter in filters where try !index.rows(.purge(filter, now: now), limit: 1).isEmpty {
            throw DiskCacheError.conditionFailed
        }
    }

    /// Marks the pending stores that a purge matches. A purge by tag or state may match the entry that a store replaces
    /// or refreshes, although it does not match the store. The store must not bring that entry back. So this method
    /// looks in the index, once for all stores with the same keys and URL.
    func purgeStores(_ filters: [EntryFilter], sparing spared: Int?, now: Timestamp) throws {
        var known: [ExactText: Bool] = [:]
        for doubt in parts.pendingStores.purge(PurgeScope.scopes(of: filters), sparing: spared) {
            let (first, last) = doubt.heldKeys
            // Stores with the same keys and URL also have the same scopes.
            let question = ExactText("\(first) \(doubt.url ?? "")")
            let isMeant =
                try known[question]
                ?? index.holds(from: first, to: last) { kindCode, expiryDate, tags, isHeld in
                    doubt.scopes.contains { scope in
                        // A held entry stays, so its new body does not bring it back.
                        (!isHeld || scope.filter.namesResource) && scope.means(kindCode, expiryDate, tags, now: now)
                    }
                }
            known[question] = isMeant
            if isMeant { doubt.purged.set() }
        }
    }
}

/// The filters of a purge that differ only in their tags. Matching them together compares the other fields only once.
struct PurgeScope: Sendable {
    let filter: EntryFilter
    /// `nil` when a filter has no tag: then the scope matches entries with any tags.
    let tags: Set<ExactText>?

    static func scopes(of filters: [EntryFilter]) -> [PurgeScope] {
        let untagged = filters.map { filter in
            var filter = filter
            filter.tag = nil
            return filter
        }
        // Two filters differ only in their tags when the bytes of all other texts are equal.
        let groups = Dictionary(grouping: filters.indices) { index in
            (untagged[index].texts + untagged[index].urlBeginnings).map { $0.map(ExactText.init) }
        }
        return groups.values.map { group in
            let tags = group.compactMap { filters[$0].tag.map(ExactText.init) }
            return PurgeScope(filter: untagged[group[0]], tags: tags.count < group.count ? nil : Set(tags))
        }
    }

    /// Matches by kind, state and tags. The caller has matched the key and the URL.
    func means(_ kindCode: Int, _ expiryDate: Timestamp, _ heldTags: [String], now: Timestamp) -> Bool {
        if let kind = filter.kind, kind.code != kindCode { return false }
        if let state = filter.state, (state == .fresh) != (expiryDate > now) { return false }
        guard let tags else { return true }
        return heldTags.contains { tags.contains(ExactText($0)) }
    }
}
