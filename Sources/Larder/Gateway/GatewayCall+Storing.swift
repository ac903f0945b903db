import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// What goes to the origin, and what is stored of its answer.
extension GatewayCall {
    /// The fields of the request to the origin.
    ///
    /// A request whose answer may be kept asks for all of it and without conditions but our own: Larder answers ranges
    /// and conditions itself, from what it gets. Only where nothing can be kept they are the origin's affair, and both
    /// are when nothing of the resource is held and a range does not start at its beginning: who wants the end of a
    /// long body should not wait for all of it, and a part that is sent on as it comes cannot become a 304 here.
    /// Preconditions always are: a body of unknown length is sent on before Larder could tell (RFC 9110 §13.1.1).
    func originFields(validating held: StoredResponse?, isShared: Bool) -> HTTPFields {
        var fields = request.fields
        if request.isCacheable, held != nil || (isShared && asksForBeginning) {
            for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .ifRange] {
                fields[fields: name] = []
            }
            for field in held.map({ Validators($0.fields).conditionalFields }) ?? [:] { fields.append(field) }
        }
        Via.append(to: &fields, version: request.version)
        return fields
    }

    /// Whether the range that is asked for begins at the beginning: then the whole is as quick.
    private var asksForBeginning: Bool {
        guard let ranges = ByteRangeSet(request.fields, method: request.method) else { return true }
        return ranges.specifications.count == 1 && ranges.specifications[0] == .from(first: 0, last: nil)
    }

    /// What the entry of a new answer has.
    func metadata(of stored: StoredResponse, from start: Timestamp, to end: Timestamp) -> EntryMetadata {
        let expiry = stored.expiryDate(callerTTL: request.ttl)
        var metadata = EntryMetadata(ttl: max(.zero, expiry - end))
        metadata.expiryDate = expiry
        metadata.status = stored.status
        metadata.contentType = Self.bounded(stored.fields[values: .contentType].first)
        metadata.etag = Self.bounded(stored.fields[values: .eTag].first)
        metadata.lastModified = Self.bounded(stored.fields[values: .lastModified].first)
        metadata.downloadStartDate = start
        metadata.downloadEndDate = end
        metadata.staleAllowance = stored.staleAllowance
        metadata.fields = stored.text
        metadata.droppedTags = Self.groups
        return metadata
    }

    /// What a 304 changes of a held entry, whose head it has made into `stored`.
    func refresh(
        of entry: Entry, _ stored: StoredResponse, from start: Timestamp, to end: Timestamp
    ) -> EntryRefresh {
        let metadata = metadata(of: stored, from: start, to: end)
        // What has a ttl of some caller's lives by that, too, whoever had it validated.
        let isExpirySet = entry.fields.flatMap { StoredResponse(text: $0) }?.isExpirySet ?? false
        let keepsTTL =
            stored.grant != nil && request.ttl == nil && !isExpirySet && entry.expiryDate > metadata.expiryDate ?? end
        var refresh = EntryRefresh(ttl: keepsTTL ? entry.ttl : metadata.ttl)
        refresh.expiryDate = keepsTTL ? entry.expiryDate : metadata.expiryDate
        refresh.contentType = metadata.contentType
        refresh.etag = metadata.etag
        refresh.lastModified = metadata.lastModified
        refresh.downloadStartDate = start
        refresh.downloadEndDate = end
        refresh.staleAllowance = metadata.staleAllowance
        refresh.fields = metadata.fields
        refresh.droppedTags = Self.groups
        return refresh
    }

    /// The groups that an entry was in (RFC 9875): its next answer says anew in which it is.
    private static let groups: @Sendable (Entry) -> [String] = { entry in
        entry.fields.flatMap { StoredResponse(text: $0) }.map { CacheGroups($0.fields).names } ?? []
    }

    /// An entry shows a field when it is of a sensible length; the head that is stored has all of it.
    private static func bounded(_ text: String?) -> String? {
        text.flatMap { $0.utf8.count <= 1024 ? $0 : nil }
    }
}

extension StoredResponse {
    /// What tells it from the other responses to its URL, for its key.
    var variantText: String {
        var parts = [selection.text]
        if let part { parts.append("bytes \(part.lowerBound)-\(part.upperBound)") }
        if let grant, grant.isOnlyReason { parts.append("for \(grant.authorization ?? "anyone with a ttl")") }
        return parts.joined(separator: "\n\n")
    }

    /// For how long after its expiry it may be of use without being validated.
    var staleAllowance: Duration {
        let freshness = Freshness(of: self)
        if freshness.forbidsStale { return .zero }
        // RFC 9111 §4.2.4: while the origin cannot be reached anything stale may be served that nobody forbids.
        return max(freshness.staleWhileRevalidate, freshness.staleIfError ?? .seconds(86_400))
    }
}
