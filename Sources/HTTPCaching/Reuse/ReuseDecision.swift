/// What is done about a request.
public enum ReuseDecision: Hashable, Sendable {
    /// Answer with the stored response: it is fresh, or the request accepts that it is stale (`max-stale`).
    case serve(age: Duration, isStale: Bool)
    /// Answer with the stored response, and ask the origin behind the client's back (RFC 5861 §3).
    case serveStaleAndRevalidate(age: Duration)
    /// Ask the origin with the conditional fields of ``Validators`` whether the stored response is still right.
    ///
    /// - `mayServeStaleOnError`: whether the stored response may be used when the origin cannot be reached; for an
    ///   answer of 5xx ask ``ReusePolicy/mayServeStale(_:_:onError:expiry:now:)``.
    case revalidate(reason: ForwardReason, mayServeStaleOnError: Bool)
    /// Ask the origin without conditions.
    case fetch(ForwardReason)
    /// Answer 504: the request wants nothing but what is stored, and that cannot be used (`only-if-cached`, RFC 9111
    /// §5.2.1.7).
    case refuse
}

/// How an origin failed.
public enum OriginFailure: Hashable, Sendable {
    /// There was no answer, or none that could be understood.
    case unreachable
    /// It answered with this status.
    case status(Int)
}
