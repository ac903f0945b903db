import DiskCache
import HTTPCaching
import Primitives

/// The heads of stored responses, as they were read last, of all namespaces: a hit must not parse a head that has not
/// changed.
///
/// Whether it has changed its text tells, so it does not matter who finds what here.
final class ParsedHeads: Sendable {
    private struct Parsed: Sendable {
        var text: String
        var head: StoredResponse
    }

    /// How many bytes of keys and texts are kept; then those of a namespace are forgotten, which costs one parse each.
    private static let limit = 8 << 20

    private let heads = Locked(NamespaceMemo<Parsed>(limit: limit))

    /// The head of an entry; `nil` when it has none that can be read, as another program's entries.
    func head(of entry: Entry) -> StoredResponse? {
        guard let text = entry.fields else { return nil }
        let (namespace, key) = (entry.namespace, entry.key)
        if let known = heads.withLock({ $0[namespace, key] }), known.text == text { return known.head }
        guard let head = StoredResponse(text: text) else { return nil }
        let cost = namespace.utf8.count + key.utf8.count + text.utf8.count
        _ = heads.withLock { $0.remember(Parsed(text: text, head: head), for: key, of: namespace, cost: cost) }
        return head
    }

    /// Forgets those of a namespace, which nobody will ask for any more.
    func forget(_ namespace: String) {
        _ = heads.withLock { $0.forget(namespace) }
    }
}
