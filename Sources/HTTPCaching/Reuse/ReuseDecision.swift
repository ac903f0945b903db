package enum ReuseDecision: Hashable, Sendable {
    /// The response is fresh, or the request accepts a stale response (`max-stale`).
    case serve(age: Duration, isStale: Bool)
    /// At once, with a revalidation in the background (RFC 5861 §3).
    case serveStaleAndRevalidate(age: Duration)
    /// With the conditional fields of ``Validators``. `mayServeStaleOnError` holds for an unreachable origin; for a 5xx
    /// answer call ``ReusePolicy/mayServeStale(_:_:onError:expiry:coverage:now:)``.
    case revalidate(reason: ForwardReason, mayServeStaleOnError: Bool)
    case fetch(ForwardReason)
    /// With 504: the request has `only-if-cached` and no stored response can be used (RFC 9111 §5.2.1.7).
    case refuse
}

package enum OriginFailure: Hashable, Sendable {
    /// The origin did not answer, or its answer was not valid.
    case unreachable
    case status(Int)
}
