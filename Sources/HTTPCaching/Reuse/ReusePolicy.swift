import HTTPTypes
import Primitives

/// Whether a stored response answers a request (RFC 9111 §4).
public enum ReusePolicy {
    /// Which of several stored responses for a URL a request selects (§4.1); of those that match the one with the
    /// latest Date, then the one that came last. `nil` when none matches: hand any of them to
    /// ``decide(_:_:expiry:coverage:now:)`` for the reason.
    public static func select(_ request: CacheRequest, from variants: [StoredResponse]) -> Int? {
        func made(_ response: StoredResponse) -> Timestamp {
            FreshnessLifetime.date(of: response.fields, receivedAt: response.receivedAt) ?? response.receivedAt
        }
        var candidate = SelectingFields.Candidate(request.fields)
        return variants.indices.filter {
            variants[$0].isOpen(to: request) && variants[$0].selection.matches(&candidate)
        }.max {
            (made(variants[$0]), variants[$0].receivedAt) < (made(variants[$1]), variants[$1].receivedAt)
        }
    }

    /// What is done about a request.
    ///
    /// - Parameters:
    ///   - stored: what there is for its URL; `nil` when there is nothing.
    ///   - expiry: when the entry ends by the caller's clock (``StoredResponse/expiryDate(callerTTL:)``, moved since
    ///     then or not). For a request with a ttl it counts in place of the freshness that the origin stated; for
    ///     others, and when it is `nil`, it does not.
    ///   - coverage: which bytes are held; `nil`: exactly those of ``StoredResponse/part``.
    ///   - now: the time.
    public static func decide(
        _ request: CacheRequest, _ stored: StoredResponse?, expiry: Timestamp? = nil, coverage: ByteCoverage? = nil,
        now: Timestamp
    ) -> ReuseDecision {
        guard request.method == .get || request.method == .head else { return .fetch(.method) }
        let directives = RequestDirectives(request.fields)
        func miss(_ reason: ForwardReason) -> ReuseDecision { directives.onlyIfCached ? .refuse : .fetch(reason) }

        guard let stored else { return miss(.uriMiss) }
        guard stored.isOpen(to: request) else { return miss(.miss) }
        guard stored.selection.matches(request.fields) else { return miss(.varyMiss) }
        guard stored.covers(request, held: coverage, now: now) else { return miss(.partial) }

        let candidate = Candidate(stored, for: request, expiry: expiry, now: now)
        if let answer = candidate.use(by: directives) { return answer }
        let reason: ForwardReason = candidate.isUsableUnasked ? .request : .stale
        // The answer to a request with no-store may change nothing that is stored (§5.2.1.5).
        guard !directives.onlyIfCached, !directives.noStore, !Validators(stored.fields).isEmpty else {
            return miss(reason)
        }
        return .revalidate(
            reason: reason, mayServeStaleOnError: candidate.mayServeStale(by: directives, onError: .unreachable))
    }

    /// Whether a stored response may be served although it is stale, because the origin failed (§4.2.4, §4.3.3).
    ///
    /// When it cannot be reached: unless the origin forbids stale responses or limits them by `stale-if-error`. On 500,
    /// 502, 503 and 504: within `stale-if-error` (RFC 5861 §4). The request's `stale-if-error` goes before the
    /// origin's, and a request that wants validation, or nothing so old, gets nothing stale.
    ///
    /// A stored error never stands in for a newer error response, because it is no better than that. For an origin that
    /// cannot be reached a stored 4xx does, because it was an answer, and a stored 5xx does not.
    ///
    /// - Parameters:
    ///   - expiry: see ``decide(_:_:expiry:coverage:now:)``.
    ///   - coverage: see there.
    ///   - now: the time.
    public static func mayServeStale(
        _ request: CacheRequest, _ stored: StoredResponse, onError failure: OriginFailure, expiry: Timestamp? = nil,
        coverage: ByteCoverage? = nil, now: Timestamp
    ) -> Bool {
        guard request.method == .get || request.method == .head, stored.isOpen(to: request),
            stored.selection.matches(request.fields), stored.covers(request, held: coverage, now: now)
        else { return false }
        return Candidate(stored, for: request, expiry: expiry, now: now)
            .mayServeStale(by: RequestDirectives(request.fields), onError: failure)
    }
}

/// A stored response that a request selects, at one instant.
private struct Candidate {
    let freshness: Freshness
    let age: Duration
    /// For how long it stays fresh; negative when it is stale.
    let remaining: Duration
    /// Whether nothing may be done without asking the origin, fresh or not.
    let mustBeValidated: Bool

    init(_ stored: StoredResponse, for request: CacheRequest, expiry: Timestamp?, now: Timestamp) {
        freshness = Freshness(of: stored)
        age = freshness.currentAge(at: now)
        let grant = stored.grant
        // What one caller decided must not give another what the origin wants to be asked about each time.
        let isGranted = request.callerTTL != nil && (grant == nil || grant?.authorization == request.authorization)
        let bookRemaining = freshness.remaining(at: now)
        remaining = isGranted || stored.isExpirySet ? expiry.map { $0 - now } ?? bookRemaining : bookRemaining
        let isOverruled = stored.isExpirySet || (isGranted && grant != nil)
        mustBeValidated = stored.isInvalid || (freshness.control.noCache && !isOverruled)
    }

    /// For how long it has been stale; negative when it is fresh.
    var staleness: Duration { .zero - remaining }

    /// Fresh, and neither the origin nor what happened since wants it to be validated.
    var isUsableUnasked: Bool { remaining > .zero && !mustBeValidated }

    /// How to answer with it without waiting for the origin; `nil` when that is not possible.
    func use(by directives: RequestDirectives) -> ReuseDecision? {
        guard !mustBeValidated, !directives.noCache else { return nil }
        if remaining > .zero {
            // RFC 8246 §2: what never changes needs no validation because a user pressed reload.
            guard freshness.control.contains("immutable") || directives.accepts(age: age) else { return nil }
            guard remaining >= directives.minFresh ?? .zero else { return nil }
            return .serve(age: age, isStale: false)
        }
        guard !freshness.forbidsStale, directives.minFresh == nil else { return nil }
        // §5.2.1.1: who states a max-age without a max-stale wants nothing stale.
        if directives.maxAge == nil, staleness < freshness.staleWhileRevalidate {
            return .serveStaleAndRevalidate(age: age)
        }
        guard let maxStale = directives.maxStale, staleness <= maxStale, directives.accepts(age: age) else {
            return nil
        }
        return .serve(age: age, isStale: true)
    }

    func mayServeStale(by directives: RequestDirectives, onError failure: OriginFailure) -> Bool {
        guard !mustBeValidated, !freshness.forbidsStale, !freshness.isServerError, !directives.noCache,
            directives.minFresh == nil
        else { return false }
        if let maxStale = directives.maxStale {
            guard staleness <= maxStale, directives.accepts(age: age) else { return false }
        } else if directives.maxAge != nil {
            return false
        }
        let limit = directives.staleIfError ?? freshness.staleIfError
        switch failure {
        case .unreachable: return limit.map { staleness <= $0 } ?? true
        case .status(500), .status(502), .status(503), .status(504):
            return !freshness.isError && limit.map { staleness <= $0 } ?? false
        case .status: return false
        }
    }
}
