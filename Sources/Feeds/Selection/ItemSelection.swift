import Primitives

/// Chooses the items of a source that belong to a set.
package enum ItemSelection {
    /// Returns the latest `count` items, or all for `nil`, each identity once, the latest first.
    ///
    /// Items are ordered by date, and items of the same date by their position, as publishers put new items first. A
    /// date after `now` counts as the time at which the item was first listed (``FutureDates``); without a note of it,
    /// as `now`. Undated items follow all dated ones. Of several items with one identity, the first in this order is
    /// chosen.
    ///
    /// - Parameter countsLinks: whether the caller needs only the links. Then items without a link are left out, and
    ///   each link is chosen once, because a publisher may list an item under an old and a new id.
    package static func latest(
        _ count: Int?, of items: [FeedItem], now: Timestamp, futureDates: FutureDates = FutureDates(),
        countsLinks: Bool = false
    ) -> [FeedItem] {
        let dates = items.map { item in
            futureDates.date(item.date, of: ItemIdentity(item).description, now: now)
                ?? Timestamp(milliseconds: .min)
        }
        let order = items.indices.sorted { left, right in
            dates[left] == dates[right] ? left < right : dates[left] > dates[right]
        }
        var known: Set<ItemIdentity> = []
        var links: Set<String> = []
        var chosen: [FeedItem] = []
        for index in order {
            if let count, chosen.count >= count { break }
            guard known.insert(ItemIdentity(items[index])).inserted else { continue }
            if countsLinks {
                // Not `ItemIdentity.key(ofLink:)`: http and https are two resources.
                guard let link = items[index].link, !link.isEmpty,
                    links.insert((try? CanonicalURL(link).string) ?? link).inserted
                else { continue }
            }
            chosen.append(items[index])
        }
        return chosen
    }
}
