import Primitives

/// The tags of an entry: the tags held for longest come first, each tag once.
enum TagUnion {
    /// The tags of `held` that are not in `more`, followed by the tags of `more`, sorted.
    static func tags(_ held: [String], adding more: [String]) -> [String] {
        let new = Set(more.map(ExactText.init))
        var known = new
        return held.filter { known.insert(ExactText($0)).inserted } + Entry.sorted(new)
    }

    /// The tags of an entry that is published: `stated`, or else the tags of the replaced or refreshed entry `held`
    /// without `dropped`, and the tags `new` of the reservation. Tags that are taken over must not prevent a store: an
    /// origin that names another group with each response would soon exceed the limit. So the oldest tags go first.
    static func tags(
        stated: [String]?, held: Entry?, dropping dropped: (@Sendable (Entry) -> [String])?, adding new: Set<ExactText>
    ) -> [String] {
        let new = new.map(\.text)
        if let stated { return tags(stated, adding: new) }
        guard let held else { return tags([], adding: new) }
        let gone = Set((dropped?(held) ?? []).map(ExactText.init))
        let all = tags(held.record.tags.filter { !gone.contains(ExactText($0)) }, adding: new)
        // When the new tags alone exceed the limit, the publish fails.
        return new.count > Entry.tagLimit ? all : all.suffix(Entry.tagLimit)
    }
}
