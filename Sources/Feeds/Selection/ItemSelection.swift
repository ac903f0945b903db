import Primitives

/// Chooses the items of a source that belong to a set.
package enum ItemSelection {
    /// Returns the latest `count` items, or all for `nil`, each identity once, the latest first.
    ///
    /// Items are ordered by date, and items of the same date by their position, as publishers put new items first. A
    /// date after `now` counts as `now`, so that an item dated 2099 does not stay in the set for ever at the cost of
    /// others. Undated items follow all dated ones. Of several items with one identity, the first in this order is
    /// chosen.
    package static func latest(_ count: Int?, of items: [FeedItem], now: Timestamp) -> [FeedItem] {
        let order = items.indices.sorted { left, right in
            let dates = (date(items[left], now), date(items[right], now))
            return dates.0 == dates.1 ? left < right : dates.0 > dates.1
        }
        var known: Set<ItemIdentity> = []
        var chosen: [FeedItem] = []
        for index in order {
            if let count, chosen.count >= count { break }
            if known.insert(ItemIdentity(items[index])).inserted { chosen.append(items[index]) }
        }
        return chosen
    }

    private static func date(_ item: FeedItem, _ now: Timestamp) -> Timestamp {
        item.date.map { min($0, now) } ?? Timestamp(milliseconds: .min)
    }
}
