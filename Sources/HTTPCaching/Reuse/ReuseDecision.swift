/// The decision how to answer a request.
package enum ReuseDecision: Hashable, Sendable {
    /// Serve the stored response: it is fresh, or the request accepts a stale response (`max-stale`).
    case serve(age: Duration, isStale: Bool)
    /// Serve the stale response at once, and revalidate it in the background (RFC 5861 §3).
    case serveStaleAndRevalidate(age: Duration)
    /// Ask the origin, with the conditional fields of ``Validators``, whether the stored response is still valid.
    ///
    /// - `mayServeStaleOnError`: whether the stored response may be served when the origin is unreachable. For a 5xx
    ///   answer call ``ReusePolicy/mayServeStale(_:_:onError:expiry:coverage:now:)``.
    case revalidate(reason: ForwardReason, mayServeStaleOnError: Bool)
    /// Send an unconditional request to the origin.
    case fetch(ForwardReason)
    /// Answer 504: the request has `only-if-cached` and no stored response can be used (RFC 9111 §5.2.1.7).
    case refuse
}

/// The way in which an origin failed.
package enum OriginFailure: Hashable, Sendable {
    /// The origin did not answer, or its answer was not valid.
    case unreachable
    case status(Int)
}
