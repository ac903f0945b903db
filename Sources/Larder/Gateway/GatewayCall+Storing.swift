import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// The request to the origin, and the metadata of the stored answer.
extension GatewayCall {
    /// The fields of the request to the origin.
    ///
    /// A request whose answer may be kept asks for the whole body, without conditions other than Larder's validators.
    /// Larder then answers ranges and conditions itself, from the received answer.
    ///
    /// The client's ranges and conditions go to the origin in two cases. First, when the answer cannot be kept, or no
    /// response is held and no other call may wait for the answer. Second, when no response is held and the client asks
    /// for a range other than `bytes=0-`: a client that wants the end of a long body should not wait for all of it. The
    /// conditions go along with such a range, because Larder sends a part on as it arrives and cannot turn it into a
    /// 304.
    ///
    /// Preconditions always go to the origin, because Larder may send the body on before it can evaluate them (RFC 9110
    /// §13.1.1).
    func originFields(validating held: StoredResponse?, isShared: Bool) -> HTTPFields {
        var fields = request.fields
        if asksForWhole(isValidating: held != nil, isShared: isShared) {
            for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .ifRange] {
                fields[fields: name] = []
            }
            for field in held.map({ Validators($0.fields).conditionalFields }) ?? [:] { fields.append(field) }
        }
        Via.append(to: &fields, version: request.version)
        return fields
    }

    /// Whether the origin is asked for the whole body, without the client's conditions and range.
    func asksForWhole(isValidating: Bool, isShared: Bool) -> Bool {
        request.isCacheable && (isValidating || (isShared && asksForBeginning))
    }

    /// Whether the origin gets a single range, and no condition that permits the whole body as the answer.
    func sendsRange(isValidating: Bool, isShared: Bool) -> Bool {
        !asksForWhole(isValidating: isValidating, isShared: isShared) && !request.fields.contains(.ifRange)
            && ByteRangeSet(request.fields, method: request.method)?.specifications.count == 1
    }

    /// Whether the request has no range, or `bytes=0-`. The whole body then takes no longer than the requested bytes.
    var asksForBeginning: Bool {
        guard let ranges = ByteRangeSet(request.fields, method: request.method) else { return true }
        return ranges.specifications.count == 1 && ranges.specifications[0] == .from(first: 0, last: nil)
    }

    func metadata(of stored: StoredResponse, from start: Timestamp, to end: Timestamp) -> EntryMetadata {
        let expiry = stored.expiryDate(callerTTL: request.ttl)
        var metadata = EntryMetadata(ttl: max(.zero, expiry - end))
        metadata.expiryDate = expiry
        metadata.status = stored.status
        metadata.contentType = EntryMetadata.bounded(stored.fields[values: .contentType].first)
        metadata.etag = EntryMetadata.bounded(stored.fields[values: .eTag].first)
        metadata.lastModified = EntryMetadata.bounded(stored.fields[values: .lastModified].first)
        metadata.downloadStartDate = start
        metadata.downloadEndDate = end
        metadata.staleAllowance = stored.staleAllowance
        metadata.fields = stored.text
        metadata.droppedTags = Self.groups
        return metadata
    }

    /// The changes that a 304 makes to a held entry. `stored` is the entry's head, already updated from the 304.
    func refresh(
        of entry: Entry, _ stored: StoredResponse, from start: Timestamp, to end: Timestamp
    ) -> EntryMetadata {
        var refresh = metadata(of: stored, from: start, to: end)
        // A validation for a caller without a ttl does not shorten the ttl that caused the entry to be kept.
        let isExpirySet = entry.fields.flatMap { StoredResponse(text: $0) }?.isExpirySet ?? false
        let keepsTTL =
            stored.grant != nil && request.ttl == nil && !isExpirySet && entry.expiryDate > refresh.expiryDate ?? end
        if keepsTTL { (refresh.ttl, refresh.expiryDate) = (entry.ttl, entry.expiryDate) }
        return refresh
    }

    /// The tags of a replaced entry that were its groups (RFC 9875). The new answer states its own groups.
    private static let groups: @Sendable (Entry) -> [String] = { entry in
        entry.fields.flatMap { StoredResponse(text: $0) }.map { CacheGroups($0.fields).names } ?? []
    }
}

extension StoredResponse {
    /// The text that distinguishes this response from the other responses to its URL, for its key.
    var variantText: String {
        var parts = [selection.text]
        if let part { parts.append("bytes \(part.lowerBound)-\(part.upperBound)") }
        if let grant, grant.isOnlyReason { parts.append("for \(grant.authorization ?? "anyone with a ttl")") }
        return parts.joined(separator: "\n\n")
    }

    /// The time after its expiry during which the response may be used without validation.
    var staleAllowance: Duration {
        let freshness = freshness
        if freshness.forbidsStale { return .zero }
        // RFC 9111 §4.2.4: while the origin cannot be reached, any stale response may be served unless it is forbidden.
        return max(freshness.staleWhileRevalidate, freshness.staleIfError ?? .seconds(86_400))
    }
}
