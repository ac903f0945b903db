import DiskCache
import Outbox
import Primitives

/// The end of the version in the cache of a resource that has changed (RFC 9111 §4.4).
extension OutboxService {
    enum Invalidation {
        /// The version becomes stale.
        case outdate
        /// As ``remove``, but a pinned version, and one that a subscription holds, only becomes stale.
        case removeUnlessKept
        /// The origin does not have the resource any more, by the caller's own wish.
        case remove
    }

    /// Makes the versions of a change's resource stale, or removes them, when the origin has changed it. The same
    /// happens to the versions of the URL to which redirects have led the request. The versions that downloads are
    /// still receiving are not kept. Readers must not find an older version after the change has left the outbox, so
    /// `then` comes last. It gets `false` when the cache has failed, and readers may find an older version.
    func invalidate(
        _ target: ChangeTarget, _ url: String, _ invalidation: Invalidation, _ cache: DiskCache,
        then: @escaping @Sendable (_ isDone: Bool) -> Void
    ) {
        guard url != target.url else { return invalidate(url, invalidation, cache, then: then) }
        invalidate(target.url, invalidation, cache) { [self] isOwnDone in
            invalidate(url, invalidation, cache) { then($0 && isOwnDone) }
        }
    }

    func removeVersion(_ order: RemovalOrder) {
        guard let space = tools.namespace(order.namespace) else { return report(.versionRemoved(order.flight)) }
        let invalidation: Invalidation = order.isDeletion ? .remove : .removeUnlessKept
        invalidate(order.target, order.target.url, invalidation, space.cache) { [self] isDone in
            report(isDone ? .versionRemoved(order.flight) : .versionNotRemoved(order.flight))
        }
    }

    private func invalidate(
        _ url: String, _ invalidation: Invalidation, _ cache: DiskCache,
        then: @escaping @Sendable (_ isDone: Bool) -> Void
    ) {
        guard let canonical = try? CanonicalURL(url) else { return then(true) }
        let key = CacheKey.url(canonical: canonical.string).text
        // The responses to the URL are removed, too, also when the version itself cannot be.
        let rest: @Sendable (_ isDone: Bool) -> Void = { [self] isDone in
            cache.remove(matching: [EntryFilter(url: url, kind: .response)]) { [self] result in
                then(succeeds(result, cache) && isDone)
            }
        }
        let outdate: @Sendable () -> Void = { [self] in
            cache.outdate(key) { [self] result in rest(succeeds(result, cache)) }
        }
        switch invalidation {
        case .outdate: outdate()
        case .remove: cache.remove(key) { [self] result in rest(succeeds(result, cache)) }
        case .removeUnlessKept:
            cache.remove(key, condition: { $0?.isExempt != true }) { [self] result in
                if case .failure(.conditionFailed) = result { outdate() } else { rest(succeeds(result, cache)) }
            }
        }
    }

    private func succeeds<Value>(_ result: Result<Value, DiskCacheError>, _ cache: DiskCache) -> Bool {
        guard case .failure(let error) = result else { return true }
        tools.logger.warning(
            "a version that a change has replaced cannot be removed from the cache",
            metadata: ["namespace": "\(cache.configuration.namespace)", "reason": "\(error)"])
        return false
    }
}
