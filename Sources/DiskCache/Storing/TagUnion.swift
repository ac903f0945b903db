import Primitives

/// How the tags of an entry come about: those that were held for longest first, each once.
enum TagUnion {
    /// The tags that `held` has, and then those that `more` adds to it.
    static func tags(_ held: [String], adding more: [String]) -> [String] {
        let new = Set(more.map(ExactText.init))
        var known = new
        return held.filter { known.insert(ExactText($0)).inserted } + sorted(new)
    }

    /// The tags of what is published.
    ///
    /// Tags that nobody stated, but which are taken over, must not keep anything from being stored: an origin that
    /// names another group with each answer would soon have too many. They go, those first that were held for longest.
    ///
    /// - Parameters:
    ///   - stated: what was said; `nil`: those that `held` has.
    ///   - held: the entry that is replaced or refreshed, if there is one.
    ///   - dropped: says which tags of `held` are not taken over.
    ///   - new: the reservation's.
    static func tags(
        stated: [String]?, held: Entry?, dropping dropped: (@Sendable (Entry) -> [String])?, adding new: Set<ExactText>
    ) -> [String] {
        let new = new.map(\.text)
        if let stated { return tags(stated, adding: new) }
        guard let held else { return tags([], adding: new) }
        let gone = Set((dropped?(held) ?? []).map(ExactText.init))
        let all = tags(held.record.tags.filter { !gone.contains(ExactText($0)) }, adding: new)
        // When the new ones alone are too many that is for others to say.
        return new.count > Entry.tagLimit ? all : all.suffix(Entry.tagLimit)
    }

    /// In the order of their bytes.
    static func sorted(_ tags: some Sequence<ExactText>) -> [String] {
        tags.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
