import Primitives

/// The dates of items that claim to be from the future.
///
/// Such an item counts as published when its source first listed it, so that later items overtake it. If it counted as
/// published now at each reading, an item dated 2099 would stay before all others for ever.
///
/// ```swift
/// dates.note(feed.items.map { ("\(ItemIdentity($0))", $0.date) }, now: now)
/// let chosen = ItemSelection.latest(50, of: feed.items, now: now, futureDates: dates)
/// ```
package struct FutureDates: Hashable, Sendable {
    /// When the items were first listed, by their names.
    package private(set) var firstListed: [String: Timestamp]

    /// The most items that ``note(_:now:)`` remembers of a list. Further ones count as published now.
    package static let limit = 1000

    package init(_ firstListed: [String: Timestamp] = [:]) {
        self.firstListed = firstListed
    }

    /// Notes the items of a list with a date after `now`, and forgets all others.
    package mutating func note(_ items: some Sequence<(name: String, date: Timestamp?)>, now: Timestamp) {
        var noted: [String: Timestamp] = [:]
        for (name, date) in items {
            guard let date, date > now else { continue }
            noted[name] = min(firstListed[name] ?? now, now)
            if noted.count >= Self.limit { break }
        }
        firstListed = noted
    }

    /// The date by which an item is ordered, at most `now`; `nil` for an undated item.
    package func date(_ date: Timestamp?, of name: @autoclosure () -> String, now: Timestamp) -> Timestamp? {
        guard let date, date > now else { return date }
        return min(firstListed[name()] ?? now, now)
    }
}
