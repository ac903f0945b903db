import HTTPTypes
import Primitives

/// Decides whether a stored response answers a request (RFC 9111 §4).
package enum ReusePolicy {
    /// Returns the index of the variant that a request selects (RFC 9111 §4.1): of all matching responses that the
    /// request may use, the newest by Date, and at the same Date the response received last. `nil` when no response
    /// matches: pass any variant to ``decide(_:_:expiry:coverage:now:)`` to get the reason.
    package static func select(_ request: CacheRequest, from variants: [StoredResponse]) -> Int? {
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

    /// `stored` is `nil` when no response is stored for the URL. `expiry` is the expiry date of the entry, by
    /// ``StoredResponse/expiryDate(callerTTL:)`` or as a caller has set it later. With ``StoredResponse/isExpirySet``
    /// this date replaces the origin's lifetime for every request. Otherwise it does so only for a request with a ttl
    /// and, if the response has a ``StoredResponse/grant``, the grant's Authorization. `coverage` has the available
    /// bytes; `nil` means ``StoredResponse/part``.
    package static func decide(
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
        // The answer to a request with no-store must not change a stored response (RFC 9111 §5.2.1.5).
        guard !directives.onlyIfCached, !directives.noStore, !Validators(stored.fields).isEmpty else {
            return miss(reason)
        }
        return .revalidate(
            reason: reason, mayServeStaleOnError: candidate.mayServeStale(by: directives, onError: .unreachable))
    }

    /// Whether a stored response may be served stale because the origin failed (RFC 9111 §4.2.4, §4.3.3). For `expiry`
    /// and `coverage` see ``decide(_:_:expiry:coverage:now:)``. `stale-if-error` of the request overrules the origin's.
    /// - If the origin is unreachable: any response but a stored 5xx, unless the time of `stale-if-error` is over.
    /// - If the origin answers 500, 502, 503 or 504: any response but a stored error, only within `stale-if-error` (RFC
    ///   5861 §4). After any other status: none.
    /// - Never, if the origin forbids it, or if the request demands validation or a younger response.
    package static func mayServeStale(
        _ request: CacheRequest, _ stored: StoredResponse, onError failure: OriginFailure, expiry: Timestamp? = nil,
        coverage: ByteCoverage? = nil, now: Timestamp
    ) -> Bool {
        guard request.method == .get || request.method == .head, stored.isOpen(to: request),
            stored.selection.matches(request.fields), stored.covers(request, held: coverage, now: now)
        else { return false }
        return Candidate(stored, for: request, expiry: expiry, now: now)
            .mayServeStale(by: RequestDirectives(request.fields), onError: failure)
    }

    /// Whether a request may use the answer to another request in flight (RFC 9111 §4: "collapse requests"): not with
    /// `max-age=0`, `no-cache` or `no-store` (§5.2.1.1, §5.2.1.4, §5.2.1.5).
    package static func acceptsSharing(_ request: CacheRequest) -> Bool {
        let directives = RequestDirectives(request.fields)
        return !directives.noCache && !directives.noStore && directives.accepts(age: .zero)
    }

    /// Whether the request forbids to store its answer (RFC 9111 §5.2.1.5).
    package static func forbidsStoring(_ request: CacheRequest) -> Bool {
        RequestDirectives(request.fields).noStore
    }

    /// Whether a request may get a response that the origin has confirmed after the request arrived. The request then
    /// needs no further validation, even if `no-cache` or the expiry date demands a validation for later requests.
    ///
    /// - Parameter coverage: the available bytes; `nil` means ``StoredResponse/part``.
    package static func mayUseConfirmed(
        _ request: CacheRequest, _ stored: StoredResponse, coverage: ByteCoverage? = nil, now: Timestamp
    ) -> Bool {
        guard request.method == .get || request.method == .head, stored.isOpen(to: request),
            stored.selection.matches(request.fields), stored.covers(request, held: coverage, now: now),
            !stored.isInvalid
        else { return false }
        return !forbidsStoring(request) && accepts(request, stored, now: now)
    }

    /// Whether the age and the remaining freshness of a response are within the request's `max-age` and `min-fresh`
    /// (RFC 9111 §5.2.1.1, §5.2.1.3).
    package static func accepts(_ request: CacheRequest, _ stored: StoredResponse, now: Timestamp) -> Bool {
        let directives = RequestDirectives(request.fields)
        return directives.accepts(age: stored.freshness.currentAge(at: now))
            && (directives.minFresh.map { stored.freshness.remaining(at: now) >= $0 } ?? true)
    }
}

/// A stored response that a request selects, at a given instant.
private struct Candidate {
    let freshness: Freshness
    let age: Duration
    /// The time until the response becomes stale; negative when it is stale.
    let remaining: Duration
    /// Whether the response must be validated before each use, even while it is fresh.
    let mustBeValidated: Bool

    init(_ stored: StoredResponse, for request: CacheRequest, expiry: Timestamp?, now: Timestamp) {
        freshness = stored.freshness
        age = freshness.currentAge(at: now)
        let grant = stored.grant
        // The ttl of a caller must not hide from other callers that the origin requires validation for each request.
        let isGranted = request.callerTTL != nil && (grant == nil || grant?.authorization == request.authorization)
        let bookRemaining = freshness.remaining(at: now)
        remaining = isGranted || stored.isExpirySet ? expiry.map { $0 - now } ?? bookRemaining : bookRemaining
        let isOverruled = stored.isExpirySet || (isGranted && grant != nil)
        mustBeValidated = stored.isInvalid || (freshness.control.noCache && !isOverruled)
    }

    var staleness: Duration { .zero - remaining }
    var isUsableUnasked: Bool { remaining > .zero && !mustBeValidated }

    /// The decision to serve without waiting for the origin; `nil` when the request must wait.
    func use(by directives: RequestDirectives) -> ReuseDecision? {
        guard !mustBeValidated, !directives.noCache else { return nil }
        if remaining > .zero {
            // RFC 8246 §2: an immutable response needs no validation when a user reloads.
            guard freshness.control.contains("immutable") || directives.accepts(age: age) else { return nil }
            guard remaining >= directives.minFresh ?? .zero else { return nil }
            return .serve(age: age, isStale: false)
        }
        guard !freshness.forbidsStale, directives.minFresh == nil else { return nil }
        // RFC 9111 §5.2.1.1: a request with max-age but without max-stale does not accept a stale response.
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

package enum ReuseDecision: Hashable, Sendable {
    /// The response is fresh, or the request accepts a stale response (`max-stale`).
    case serve(age: Duration, isStale: Bool)
    /// The stale response is served at once, with a revalidation in the background (RFC 5861 §3).
    case serveStaleAndRevalidate(age: Duration)
    /// The origin is asked with the conditional fields of ``Validators``. `mayServeStaleOnError` holds for an
    /// unreachable origin; for a 5xx answer call ``ReusePolicy/mayServeStale(_:_:onError:expiry:coverage:now:)``.
    case revalidate(reason: ForwardReason, mayServeStaleOnError: Bool)
    case fetch(ForwardReason)
    /// The answer is 504: the request has `only-if-cached` and no stored response can be used (RFC 9111 §5.2.1.7).
    case refuse
}

package enum OriginFailure: Hashable, Sendable {
    /// The origin did not answer, or its answer was not valid.
    case unreachable
    case status(Int)
}

/// The raw value is the parameter `fwd` of Cache-Status (RFC 9211 §2.2).
package enum ForwardReason: String, Hashable, Sendable {
    case method
    case uriMiss = "uri-miss"
    /// Responses are stored for the URL, but the request does not select any of them (Vary).
    case varyMiss = "vary-miss"
    /// A response is stored, but this caller may not use it.
    case miss
    /// A fresh response is stored, but the request does not accept it.
    case request
    /// A response is stored, but it is stale or must be validated.
    case stale
    /// A part is stored, but the request needs more bytes.
    case partial
}

extension StoredResponse {
    /// A response stored only because of a caller's ttl is limited to requests with a ttl and the same Authorization.
    package func isOpen(to request: CacheRequest) -> Bool {
        guard let grant, grant.isOnlyReason else { return true }
        return request.callerTTL != nil && grant.authorization == request.authorization
    }

    /// Whether every byte that a request needs is available (RFC 9111 §3.3, §4). An unsatisfiable range needs no bytes,
    /// if the complete length is known. `held` has the available bytes; `nil` means ``part``.
    func covers(_ request: CacheRequest, held: ByteCoverage?, now: Timestamp) -> Bool {
        guard let part else { return true }
        guard let completeLength, let ranges = request.ranges else { return false }
        // RFC 9110 §13.1.5: when the condition does not hold, the request asks for the whole representation.
        let conditions = ConditionalRequest(request.fields, method: request.method, now: now)
        guard conditions.allowsRange(of: SelectedRepresentation(of: fields, now: receivedAt), now: now) else {
            return false
        }
        switch ranges.resolve(length: completeLength) {
        case .whole: return false
        case .unsatisfiable: return true
        case .parts(let wanted):
            let held = held ?? ByteCoverage([part])
            return wanted.allSatisfy(held.contains)
        }
    }

    /// The response as if received at the time of the request, without delay. `nil` for a response that must not be
    /// used stale (RFC 9111 §5.2.2.2), because the age of that response must include the delay.
    package var asIfPrompt: StoredResponse? {
        guard !freshness.forbidsStale else { return nil }
        var prompt = self
        prompt.receivedAt = requestedAt
        return prompt
    }
}
