import DiskCache
import HTTPCaching
import Primitives

/// The heads of stored responses, as they were read last: a hit must not parse a head that has not changed.
///
/// By key and version: of a version the head never changes, but by a refresh, which changes the text.
final class ParsedHeads: Sendable {
    private struct Parsed {
        var text: String
        var head: StoredResponse
    }

    /// How many bytes of keys and texts are kept; then all are forgotten, which costs one parse each.
    private static let limit = 8 << 20

    private let heads = Locked(BoundedMemo<String, Parsed>(limit: limit))

    /// The head of an entry; `nil` when it has none that can be read, as another program's entries.
    func head(of entry: Entry) -> StoredResponse? {
        guard let text = entry.fields else { return nil }
        if let known = heads.withLock({ $0[entry.key] }), known.text == text { return known.head }
        guard let head = StoredResponse(text: text) else { return nil }
        let cost = entry.key.utf8.count + text.utf8.count
        _ = heads.withLock { $0.remember(Parsed(text: text, head: head), for: entry.key, cost: cost) }
        return head
    }
}
