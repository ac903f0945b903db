import DiskCache

/// The wishes of the callers of a download for its entry. The wishes of all callers unite on the entry, also those of
/// callers that joined.
struct EntryWishes: Sendable {
    var tags: Set<String> = []
    /// The time after the expiry for which the entry may be served stale.
    var staleAllowance: Duration = .zero
    /// `nil`: as the entry is. A caller that pins prevails over a caller that unpins.
    var pinned: Bool?

    mutating func formUnion(_ other: EntryWishes) {
        tags.formUnion(other.tags)
        staleAllowance = max(staleAllowance, other.staleAllowance)
        if let pinned = other.pinned { self.pinned = pinned || self.pinned == true }
    }

    /// The wishes that `other` does not include.
    func subtracting(_ other: EntryWishes) -> EntryWishes {
        EntryWishes(
            tags: tags.subtracting(other.tags),
            staleAllowance: staleAllowance > other.staleAllowance ? staleAllowance : .zero,
            pinned: pinned == other.pinned || other.pinned == true ? nil : pinned)
    }

    /// Whether an entry fulfils all wishes.
    func areFulfilled(by entry: Entry) -> Bool {
        tags.isSubset(of: entry.tags) && staleAllowance <= entry.staleAllowance
            && (pinned == nil || pinned == entry.pinned)
    }
}

extension DownloadRequest {
    var wishes: EntryWishes {
        EntryWishes(
            tags: tags, staleAllowance: max(staleWhileRevalidate ?? .zero, staleIfError ?? .zero), pinned: pinned)
    }
}
