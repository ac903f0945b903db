import DiskCache
import HTTPCaching
import Primitives

/// The parsed heads of recently read stored responses, of all namespaces. A hit need not parse a head that has not
/// changed.
///
/// A head is used only if its text equals the text in the entry. So it does not matter which thread stored which head
/// here.
final class ParsedHeads: Sendable {
    private struct Parsed: Sendable {
        var text: String
        var head: StoredResponse
    }

    /// The greatest number of bytes of keys and texts. Beyond it, the heads of a namespace are forgotten, and each of
    /// them costs one parse.
    private static let limit = 8 << 20

    private let heads = Locked(NamespaceMemo<Parsed>(limit: limit))

    /// Returns the head of an entry; `nil` when the entry has no readable head, like an entry of another program.
    func head(of entry: Entry) -> StoredResponse? {
        guard let text = entry.fields else { return nil }
        let (namespace, key) = (entry.namespace, entry.key)
        if let known = heads.withLock({ $0[namespace, key] }), known.text == text { return known.head }
        guard let head = StoredResponse(text: text) else { return nil }
        let cost = namespace.utf8.count + key.utf8.count + text.utf8.count
        _ = heads.withLock { $0.remember(Parsed(text: text, head: head), for: key, of: namespace, cost: cost) }
        return head
    }

    /// Forgets the heads of a namespace that is not used any more.
    func forget(_ namespace: String) {
        _ = heads.withLock { $0.forget(namespace) }
    }
}
