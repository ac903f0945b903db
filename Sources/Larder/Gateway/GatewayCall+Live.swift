import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

extension GatewayCall {
    /// Answers the call that caused the fetch. The call's conditions are judged here, because the origin did not get
    /// them or does not support them. `judgesRange`: whether the range is judged here, too, because the origin was
    /// asked for the whole body. If the origin got the range and ignored it, the client gets the whole body.
    func answer(_ arrived: ArrivedAnswer, flow: BodyFlow, judgesRange: Bool, now: Timestamp) {
        let (answer, length) = (arrived.answer, arrived.head.declaredLength)
        var status = CacheStatus(.forwarded(reason))
        status.detail = arrived.pass?.rawValue
        if let shared = arrived.kept {
            // A response that is kept because of a caller's ttl is stored without cookies. The caller gets the cookies.
            let hasOwnCookies = shared.head.grant != nil && answer.fields.contains(.setCookie)
            return live(
                hasOwnCookies ? shared.with(answer.fields) : shared, status, now: now, isOwn: true)
        }
        if answer.status == 200, request.isCacheable, !hasPreconditions,
            let served = served(
                answer.status, answer.fields, length: length, age: .zero, now: now, isStored: false,
                judgesRange: judgesRange)
        {
            return self.answer(served, of: answer.status, answer.fields, flow, length, status, isOwn: true)
        }
        var fields = answer.fields
        finish(&fields, status)
        // A 304 states the length of the representation, not of its own body (RFC 9110 §8.6).
        let stated = answer.status == 304 ? answer.fields[.contentLength].flatMap { Int64($0) } : length
        self.answer(
            GatewayAnswer(status: answer.status, fields: fields, body: whole(flow, answer.status, stated, isOwn: true)))
    }

    /// All of the body, if the method and the status have a body.
    private func whole(_ flow: BodyFlow, _ status: Int, _ length: Int64?, isOwn: Bool) -> GatewayAnswer.Body {
        guard request.method == .head || [204, 304].contains(status) else {
            return .live(LiveBody(flow: flow, range: nil, length: length))
        }
        if isOwn { flow.dismiss() }
        return .withheld(length: length)
    }

    /// Answers the call with the answer to another client's request, and streams its body as it arrives.
    func join(_ shared: SharedAnswer, now: Timestamp) {
        // After the last byte of the body, the answer is only being stored, so the call counts as a hit.
        var status = CacheStatus(shared.flow.hasAll(of: shared.length) ? .hit : .forwarded(reason))
        status.isCollapsed = true
        live(shared, status, now: now, isOwn: false)
    }

    private func live(_ shared: SharedAnswer, _ status: CacheStatus, now: Timestamp, isOwn: Bool) {
        var status = status
        let head = shared.head
        // Without a length, it is not known yet whether the cache has room for the whole body.
        status.isStored = isOwn && shared.length != nil
        status.ttl = head.remaining(
            for: cacheRequest, expiry: head.expiryDate(callerTTL: request.ttl), now: now)
        status.key = shared.key
        let age = head.freshness.currentAge(at: now)
        guard let served = served(shared, age: age, now: now) else {
            var fields = head.fields
            if !isOwn { fields[.age] = String(age.components.seconds) }
            finish(&fields, status)
            answer(
                GatewayAnswer(
                    status: head.status, fields: fields,
                    body: whole(shared.flow, head.status, shared.length, isOwn: isOwn)))
            return
        }
        self.answer(served, of: head.status, head.fields, shared.flow, shared.length, status, isOwn: isOwn)
    }

    /// `original` and `originals` are the status and the fields of the origin's answer.
    private func answer(
        _ served: ServedResponse, of original: Int, _ originals: HTTPFields, _ flow: BodyFlow, _ length: Int64?,
        _ status: CacheStatus, isOwn: Bool
    ) {
        var status = status
        if served.status != original { status.forwardStatus = original }
        var fields = served.fields
        // The client that caused the fetch gets the Age and the cookies of the origin's answer.
        if isOwn {
            for name in [HTTPField.Name.age, .setCookie] { fields[fields: name] = originals[fields: name] }
        }
        finish(&fields, status)
        let body: GatewayAnswer.Body =
            switch served.body {
            case .none: .withheld(length: length.map { served.withheldLength(of: $0) })
            case .range(let range): .live(LiveBody(flow: flow, range: range, length: Int64(range.count)))
            case .whole, .multipart: .live(LiveBody(flow: flow, range: nil, length: length))
            }
        if isOwn, case .withheld = body { flow.dismiss() }
        answer(GatewayAnswer(status: served.status, fields: fields, body: body))
    }

