import DiskCache
import HTTPCaching
import HTTPTypes
import Primitives

/// A stored response with its entry, or with the entries of its parts; bodies are looked up when they are sent.
struct HeldResponse: Sendable {
    /// One stored 206, and which bytes it has.
    struct Part: Sendable {
        var entry: Entry
        var range: Range<Int64>
    }

    /// The entry; of a response in parts that of the latest.
    private(set) var entry: Entry
    /// The head to answer with; of parts that have every byte that of the whole.
    private(set) var head: StoredResponse
    /// The head that is stored in the entry.
    private(set) var entryHead: StoredResponse
    /// The parts of one that is not complete, in the order of their bytes; empty for one that is.
    private(set) var parts: [Part] = []
    /// Whether what it was selected from is still what there is.
    var changes: ChangeMark?
    /// The fields of a request that decided which was selected: those of every variant, for one that this request does
    /// not match another may, and be the later answer.
    var selectors: [String] = []

    /// A response that is held whole, or one part alone.
    init(entry: Entry, head: StoredResponse) {
        self.entry = entry
        self.head = head
        entryHead = head
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

    /// Takes what a 304 says; see ``HTTPCaching/StoredResponse/update(from:for:)``.
    ///
    /// - Parameter whole: the same with the fields that end at this hop: a directive counts even when `Connection`
    ///   names the field that it stands in.
    mutating func update(
        from notModified: OriginAnswer, _ whole: OriginAnswer, for request: CacheRequest
    ) -> PassReason? {
        var judged = head
        let reason = judged.update(from: whole, for: request)
        _ = entryHead.update(from: notModified, for: request)
        let ownReason = head.update(from: notModified, for: request)
        for path in [\HeldResponse.head, \HeldResponse.entryHead] {
            self[keyPath: path].grant = judged.grant
            self[keyPath: path].selection = judged.selection
        }
        return ownReason ?? reason
    }

    /// The same for the client whose request brought these fields: their cookies stand in place of the stored ones,
    /// where they set any.
    func settingCookies(of fields: HTTPFields) -> HeldResponse {
        guard fields.contains(.setCookie) else { return self }
        var own = self
        own.head.fields[fields: .setCookie] = fields[fields: .setCookie]
        return own
    }

    /// The same with its entry as it is after a refresh, which leaves the body as it was.
    func refreshed(_ entry: Entry) -> HeldResponse {
        var refreshed = self
        refreshed.entry = entry
        return refreshed
    }

    /// Which bytes are held of one in parts.
    var coverage: ByteCoverage? { parts.isEmpty ? nil : ByteCoverage(parts.map(\.range)) }
}
