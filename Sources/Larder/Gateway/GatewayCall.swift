import Crypto
import DiskCache
import HTTPCaching
import HTTPTypes
import Primitives

/// One client's request on its way through the ``Gateway``: what it may have, and its answer, which it gets once.
///
/// Invariant: `state` is under one lock; the completion is called after it was released, by whoever set `isAnswered`.
final class GatewayCall: Sendable {
    /// Called once, on a thread that must not be kept waiting.
    typealias Completion = @Sendable (Result<GatewayAnswer, GatewayError>) -> Void
    typealias Interim = @Sendable (Int, HTTPFields) -> Void

    private struct State {
        var isAnswered = false
        var isAlone = false
        var isFollower = false
        var timesSentBack = 0
        var reason = ForwardReason.uriMiss
        /// Where it waits.
        var flight: (FetchFlight, number: UInt64)?
        var hasLeft = false
        /// Gone once the call was answered or its client has left: they keep much alive.
        var onInterim: Interim?
        var completion: Completion?
    }

    let request: GatewayRequest
    /// What it asks for, as the cache knows it.
    let url: ResponseURL
    /// The request, as far as caching goes.
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

    /// By the bytes: they need not be UTF-8, and as text two that differ could look the same.
    private static func digest(of fields: [HTTPField]) -> String? {
        guard !fields.isEmpty else { return nil }
        var hash = SHA256()
        for field in fields {
            field.withUnsafeBytesOfValue { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
            hash.update(data: [UInt8(ascii: "\n")])
        }
        return hash.finalize().hex
    }

    // MARK: - What it may have

    /// Whether it may have an answer that somebody else asked for: it has not waited in vain before, and nothing in it
    /// wants an answer of its own. Preconditions do: where nothing is held, only the origin can say whether they hold.
    var mayWait: Bool {
        !state.withLock(\.isAlone) && request.isCacheable
            && !request.fields.contains(.ifMatch) && !request.fields.contains(.ifUnmodifiedSince)
            && ReusePolicy.acceptsSharing(cacheRequest)
    }

    /// Whether what the other request will bring is most likely right for this one too.
    ///
    /// - Parameter known: an earlier response to the URL, which tells by what fields they vary.
    func isLike(_ other: GatewayCall, knowing known: StoredResponse?) -> Bool {
        cacheRequest.authorization == other.cacheRequest.authorization
            && (request.ttl == nil) == (other.request.ttl == nil)
            && wantsSamePart(as: other)
            && (known.map { known in
                SelectingFields(vary: known.fields, request: other.request.fields)?.matches(request.fields) ?? false
            } ?? true)
    }

    /// The same for requests of which one answer may most likely serve all, unless it says otherwise.
    var sharingHash: Int {
        var hasher = Hasher()
        hasher.combine(request.url.string)
        hasher.combine(cacheRequest.authorization)
        hasher.combine(request.ttl == nil)
        hasher.combine(request.fields[values: .range])
        hasher.combine(request.fields.contains(.cookie))
        return hasher.finalize()
    }

    /// Whether a part that is sent for the other request, as it comes, is what this one asks for.
    func wantsSamePart(as other: GatewayCall) -> Bool {
        let fields = request.fields
        guard fields[values: .range] == other.request.fields[values: .range] else { return false }
        return !fields.contains(.range)
            || [HTTPField.Name.ifRange, .ifNoneMatch, .ifModifiedSince].allSatisfy {
                fields[values: $0] == other.request.fields[values: $0]
            }
    }

    /// Whether an answer that has just come, or is coming, may be its own (RFC 9111 §4).
    func mayHave(_ head: StoredResponse, now: Timestamp) -> Bool {
        let decision = ReusePolicy.decide(
            cacheRequest, head, expiry: head.expiryDate(callerTTL: request.ttl), now: now)
        if case .serve = decision { return true }
        return false
    }

    /// Whether an answer is right for requests like this one, whatever directives this one has (RFC 9111 §5.2.1).
    func isFit(_ head: StoredResponse, now: Timestamp) -> Bool {
        var neutral = cacheRequest
        neutral.fields[fields: .cacheControl] = []
        let decision = ReusePolicy.decide(neutral, head, expiry: head.expiryDate(callerTTL: request.ttl), now: now)
        if case .serve = decision { return true }
        return false
    }

    /// Whether it may have a stored response that is stale, because the origin failed (RFC 9111 §4.2.4, RFC 5861 §4).
    func mayHaveStale(_ held: HeldResponse, onError failure: OriginFailure, now: Timestamp) -> Bool {
        ReusePolicy.mayServeStale(
            cacheRequest, held.head, onError: failure, expiry: held.entry.expiryDate, coverage: held.coverage, now: now)
    }

    /// From now on it waits for nobody.
    func goAlone() {
        state.withLock { $0.isAlone = true }
    }

    /// Whether it was so too often to wait once more; counts.
    func wasSentBack() -> Bool {
        state.withLock { state in
            state.timesSentBack += 1
            return state.timesSentBack > 2
        }
    }

    // MARK: - Where it is

    /// Why it could not be answered from the cache, for Cache-Status.
    var reason: ForwardReason {
        get { state.withLock(\.reason) }
        set { state.withLock { $0.reason = newValue } }
    }

    /// It waits for a flight, unless its client is gone by now: then nothing would ever take it from there, and the two
    /// would hold each other.
    func wait(for flight: FetchFlight, number: UInt64) {
        let hasLeft = state.withLock { state in
            guard !state.isAnswered else { return state.hasLeft }
            state.flight = (flight, number)
            state.isFollower = number > 0
            return false
        }
        if hasLeft { flight.leave(number) }
    }

    /// Its client is gone.
    func leave() {
        let flight = state.withLock { state in
            state.hasLeft = true
            state.isAnswered = true
            (state.onInterim, state.completion) = (nil, nil)
            return state.flight.take()
        }
        flight?.0.leave(flight?.number ?? 0)
    }

    /// Whether it waits, or waited, for somebody else's request.
    var isFollower: Bool { state.withLock(\.isFollower) }

    // MARK: - Its answer

    func interim(_ status: Int, _ fields: HTTPFields) {
        state.withLock(\.onInterim)?(status, fields)
    }

    func answer(_ answer: GatewayAnswer) {
        end(.success(answer))
    }

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
            state.flight = nil
            state.onInterim = nil
            return state.completion.take()
        }
        // Whatever the origin has not taken of its body, nobody wants any more.
        if case .failure = result { request.upload?.fail() }
        if let completion { return completion(result) }
        if case .success(let answer) = result, case .live(let live) = answer.body { live.dismiss() }
    }
}
