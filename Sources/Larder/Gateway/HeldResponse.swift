import DiskCache
import HTTPCaching
import HTTPTypes
import Primitives

/// A stored response with its entry, or with the entries of its parts. Bodies are looked up when they are sent.
struct HeldResponse: Sendable {
    /// One stored 206, and the range of its bytes.
    struct Part: Sendable {
        var entry: Entry
        var range: Range<Int64>
    }

    /// The entry. For a response in parts: the entry of the latest part.
    private(set) var entry: Entry
    /// The head to answer with. For parts that together have every byte: the head of the whole.
    private(set) var head: StoredResponse
    private(set) var entryHead: StoredResponse
    /// The parts of an incomplete response, in the order of their bytes; empty for a complete response.
    private(set) var parts: [Part] = []
    /// Tells whether the responses from which this one was selected are still current.
    var changes: ChangeMark?
    /// The request fields that decided the selection. They include the fields of every variant, because a request that
    /// differs in one of them may match another variant, and that variant may be the later answer.
    var selectors: [String] = []

    init(entry: Entry, head: StoredResponse) {
        self.entry = entry
        self.head = head
        entryHead = head
    }

    /// Creates a response from a part and all of `others` that belong to the same representation (RFC 9111 §3.4).
    init(_ latest: HeldResponse, with others: [HeldResponse]) {
        self = latest
        parts = others.compactMap { other in
            guard let range = other.head.part, other.head.isSameRepresentation(as: latest.head) else { return nil }
            return Part(entry: other.entry, range: range)
        }.sorted { $0.range.lowerBound < $1.range.lowerBound }
        // If the parts have every byte, they count as a whole body.
        if let length = latest.head.completeLength, coverage?.isComplete(length: length) == true,
            let whole = latest.head.combined(with: latest.head, holding: 0..<length)
        {
            head = whole
        }
    }

    /// Updates the response from a 304; see ``HTTPCaching/StoredResponse/update(from:for:)``. Returns the reason for
    /// not storing the update, or `nil`. `whole` also has the fields that end at this hop, because a directive counts
    /// even when `Connection` names its field.
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

    /// Returns the response for the client that caused the request: the new answer's cookies replace the stored ones.
    func settingCookies(of fields: HTTPFields) -> HeldResponse {
        guard fields.contains(.setCookie) else { return self }
        var own = self
        own.head.fields[fields: .setCookie] = fields[fields: .setCookie]
        return own
    }

    /// Returns the response with its entry as it is after a refresh. A refresh leaves the body unchanged.
    func refreshed(_ entry: Entry) -> HeldResponse {
        var refreshed = self
        refreshed.entry = entry
        return refreshed
    }

    /// The held bytes of a response in parts; `nil` for a complete response.
    var coverage: ByteCoverage? { parts.isEmpty ? nil : ByteCoverage(parts.map(\.range)) }
}
