import HTTPTypes
import Primitives

/// The effect of an answer to HEAD on a stored answer to GET.
package enum HeadOutcome: Hashable, Sendable {
    case unrelated
    case freshened
    /// The stored answer is outdated and must be validated before reuse.
    case invalidated
}

extension StoredResponse {
    /// Whether a 304 applies to this response, by ``Validators/areConfirmed(by:madeAt:now:)``. The request must have
    /// had this response's ``Validators``. If it applies to no stored response, repeat the request without conditions.
    package func isConfirmed(by notModified: HTTPFields) -> Bool {
        let madeAt = FreshnessLifetime.date(of: fields, receivedAt: receivedAt)
        return Validators(fields).areConfirmed(by: notModified, madeAt: madeAt, now: receivedAt)
    }

    /// Updates this response from a 304 (RFC 9111 §3.2, §4.3.4): it then counts as valid and as just received. Each
    /// field of the 304 replaces the stored fields of the same name, in place, except the fields that describe the
    /// stored body (Content-Length, Content-Encoding, Content-Range, Content-Digest, and an entity tag that a strong
    /// tag would replace), and Set-Cookie, because a cookie is meant for the client that sent the request (§7.3).
    ///
    /// `request` is the conditional request. Returns `nil` when the updated response, perhaps with another
    /// ``selection``, may be stored. Otherwise returns the reason, and the updated response is for this request only.
    package mutating func update(from notModified: OriginAnswer, for request: CacheRequest) -> PassReason? {
        adopt(notModified.fields, requestedAt: notModified.requestedAt, receivedAt: notModified.receivedAt)
        var read = request
        read.method = .get
        let current = OriginAnswer(status: status, fields: fields, requestedAt: requestedAt, receivedAt: receivedAt)
        switch StoragePolicy.decide(read, current) {
        case .pass(let reason): return reason
        case .store(let stored):
            selection = stored.selection
            // Only a caller with a ttl changes ``grant``. A response that is stored for some callers alone stays so,
            // because the directive that limits it may be missing from the stored fields and from the 304.
            let wasOnlyReason = grant?.isOnlyReason == true
            if request.callerTTL != nil { grant = stored.grant }
            if wasOnlyReason { grant?.isOnlyReason = true }
            dropGrantedCookies()
            return nil
        }
    }

    /// Compares this response with the answer to a HEAD request that selects it (RFC 9111 §4.3.5). With equal
    /// validators and length, takes the answer's fields if the result may be stored. With different validators or
    /// length, marks this response as invalid. Only a 200 has an effect.
    package mutating func update(fromHEAD answer: OriginAnswer, for request: CacheRequest) -> HeadOutcome {
        guard answer.status == 200 else { return .unrelated }
        guard isSame(asIn: answer.fields) else {
            isInvalid = true
            return .invalidated
        }
        var updated = self
        guard updated.update(from: answer, for: request) == nil else { return .unrelated }
        self = updated
        return .freshened
    }

    /// Combines this response with a later 206 for the same representation (RFC 9111 §3.4). The result has the bytes of
    /// both, and the fields of the newer answer except those about its body. `held` is the contiguous range of bytes
    /// that the caller now has, at least one; with all bytes the result is a complete 200. `nil` when no strong
    /// validator connects both responses, their lengths differ, or one of their statuses forbids it.
    package func combined(with newer: StoredResponse, holding held: Range<Int64>) -> StoredResponse? {
        let mine = StrongValidators(fields, receivedAt: receivedAt)
        guard [200, 206].contains(status), newer.status == 206,
            mine.matches(StrongValidators(newer.fields, receivedAt: newer.receivedAt)),
            completeLength == nil || newer.completeLength == nil || completeLength == newer.completeLength
        else { return nil }
        var whole = self
        whole.adopt(newer.fields, requestedAt: newer.requestedAt, receivedAt: newer.receivedAt)
        whole.selection = newer.selection
        whole.grant = newer.grant
        whole.completeLength = completeLength ?? newer.completeLength
        guard part != nil else { return whole }
        if let length = whole.completeLength, held == 0..<length {
            whole.status = 200
            whole.part = nil
            whole.fields[.contentRange] = nil
            whole.fields[.contentLength] = String(length)
        } else {
            whole.part = held
            whole.fields[.contentRange] = ContentRange.text(held, length: whole.completeLength)
            whole.fields[.contentLength] = String(held.count)
        }
        return whole
    }

    /// Whether the strong validators match, and the lengths and the selecting fields are equal (RFC 9111 §3.4).
    package func isSameRepresentation(as other: StoredResponse) -> Bool {
        let mine = StrongValidators(fields, receivedAt: receivedAt)
        return !mine.isEmpty && mine.matches(StrongValidators(other.fields, receivedAt: other.receivedAt))
            && completeLength == other.completeLength && selection == other.selection
    }

    private mutating func adopt(_ newer: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp) {
        var names: Set<HTTPField.Name> = [.contentLength, .contentEncoding, .contentRange, .contentDigest, .setCookie]
        if !Validators(fields).mayBeReplaced(byTagOf: newer) { names.insert(.eTag) }
        for field in newer where names.insert(field.name).inserted {
            fields[fields: field.name] = newer[fields: field.name]
        }
        // The stored Age describes the older answer only.
        if !newer.contains(.age) { fields[.age] = nil }
        self.requestedAt = requestedAt
        self.receivedAt = receivedAt
        isInvalid = false
        isExpirySet = false
    }

    /// Compares validators and length (RFC 9111 §4.3.5). A value that is missing in the answer to HEAD counts as equal.
    private func isSame(asIn head: HTTPFields) -> Bool {
        guard status == 200 || status == 206 else { return false }
        let named = Validators(head)
        let held = Validators(fields)
        if let tag = named.etag, held.etag?.text != tag.text { return false }
        if let modified = named.lastModified, held.lastModified != modified { return false }
        if let length = head[values: .contentLength].first, let completeLength {
            return Int64(digits: length) == completeLength
        }
        return true
    }
}
