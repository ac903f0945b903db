import DiskCache
import HTTPCaching
import Primitives

/// A stored response with its entry, or with the entries of its parts; bodies are looked up when they are sent.
struct HeldResponse: Sendable {
    /// One stored 206, and which bytes it has.
    struct Part: Sendable {
        var entry: Entry
        var range: Range<Int64>
    }

    /// The entry; of a response in parts that of the latest.
    var entry: Entry
    var head: StoredResponse
    /// The parts of one that is not complete, in the order of their bytes; empty for one that is.
    var parts: [Part] = []

    /// A response that is held whole.
    init(entry: Entry, head: StoredResponse) {
        self.entry = entry
        self.head = head
    }

    /// A part, with all of `others` that belong to the same representation (RFC 9111 §3.4).
    init(_ latest: HeldResponse, with others: [HeldResponse]) {
        self = latest
        parts = others.compactMap { other in
            guard let range = other.head.part, other.head.isSameRepresentation(as: latest.head) else { return nil }
            return Part(entry: other.entry, range: range)
        }.sorted { $0.range.lowerBound < $1.range.lowerBound }
        // All of it: then it is as good as what came in one piece.
        if let length = latest.head.completeLength, coverage?.isComplete(length: length) == true,
            let whole = latest.head.combined(with: latest.head, holding: 0..<length)
        {
            head = whole
        }
    }

    /// Which bytes are held of one in parts.
    var coverage: ByteCoverage? { parts.isEmpty ? nil : ByteCoverage(parts.map(\.range)) }
}

/// The heads of stored responses, as they were read last: a hit must not parse a head that has not changed.
///
/// By key and version: of a version the head never changes, but by a refresh, which changes the text.
final class ParsedHeads: Sendable {
    private struct Parsed {
        var text: String
        var head: StoredResponse
    }

    /// How many are kept; then all are forgotten, which costs one parse each.
    private static let limit = 16_384

    private let heads = Locked<[String: Parsed]>([:])

    /// The head of an entry; `nil` when it has none that can be read, as another program's entries.
    func head(of entry: Entry) -> StoredResponse? {
        guard let text = entry.fields else { return nil }
        if let known = heads.withLock({ $0[entry.key] }), known.text == text { return known.head }
        guard let head = StoredResponse(text: text) else { return nil }
        heads.withLock { heads in
            if heads.count >= Self.limit { heads.removeAll(keepingCapacity: true) }
            heads[entry.key] = Parsed(text: text, head: head)
        }
        return head
    }
}
