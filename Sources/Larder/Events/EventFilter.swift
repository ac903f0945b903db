import Primitives

/// Which events a listener wants: those that match everything that is stated.
public struct EventFilter: Hashable, Sendable {
    /// The names of namespaces that it happened in; `nil`: all of them.
    public var namespaces: Set<String>?
    /// What happened; `nil`: anything.
    public var kinds: Set<Event.Kind>?
    /// The key of the entry, exactly; `nil`: any.
    public var key: String?
    /// A tag that the entry has; `nil`: any, or none.
    public var tag: String?

    /// A filter that states what is given; nothing by default.
    public init(
        namespaces: Set<String>? = nil, kinds: Set<Event.Kind>? = nil, key: String? = nil, tag: String? = nil
    ) {
        self.namespaces = namespaces
        self.kinds = kinds
        self.key = key
        self.tag = tag
    }

    /// Whether a listener wants an event. What it must know in any case is a ``Event/Kind/reset``; and of entries that
    /// are not named one by one nobody knows that they have another key or tag.
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
