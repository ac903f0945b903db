import Primitives

/// Selects the events for a listener: an event must match every condition; `nil`: no condition.
package struct EventFilter: Hashable, Sendable {
    package var namespaces: Set<String>?
    package var kinds: Set<Event.Kind>?
    package var key: String?
    package var tag: String?

    package init(
        namespaces: Set<String>? = nil, kinds: Set<Event.Kind>? = nil, key: String? = nil, tag: String? = nil
    ) {
        self.namespaces = namespaces
        self.kinds = kinds
        self.key = key
        self.tag = tag
    }

    /// An event about entries that are not named singly matches every key and tag, because their keys and tags are
    /// unknown. A ``Event/Kind/reset`` is for every listener.
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