    /// Whether the range is so far ahead of the received bytes that the origin is asked, as for a seek in a video.
    func isFarAhead(of shared: SharedAnswer, now: Timestamp) -> Bool {
        guard request.fields.contains(.range), shared.head.fields[.acceptRanges] != "none",
            case .range(let range)? = served(shared, age: .zero, now: now)?.body
        else { return false }
        return range.lowerBound > shared.flow.receivedCount + Self.nearDistance
    }

    /// A range waits for the bytes before it to arrive, if it begins at most this many bytes after the received bytes.
    private static let nearDistance: Int64 = 1 << 20

    /// Evaluates the request's conditions and range; `nil` when the client gets the answer as it arrives.
    private func served(_ shared: SharedAnswer, age: Duration, now: Timestamp) -> ServedResponse? {
        // The origin has already checked the conditions of a request that makes a change.
        guard shared.head.part == nil, request.isCacheable else { return nil }
        return served(shared.head.status, shared.head.fields, length: shared.length, age: age, now: now)
    }

    private func served(
        _ status: Int, _ fields: HTTPFields, length: Int64?, age: Duration, now: Timestamp, isStored: Bool = true,
        judgesRange: Bool = true
    ) -> ServedResponse? {
        func served(_ request: HTTPFields, length: Int64) -> ServedResponse? {
            ServedResponse(
                to: self.request.method, request, from: .init(status: status, fields: fields, length: length), age: age,
                now: now, boundary: "")
        }
        var request = singleRange
        if !judgesRange { request[fields: .range] = [] }
        // Only a stored response has a date that takes the place of Last-Modified (RFC 9110 §13.1.3).
        if !isStored, !fields.contains(.lastModified) { request[fields: .ifModifiedSince] = [] }
        if let length { return served(request, length: length) }
        // A range needs a known length, but a condition does not.
        var unranged = request
        unranged[fields: .range] = []
        return served(unranged, length: 0).flatMap { [304, 412].contains($0.status) ? $0 : nil }
    }

    /// The request's fields without a Range of several parts, because such parts cannot be sent while the body arrives.
    /// RFC 9110 §14.2 lets a server ignore the field.
    private var singleRange: HTTPFields {
        guard let ranges = cacheRequest.ranges, ranges.specifications.count > 1 else { return request.fields }
        var fields = request.fields
        fields[fields: .range] = []
        return fields
    }

    private func finish(_ fields: inout HTTPFields, _ status: CacheStatus) {
        status.append(to: &fields)
        Via.append(to: &fields)
    }
}

/// The request to the origin, and the metadata of the stored answer.
extension GatewayCall {
    /// The fields of the request to the origin.
    ///
    /// Usually, Larder asks for the whole body, with own validators. It removes the client's `Range`, `If-Range`,
    /// `If-None-Match` and `If-Modified-Since`, and evaluates them itself. These fields go to the origin in three
    /// cases:
    /// - The method is neither GET nor HEAD, or the request has a body.
    /// - Larder validates no held response, and no other call may wait for the answer.
    /// - Larder validates no held response, and the client asks for a range other than `bytes=0-`. A client that wants
    ///   the end of a long body should not wait for all of it. The conditions go along with this range, because Larder
    ///   sends a part on as it arrives and cannot turn it into a 304.
    ///
    /// `If-Match` and `If-Unmodified-Since` always go to the origin, because Larder may send the body on before it can
    /// evaluate them (RFC 9110 §13.1.1).
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

    /// Whether the origin gets a single range, and no `If-Range`, which would permit the whole body as the answer.
    func sendsRange(isValidating: Bool, isShared: Bool) -> Bool {
        !asksForWhole(isValidating: isValidating, isShared: isShared) && !request.fields.contains(.ifRange)
            && cacheRequest.ranges?.specifications.count == 1
    }

    /// Whether the request has no range, or `bytes=0-`. The whole body then takes no longer than the requested bytes.
    var asksForBeginning: Bool {
        guard let ranges = cacheRequest.ranges else { return true }
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

    /// Returns the cache groups of a replaced entry (RFC 9875). The new entry drops these tags, and gets its own.
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
