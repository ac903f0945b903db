import DiskCache
import Outbox
import Primitives

/// The bodies of URLs with pending changes.
extension OutboxService {
    // MARK: - Readers

    /// Whether readers of a key get ``pendingBody(of:url:in:completion:)`` and not the entry of the cache. Takes no
    /// lock while the outbox has no pending change.
    package func isPending(_ key: String, in namespace: String) -> Bool { tools.pending.contains(key, in: namespace) }

    /// Makes the body of a key with its pending changes. The completion gets `nil` if no change has an effect on the
    /// body, and is called on a queue of the outbox, or before the call returns.
    ///
    /// - Parameter url: the canonical URL from which the key was made. Entries and changes of other URLs with the same
    ///   MD5 do not count; `nil`: any URL.
    package func pendingBody(
        of key: String, url: String? = nil, in namespace: String, completion: @escaping Completion<PendingBody?>
    ) {
        // The queue has read the changes of an earlier process before it comes to this call.
        queue.async { [self] in
            do throws(OutboxFailure) {
                guard let space = tools.namespace(namespace), let store = try storeIfExists() else {
                    return completion(.success(nil))
                }
                let wish = PendingWish(key: key, url: url, namespace: namespace, cache: space.cache, store: store)
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
        guard let revision = pending.revision(of: wish.key, in: wish.namespace) else {
            return completion(.success(nil))
        }
        wish.cache.find(wish.key, expectingURL: wish.url) { [self] found in
            // A version that cannot be read counts as missing.
            let remote = (try? found.get()) ?? nil
            viewQueue.async { [self] in
                if let held = pendingBodies.withLock({ $0.find(revision, over: remote) }) {
                    return completion(.success(held))
                }
                let made = Result { () throws(OutboxFailure) in try body(wish, over: remote) }
                let isCurrent = pending.revision(of: wish.key, in: wish.namespace) == revision
                guard isCurrent || triesLeft == 1 else { return make(wish, triesLeft: triesLeft - 1, completion) }
                if isCurrent, case .success(let body?) = made {
                    pendingBodies.withLock { $0.insert(body, for: revision) }
                }
                completion(made)
            }
        }
    }

    private func body(_ wish: PendingWish, over remote: StoredEntry?) throws(OutboxFailure) -> PendingBody? {
        try mapping { () throws(OutboxError) in
            var composition = PendingBody.Composition(over: remote, limit: tools.limits.changeBytes)
            for id in try wish.store.viewed(namespace: wish.namespace, key: wish.key) {
                guard let change = try wish.store.change(id), !change.state.isEnded else { continue }
                if wish.url == nil || change.draft.target.canonicalURL == wish.url { composition.apply(change) }
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
        let drop: @Sendable () -> Void = { [tools] in
            tools.pending.remove(summary.id, key: summary.target.key, in: summary.namespace)
        }
        guard summary.state != .done, summary.mayBeApplied, let space = tools.namespace(summary.namespace) else {
            return drop()
        }
        let target = summary.target
        invalidate(target, target.url, .outdate, space.cache) { [queue] in queue.async(execute: drop) }
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
    let key: String
    let url: String?
    let namespace: String
    let cache: DiskCache
    let store: OutboxStore
}

/// The last bodies with pending changes, because a reader that polls a body must not merge it each time.
struct PendingBodies {
    /// The most bytes of bodies, sixteen of the longest ones.
    private static let byteLimit = 16 << 20
    private static let countLimit = 256
    private var bodies: [UInt64: PendingBody] = [:]
    private var byteCount = 0

    /// `nil` if the body was made over another version.
    func find(_ revision: UInt64, over remote: StoredEntry?) -> PendingBody? {
        guard let body = bodies[revision], body.remote?.entry.version == remote?.entry.version else { return nil }
        return body
    }

    mutating func insert(_ body: PendingBody, for revision: UInt64) {
        byteCount += body.ownBytes - (bodies.removeValue(forKey: revision)?.ownBytes ?? 0)
        if byteCount > Self.byteLimit || bodies.count >= Self.countLimit {
            bodies = [:]
            byteCount = body.ownBytes
        }
        bodies[revision] = body
    }
}

extension PendingBody {
    /// The bytes that only this value holds.
    fileprivate var ownBytes: Int { if case .own(let bytes, _) = content { bytes.count } else { 0 } }
}

extension ChangeSummary {
    /// A POST has no effect on the body of its URL.
    fileprivate var hasBody: Bool { method != "POST" }
}
