import HTTPTypes
import Primitives

/// What an answer to HEAD says about a stored answer to GET.
public enum HeadOutcome: Hashable, Sendable {
    /// Nothing.
    case unrelated
    /// It is still right, and its fields are new.
    case freshened
    /// It is no longer right: it was marked, and must be validated before it is used.
    case invalidated
}

extension StoredResponse {
    /// Whether a 304 is about this response (RFC 9111 §4.3.4), after a request that was made conditional by this
    /// response's ``Validators``.
    ///
    /// One that names something else is about nothing that is here: ask again without conditions. The rule is
    /// ``Validators/areConfirmed(by:madeAt:now:)``.
    public func isConfirmed(by notModified: HTTPFields) -> Bool {
        let madeAt = FreshnessLifetime.date(of: fields, receivedAt: receivedAt)
        return Validators(fields).areConfirmed(by: notModified, madeAt: madeAt, now: receivedAt)
    }

    /// Takes what a 304 says anew (RFC 9111 §3.2, §4.3.4): each field of it replaces those of the same name, in place,
    /// with these exceptions. Fields that describe the stored body stay: Content-Length, Content-Encoding,
    /// Content-Range, Content-Digest, and an entity tag that a strong one would replace. Set-Cookie stays as well,
    /// because a cookie is for the client whose request was answered (§7.3). The response counts as received now, and
    /// as valid.
    ///
    /// - Parameter request: the one that was made conditional.
    /// - Returns: `nil` when what came of it is to be kept; otherwise why it is for this request only, and what is
    ///   stored stays as it was. A Vary in the 304 may have changed ``selection``.
    public mutating func update(from notModified: OriginAnswer, for request: CacheRequest) -> PassReason? {
        adopt(notModified.fields, requestedAt: notModified.requestedAt, receivedAt: notModified.receivedAt)
        var read = request
        read.method = .get
        let current = OriginAnswer(status: status, fields: fields, requestedAt: requestedAt, receivedAt: receivedAt)
        switch StoragePolicy.decide(read, current) {
        case .pass(let reason): return reason
        case .store(let stored):
            selection = stored.selection
            // A caller without a ttl of its own takes nothing from another's. And what was for some only is not for all
            // because a 304 does not say so again: a directive may have stood in a field that is not stored.
            let wasOnlyReason = grant?.isOnlyReason == true
            if request.callerTTL != nil { grant = stored.grant }
            if wasOnlyReason { grant?.isOnlyReason = true }
            dropGrantedCookies()
            return nil
        }
    }

    /// Compares with the answer to a HEAD request that selects this response (RFC 9111 §4.3.5), and takes its fields
    /// when the validators and the length that it states are the same.
    ///
    /// Only a 200 says something, and only one that could be kept itself.
    public mutating func update(fromHEAD answer: OriginAnswer, for request: CacheRequest) -> HeadOutcome {
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

    /// This response and another answer for the same representation as one (RFC 9111 §3.4): the newer one's fields, as
    /// far as they do not describe its body, and whatever bytes are held of both. `nil` when nothing strong says that
    /// the two belong together, or their lengths differ.
    ///
    /// - Parameters:
    ///   - newer: what came later, a 206.
    ///   - held: what the caller now has in one piece, at least one byte. The whole length makes it a complete response
    ///     of status 200.
    public func combined(with newer: StoredResponse, holding held: Range<Int64>) -> StoredResponse? {
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
            let length = whole.completeLength.map { String($0) } ?? "*"
            whole.fields[.contentRange] = "bytes \(held.lowerBound)-\(held.upperBound - 1)/\(length)"
            whole.fields[.contentLength] = String(held.count)
        }
        return whole
    }

    /// Whether another stored part has bytes of the same representation: strong validators say so, and the lengths
    /// agree (RFC 9111 §3.4).
    public func isSameRepresentation(as other: StoredResponse) -> Bool {
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
        // An Age is about the answer that it came with.
        if !newer.contains(.age) { fields[.age] = nil }
        self.requestedAt = requestedAt
        self.receivedAt = receivedAt
        isInvalid = false
        isExpirySet = false
    }

    /// §4.3.5: any validator and any length that the answer to HEAD states.
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
