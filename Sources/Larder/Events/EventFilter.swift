import Primitives

/// Selects the events for a listener: an event must match every condition that is set.
package struct EventFilter: Hashable, Sendable {
    /// The names of the namespaces that the event may have happened in; `nil`: all.
    package var namespaces: Set<String>?
    /// The kinds of the event; `nil`: all.
    package var kinds: Set<Event.Kind>?
    /// The exact key of the entry; `nil`: any.
    package var key: String?
    /// A tag that the entry has; `nil`: any tag, or none.
    package var tag: String?

    /// A filter with the given conditions; without any, all events match.
    package init(
        namespaces: Set<String>? = nil, kinds: Set<Event.Kind>? = nil, key: String? = nil, tag: String? = nil
    ) {
        self.namespaces = namespaces
        self.kinds = kinds
        self.key = key
        self.tag = tag
    }

    /// Whether the event is for the listener. A ``Event/Kind/reset`` always is. An event about entries that are not
    /// named singly matches every key and tag, because their keys and tags are unknown.
    func matches(_ event: Event) -> Bool {
        guard let namespace = event.namespace else { return true }
        if let namespaces, !namespaces.contains(namespace) { return false }
        if let kinds, !kinds.contains(event.kind) { return false }
        switch event.subject {
        case .download(let report): return isOf(report.status.key, report.tags)
        case .entries(.entry(let entry)): return isOf(entry.key, entry.tags)
        case .entries(.others), .listener: return true
        }
    }

    private func isOf(_ key: String, _ tags: [String]) -> Bool {
        if let wanted = self.key, ExactText(wanted) != ExactText(key) { return false }
        guard let tag else { return true }
        return tags.contains { ExactText($0) == ExactText(tag) }
    }
}
