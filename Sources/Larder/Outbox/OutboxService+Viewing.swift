import DiskCache
import Outbox
import Primitives

/// The bodies of URLs with pending changes.
extension OutboxService {
    // MARK: - Readers

    /// Whether readers of a key get ``pendingBody(of:url:in:seesSecrets:completion:)`` and not the entry of the cache.
    /// Takes no lock while the outbox has no pending change.
    package func isPending(_ key: String, in namespace: String) -> Bool { tools.pending.contains(key, in: namespace) }

    /// Makes the body of a key with its pending changes. The completion gets `nil` if no change has an effect on the
    /// body, and is called on a queue of the outbox, or before the call returns.
    ///
    /// - Parameters:
    ///   - url: the canonical URL from which the key was made. Entries and changes of other URLs with the same MD5 do
    ///     not count; `nil`: any URL.
    ///   - seesSecrets: whether changes with a credential count. They are made from bodies that the origin shows only
    ///     to the owner of the credential.
    package func pendingBody(
        of key: String, url: String? = nil, in namespace: String, seesSecrets: Bool,
        completion: @escaping Completion<PendingBody?>
    ) {
        // The queue has read the changes of an earlier process before it comes to this call.
        queue.async { [self] in
            do throws(OutboxFailure) {
                guard let store = try storeIfExists(), let space = openNamespace(namespace) else {
                    return completion(.success(nil))
                }
                let place = PendingBodies.Place(
                    namespace: namespace, key: key, url: url, seesSecrets: seesSecrets)
                let wish = PendingWish(place: place, cache: space.cache, store: store)
                make(wish, triesLeft: 3, completion)
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Reads the version in the cache and the changes. If a change has ended or changed meanwhile, tries again, because
    /// the version in the cache may be older than the end of the change.
    private func make(_ wish: PendingWish, triesLeft: Int, _ completion: @escaping Completion<PendingBody?>) {
        let pending = tools.pending
        let place = wish.place
        guard let revision = pending.revision(of: place.key, in: place.namespace) else {
            return completion(.success(nil))
        }
        wish.cache.find(place.key, expectingURL: place.url) { [self] found in
            // A version that cannot be read counts as missing.
            let remote = (try? found.get()) ?? nil
            viewQueue.async { [self] in
                let held = pendingBodies.withLock { $0.find(place, over: remote) }
                if let held, held.revision == revision { return completion(.success(held.body)) }
                let start = held.flatMap { $0.revision.root == revision.root ? $0.body : nil }
                let made = Result { () throws(OutboxFailure) in try body(wish, over: remote, extending: start) }
                let isCurrent = pending.revision(of: place.key, in: place.namespace) == revision
                guard isCurrent || triesLeft == 1 else { return make(wish, triesLeft: triesLeft - 1, completion) }
                if isCurrent, case .success(let body?) = made {
                    pendingBodies.withLock { $0.insert(body, of: revision, at: place) }
                }
                completion(made)
            }
        }
    }

    /// - Parameter start: a body with the first of the changes. A reader that comes after each new change must not
    ///   merge all of them each time.
    private func body(
        _ wish: PendingWish, over remote: StoredEntry?, extending start: PendingBody?
    ) throws(OutboxFailure) -> PendingBody? {
        try mapping { () throws(OutboxError) in
            let (limit, place) = (tools.limits.changeBytes, wish.place)
            let ids = try wish.store.viewed(namespace: place.namespace, key: place.key)
            let start = start.flatMap { ids.starts(with: $0.seen) ? $0 : nil }
            var composition =
                start.map { PendingBody.Composition(extending: $0, limit: limit) }
                ?? PendingBody.Composition(over: remote, limit: limit)
            for id in ids.dropFirst(start?.seen.count ?? 0) {
                guard let change = try wish.store.change(id), !change.state.isEnded else { continue }
                let isOfURL = place.url == nil || change.draft.target.canonicalURL == place.url
                if isOfURL, place.seesSecrets || change.draft.credential == nil {
                    composition.apply(change)
                } else {
                    composition.skip(id)
                }
            }
            return composition.finish()
        }
    }

    // MARK: - Changes that readers see, on `queue`

    /// Shows a change that is durable, before its caller learns so.
    func show(_ summary: ChangeSummary) {
        guard summary.hasBody else { return }
        tools.pending.insert(summary.id, key: summary.target.key, in: summary.namespace)
        tools.namespace(summary.namespace)?.cache.dropAnswers(of: summary.target.key)
    }

    /// Shows the changes of an earlier process.
    func show(_ changes: [ChangeSummary]) {
        let shown = changes.filter(\.hasBody)
        tools.pending.begin(with: shown.map { ($0.id, $0.target.key, $0.namespace) })
        for change in shown { tools.namespace(change.namespace)?.cache.dropAnswers(of: change.target.key) }
    }

    /// Shows readers the version in the cache without a change that has ended. A cancelled or expired change may have
    /// had its effect, so the version then has to be revalidated first.
    func dropFromView(_ summary: ChangeSummary) {
        let drop: @Sendable () -> Void = { [self] in
            let (key, namespace) = (summary.target.key, summary.namespace)
            tools.pending.remove(summary.id, key: key, in: namespace)
            guard !tools.pending.contains(key, in: namespace) else { return }
            pendingBodies.withLock { $0.remove(key, in: namespace) }
        }
        guard summary.state != .done, summary.mayBeApplied, let space = tools.namespace(summary.namespace) else {
            return drop()
        }
        outdate(FreshVersion(target: summary.target, namespace: summary.namespace), space.cache, then: drop)
    }

    /// A version that readers may find fresh, although a change that left the view may have replaced it.
    struct FreshVersion: Hashable {
        let target: ChangeTarget
        let namespace: String
    }

    private func outdate(_ version: FreshVersion, _ cache: DiskCache, then: @escaping @Sendable () -> Void) {
        let target = version.target
        invalidate(target, target.url, .outdate, cache) { [self] isDone in
            queue.async { [self] in
                if isDone { freshVersions.remove(version) } else { freshVersions.insert(version) }
                then()
            }
        }
    }

    /// Makes the versions stale that the cache has failed to make stale.
    func outdateFreshVersions() {
        for version in freshVersions {
            guard let space = tools.namespace(version.namespace) else {
                freshVersions.remove(version)
                continue
            }
            outdate(version, space.cache) {}
        }
    }

    /// Makes the body of a key anew, because a change of it has other bodies or another state.
    func touch(_ key: String, in namespace: String) {
        if tools.pending.contains(key, in: namespace) { tools.pending.touch(key, in: namespace) }
    }

    /// Tells the machine about a version that a download has brought into the cache.
    func noteStored(_ version: PendingKeys.StoredVersion) {
        guard let digest = BodyDigest(bytes: version.digest) else { return }
        report(
            .stored(
                namespace: version.namespace, key: version.key, ticket: version.ticket, etag: version.etag,
                digest: digest))
    }
}

/// A reader's request for a body with pending changes.
private struct PendingWish: Sendable {
    let place: PendingBodies.Place
    let cache: DiskCache
    let store: OutboxStore
}

extension ChangeSummary {
    /// A POST has no effect on the body of its URL.
    fileprivate var hasBody: Bool { method != "POST" }
}
