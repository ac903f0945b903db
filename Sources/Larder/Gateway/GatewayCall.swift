import Crypto
import DiskCache
import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// The request of a client in the ``Gateway``. Decides which answers it may use, and gets its answer exactly once.
///
/// Invariant: one lock guards `state`. The thread that sets `isAnswered` calls the completion, without the lock.
package final class GatewayCall: Sendable {
    /// Called once, on a thread that it must not block.
    typealias Completion = @Sendable (Result<GatewayAnswer, GatewayError>) -> Void
    typealias Interim = @Sendable (Int, HTTPFields) -> Void

    private struct State {
        var isAnswered = false
        var isAlone = false
        var isFollower = false
        var timesSentBack = 0
        var reason = ForwardReason.uriMiss
        /// The fetch that the call waits for, and the call's number among the fetch's waiters.
        var fetch: (GatewayFetch, number: UInt64)?
        var hasLeft = false
        /// The closures are dropped once the call has ended, because they keep much memory alive.
        var onInterim: Interim?
        var completion: Completion?
    }

    let request: GatewayRequest
    let url: ResponseURL
    let cacheRequest: CacheRequest
    private let state: Locked<State>

    init(_ request: GatewayRequest, interim: @escaping Interim, completion: @escaping Completion) {
        self.request = request
        url = ResponseURL(request.url.string)
        let authorization = Self.digest(of: request.fields[fields: .authorization])
        cacheRequest = CacheRequest(
            method: request.method, url: request.url.string, fields: request.fields, callerTTL: request.ttl,
            authorization: authorization)
        state = Locked(State(onInterim: interim, completion: completion))
    }

    /// Hashes bytes, because the fields need not be UTF-8, and two different values could look the same as text.
    private static func digest(of fields: [HTTPField]) -> String? {
        guard !fields.isEmpty else { return nil }
        var hash = SHA256()
        for field in fields {
            field.withUnsafeBytesOfValue { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
            hash.update(data: [UInt8(ascii: "\n")])
        }
        return hash.finalize().hex
    }

    /// Whether the call may use an answer that another call asked for. It may not after it waited in vain, and not if
    /// its request changes a resource, has preconditions (only the origin judges them), or states e.g. `no-cache`.
    var mayWait: Bool {
        !state.withLock(\.isAlone) && request.isCacheable
            && !hasPreconditions && ReusePolicy.acceptsSharing(cacheRequest)
    }

    /// Whether the request has conditions that only the origin judges (RFC 9110 §13.1.1, §13.1.4).
    var hasPreconditions: Bool { request.fields.contains(.ifMatch) || request.fields.contains(.ifUnmodifiedSince) }

    /// Whether the answer to the other request most likely also answers this one. `known`, an earlier response to the
    /// URL, tells by which fields the answers vary.
    func isLike(_ other: GatewayCall, knowing known: StoredResponse?) -> Bool {
        cacheRequest.authorization == other.cacheRequest.authorization
            && (request.ttl == nil) == (other.request.ttl == nil)
            && wantsSamePart(as: other)
            && (known.map { known in
                SelectingFields(vary: known.fields, request: other.request.fields)?.matches(request.fields) ?? false
            } ?? true)
    }

    /// Whether the answer may be kept, judging by the request. The head of the answer makes the final decision.
    var isKeepable: Bool {
        (request.method == .get && request.isCacheable) || request.method == .post
    }

    /// A hash that is the same for requests that can most likely share one answer, unless the answer says otherwise.
    /// It depends on `isValidating`, because a 304 can be shared in cases where the whole answer cannot.
    func sharingHash(isValidating: Bool) -> Int {
        var hasher = Hasher()
        hasher.combine(isValidating)
        hasher.combine(request.url.string)
        hasher.combine(cacheRequest.authorization)
        hasher.combine(request.ttl == nil)
        let fields = request.fields
        hasher.combine(fields[values: .range])
        // In a shared fetch, the origin gets the conditions only with a range. Then the answer depends on them.
        hasher.combine(
            fields.contains(.range) && (fields.contains(.ifNoneMatch) || fields.contains(.ifModifiedSince)))
        hasher.combine(fields.contains(.cookie))
        return hasher.finalize()
    }

    /// A hash of the URL for the hint that the origin ignores ranges.
    var rangeHash: Int {
        var hasher = Hasher()
        hasher.combine("range")
        hasher.combine(request.url.string)
        return hasher.finalize()
    }

    /// Whether both calls ask for no part, or for the same part under the same conditions. Larder cannot change a part
    /// that it sends on as it arrives.
    func wantsSamePart(as other: GatewayCall) -> Bool {
        let fields = request.fields
        guard fields[values: .range] == other.request.fields[values: .range] else { return false }
        return !fields.contains(.range)
            || [HTTPField.Name.ifRange, .ifNoneMatch, .ifModifiedSince].allSatisfy {
                fields[values: $0] == other.request.fields[values: $0]
            }
    }

    /// Whether an answer that has just arrived, or is arriving, may answer this call (RFC 9111 §4). `neutral`: the
    /// request to judge in place of the call's own.
    func mayHave(_ head: StoredResponse, as neutral: CacheRequest? = nil, now: Timestamp) -> Bool {
        let expiry = head.expiryDate(callerTTL: request.ttl)
        if case .serve = ReusePolicy.decide(neutral ?? cacheRequest, head, expiry: expiry, now: now) { return true }
        return false
    }

    /// As ``mayHave(_:as:now:)``, for an answer that the call has waited for. Such an answer may have become stale on
    /// its way from the origin, because otherwise each waiter would ask the same slow origin.
    func mayHaveAsWaiter(_ head: StoredResponse, as neutral: CacheRequest? = nil, now: Timestamp) -> Bool {
        if mayHave(head, as: neutral, now: now) { return true }
        guard let prompt = head.asIfPrompt, ReusePolicy.accepts(neutral ?? cacheRequest, head, now: now) else {
            return false
        }
        return mayHave(prompt, as: neutral, now: prompt.receivedAt)
    }

    /// Whether the call may have a response that the origin has just confirmed, while the call waited.
    func mayHaveConfirmed(_ held: HeldResponse, now: Timestamp) -> Bool {
        ReusePolicy.mayUseConfirmed(cacheRequest, held.head, coverage: held.coverage, now: now)
    }

    /// Whether an answer fits requests like this one, ignoring the request's `Cache-Control` (RFC 9111 §5.2.1).
    func isFit(_ head: StoredResponse, now: Timestamp) -> Bool {
        var neutral = cacheRequest
        neutral.fields[fields: .cacheControl] = []
        return mayHaveAsWaiter(head, as: neutral, now: now)
    }

    /// Whether the call may get a stale response because the origin failed (RFC 9111 §4.2.4, RFC 5861 §4).
    func mayHaveStale(_ held: HeldResponse, onError failure: OriginFailure, now: Timestamp) -> Bool {
        ReusePolicy.mayServeStale(
            cacheRequest, held.head, onError: failure, expiry: held.entry.expiryDate, coverage: held.coverage, now: now)
    }

    /// Makes the call wait for no other call from now on.
    func goAlone() {
        state.withLock { $0.isAlone = true }
    }

    /// Counts that the call was sent back. Returns whether that happened too often to wait again: more than twice.
    func wasSentBack() -> Bool {
        state.withLock { state in
            state.timesSentBack += 1
            return state.timesSentBack > 2
        }
    }

    /// The reason for not answering from the cache, for Cache-Status.
    var reason: ForwardReason {
        get { state.withLock(\.reason) }
        set { state.withLock { $0.reason = newValue } }
    }

    /// Notes the fetch that the call waits for. If the client has left by now, the call leaves the fetch at once.
    /// Otherwise no later step would remove the call from the fetch, and both would keep each other alive.
    func wait(for fetch: GatewayFetch, number: UInt64) {
        let hasLeft = state.withLock { state in
            guard !state.isAnswered else { return true }
            state.fetch = (fetch, number)
            state.isFollower = number > 0
            return false
        }
        if hasLeft { fetch.handle(.left(number, givesUp: true)) }
    }

    /// Notes that the client has left. The fetch continues for other clients, and for an answer that can be kept.
    package func leave() {
        let fetch = state.withLock { state in
            state.hasLeft = true
            state.isAnswered = true
            (state.onInterim, state.completion) = (nil, nil)
            return state.fetch.take()
        }
        if let (fetch, number) = fetch { fetch.handle(.left(number, givesUp: true)) }
    }

    /// Ends the wait for a fetch of another call. Returns `false`, without effect, if the call waits for no such fetch.
    func stopFollowing() -> Bool {
        let fetch = state.withLock { state in state.fetch.map { $0.number > 0 } == true ? state.fetch.take() : nil }
        guard let (fetch, number) = fetch else { return false }
        fetch.handle(.left(number, givesUp: true))
        return true
    }

    /// Whether the call waits, or waited, for a fetch of another call.
    var isFollower: Bool { state.withLock(\.isFollower) }

    func interim(_ status: Int, _ fields: HTTPFields) {
        state.withLock(\.onInterim)?(status, fields)
    }

    func answer(_ answer: GatewayAnswer) { end(.success(answer)) }

    func fail(_ cause: GatewayError.Cause) {
        var status: CacheStatus
        switch cause {
        case .notCached:
            status = CacheStatus(.refused)
            status.detail = "only-if-cached"
        case .origin, .cannotValidate:
            status = CacheStatus(.forwarded(reason))
        }
        end(.failure(GatewayError(cause: cause, status: status)))
    }

    private func end(_ result: Result<GatewayAnswer, GatewayError>) {
        let completion = state.withLock { state in
            state.isAnswered = true
            state.fetch = nil
            state.onInterim = nil
            return state.completion.take()
        }
        // The origin will not take the rest of the upload.
        if case .failure = result { request.upload?.fail() }
        if let completion { return completion(result) }
        if case .success(let answer) = result, case .live(let live) = answer.body { live.dismiss() }
    }
}

/// The body of a client's request on its way to the origin, at the origin's pace.
package typealias GatewayUpload = Origin::OriginUpload

/// A client's request to an origin through `/fetch`.
package struct GatewayRequest: Sendable {
    /// Any method name (RFC 9110 §9.1).
    package var method: HTTPRequest.Method
    package var url: ExactURL
    /// The client's fields, without the fields that end at this hop and without Larder's own fields.
    package var fields: HTTPFields
    /// The time for which the caller declares the answer fresh; `nil`: the origin decides.
    package var ttl: Duration?
    /// Whether a hit renews the expiry date, for a caller that gives a ttl. Default: no.
    package var updatesExpiry = false
    package var tags: Set<String> = []
    /// The HTTP version of the client, for Via: `1.0` or `1.1`.
    package var version = "1.1"
    /// The body, which may still be arriving; `nil` without a body.
    package var upload: GatewayUpload?

    package init(method: HTTPRequest.Method, url: ExactURL, fields: HTTPFields) {
        self.method = method
        self.url = url
        self.fields = fields
    }

    var isCacheable: Bool { (method == .get || method == .head) && upload == nil }
}
