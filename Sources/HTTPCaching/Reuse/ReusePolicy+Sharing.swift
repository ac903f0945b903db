import Primitives

extension ReusePolicy {
    /// Whether a request may use the answer to another request in flight (RFC 9111 §4: "collapse requests"). A request
    /// that demands an answer of its own may not (§5.2.1.1, §5.2.1.4, §5.2.1.5).
    package static func acceptsSharing(_ request: CacheRequest) -> Bool {
        let directives = RequestDirectives(request.fields)
        return !directives.noCache && !directives.noStore && directives.accepts(age: .zero)
    }

    /// Whether the request forbids to store its answer (§5.2.1.5).
    package static func forbidsStoring(_ request: CacheRequest) -> Bool {
        RequestDirectives(request.fields).noStore
    }

    /// Whether a request may have a response that the origin has confirmed since the request came. Such a response
    /// needs no further validation, although `no-cache` or its expiry demands one for later requests.
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
    /// (§5.2.1.1, §5.2.1.3).
    package static func accepts(_ request: CacheRequest, _ stored: StoredResponse, now: Timestamp) -> Bool {
        let directives = RequestDirectives(request.fields)
        return directives.accepts(age: stored.freshness.currentAge(at: now))
            && (directives.minFresh.map { stored.freshness.remaining(at: now) >= $0 } ?? true)
    }
}

extension StoredResponse {
    /// The response as if it had arrived without a delay, at the time at which it was asked for. `nil` for a response
    /// that must not be used stale (§5.2.2.2), because it is as old as its delay says.
    package var asIfPrompt: StoredResponse? {
        guard !freshness.forbidsStale else { return nil }
        var prompt = self
        prompt.receivedAt = requestedAt
        return prompt
    }
}
