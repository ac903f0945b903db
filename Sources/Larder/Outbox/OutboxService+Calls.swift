import DiskCache
import Origin
import Outbox
import Primitives

/// The calls of the API. A completion is called on a queue of the outbox, or before the call returns, and must not
/// block.
extension OutboxService {
    // MARK: - New changes

    package struct Acceptance: Sendable {
        package let change: Change
        /// `false`: the caller has repeated a request, and `change` is the change of the first one.
        package let isNew: Bool
    }

    /// Accepts a change, which is durable when the completion is called.
    ///
    /// - Parameter caller: the id of the caller's token; empty without tokens.
    package func accept(
        _ request: ChangeRequest, in namespace: String, by caller: String,
        completion: @escaping Completion<Acceptance>
    ) {
        guard let space = tools.namespace(namespace) else { return completion(.failure(.noNamespace)) }
        // The digest of a long request takes some time.
        let key = request.callerKey(in: namespace)
        queue.async { [self] in
            do throws(OutboxFailure) {
                // The earlier change may be about to be discarded.
                try checkOpen(namespace)
                if let earlier = try earlier(key, caller, namespace) {
                    return completion(.success(Acceptance(change: withWait(earlier), isNew: false)))
                }
                try checkOrigin(request.url, space)
            } catch {
                return completion(.failure(error))
            }
            guard request.needsCache else { return insert(request, ShownVersions(), namespace, caller, completion) }
            findShown(request, in: space) { [self] shown in
                insert(request, shown, namespace, caller, completion)
            }
        }
    }

    /// Finds the versions that the author of a change has seen. A version that cannot be read counts as missing. The
    /// base is then compared with the origin's version.
    ///
    /// A change without a credential is made on the body without the changes that have one, because all readers see the
    /// former, and its request would carry the latter to the origin without their credential.
    private func findShown(
        _ request: ChangeRequest, in space: FetchTools, then: @escaping @Sendable (ShownVersions) -> Void
    ) {
        let target = request.target
        let remote: @Sendable () -> Void = {
            space.cache.find(target.key, expectingURL: target.canonicalURL) { found in
                let stored = try? found.get()
                then(ShownVersions(remote: stored.map { CachedVersion(entry: $0.entry, body: $0.body) }))
            }
        }
        let namespace = space.cache.configuration.namespace
        guard tools.pending.contains(target.key, in: namespace) else { return remote() }
        pendingBody(
            of: target.key, url: target.canonicalURL, in: namespace, seesSecrets: request.credential != nil
        ) { result in
            if case .success(let pending?) = result { then(ShownVersions(pending: pending)) } else { remote() }
        }
    }

    /// The change of an earlier request with the same key. A repeated request is answered even if the base has left
    /// the cache, or the origin has been forbidden.
    private func earlier(
        _ key: CallerKey?, _ caller: String, _ namespace: String
    ) throws(OutboxFailure) -> Change? {
        guard let key, let store = try storeIfExists() else { return nil }
        return try mapping { () throws(OutboxError) in try store.change(ofCaller: caller, key, in: namespace) }
    }

    /// Refuses an origin that the server would not contact now. The origin is checked again for each request.
    private func checkOrigin(_ url: CanonicalURL, _ space: FetchTools) throws(OutboxFailure) {
        guard url.scheme != "ftp" else { throw .origin(.schemeRefused(url.scheme)) }
        var request = OriginRequest(url: url.requestURL)
        request.addressPolicy = space.options.addressPolicy
        if let refusal = space.origin.foreseenRefusal(of: request) { throw .origin(DownloadError(refusal)) }
    }

    /// Makes the draft, which may wait for the disk or apply a long patch, and inserts it.
    private func insert(
        _ request: ChangeRequest, _ shown: ShownVersions, _ namespace: String, _ caller: String,
        _ completion: @escaping Completion<Acceptance>
    ) {
        drafts.async { [self] in
            do throws(OutboxFailure) {
                let draft = try request.draft(namespace: namespace, caller: caller, shown: shown, limits: tools.limits)
                // A faulty draft creates no database.
                try mapping { () throws(OutboxError) in try draft.check(tools.limits) }
                queue.async { [self] in
                    do throws(OutboxFailure) {
                        try insert(draft, completion)
                    } catch {
                        completion(.failure(error))
                    }
                }
            } catch {
                completion(.failure(error))
            }
        }
    }

    private func insert(_ draft: ChangeDraft, _ completion: Completion<Acceptance>) throws(OutboxFailure) {
        // The namespace may have been removed since the beginning of the call.
        try checkOpen(draft.namespace)
        let store = try store()
        try checkCredential(of: draft, store)
        let insertion = try mapping { () throws(OutboxError) in try store.insert(draft, now: tools.clock.now()) }
        if insertion.isNew { show(insertion.change.summary) }
        completion(.success(Acceptance(change: withWait(insertion.change), isNew: insertion.isNew)))
        if insertion.isNew { handle(.accepted(insertion.change.summary)) }
    }

    private func checkCredential(of draft: ChangeDraft, _ store: OutboxStore) throws(OutboxFailure) {
        guard let name = draft.credential else { return }
        let credential = try mapping { () throws(OutboxError) in
            guard let credential = try store.credential(namespace: draft.namespace, name: name) else {
                throw .noCredential(name)
            }
            return credential
        }
        guard !credential.fields(for: draft.target.origin).isEmpty else {
            throw .foreignCredential(name: name, origin: draft.target.origin)
        }
    }

    /// Accepts a new change that takes back the effect of a change which has had one.
    package func revert(
        _ id: Change.ID, in namespace: String, by caller: String, completion: @escaping Completion<Acceptance>
    ) {
        queue.async { [self] in
            do throws(OutboxFailure) {
                let change = try change(id, namespace)
                guard let space = tools.namespace(namespace) else { throw .noNamespace }
                if let url = try? CanonicalURL(change.draft.target.url) { try checkOrigin(url, space) }
                try insert(try mapping { () throws(OutboxError) in try change.reverted(by: caller) }, completion)
            } catch {
                completion(.failure(error))
            }
        }
    }

    // MARK: - Reading

    package func list(
        in namespace: String, states: Set<ChangeState>?, key: String?, after: Change.ID?, limit: Int,
        completion: @escaping Completion<ChangePage>
    ) {
        reply(completion) { [self] () throws(OutboxFailure) in
            let filter = ChangeFilter(namespace: namespace, states: states, key: key)
            guard let store = try storeIfExists() else { return .empty }
            var page = try mapping { () throws(OutboxError) in try store.list(filter, after: after, limit: limit) }
            page.changes = page.changes.map(withWait)
            return page
        }
    }

    package func find(_ id: Change.ID, in namespace: String, completion: @escaping Completion<Change>) {
        reply(completion) { [self] () throws(OutboxFailure) in
            withWait(try change(id, namespace))
        }
    }

    /// The numbers of a namespace's changes.
    package func totals(of namespace: String, completion: @escaping Completion<OutboxTotals>) {
        reply(completion) { [self] () throws(OutboxFailure) in
            guard let store = try storeIfExists() else { return OutboxTotals() }
            return try mapping { () throws(OutboxError) in try store.totals(namespace: namespace) }
        }
    }

    /// A change of another namespace counts as missing.
    func change(_ id: Change.ID, _ namespace: String) throws(OutboxFailure) -> Change {
        guard let store = try storeIfExists() else { throw .outbox(.noChange(id)) }
        let change = try mapping { () throws(OutboxError) in try store.change(id) }
        guard let change, change.draft.namespace == namespace else { throw .outbox(.noChange(id)) }
        return change
    }

    // MARK: - Credentials

    /// A credential as callers see it, without its secrets.
    package struct CredentialName: Hashable, Sendable {
        package let name: String
        /// Sorted.
        package let origins: [String]

        package init(_ name: String, origins: Set<String>) {
            self.name = name
            self.origins = origins.sorted()
        }
    }

    /// Stores a credential, or replaces it. The changes that it blocked go on. The namespace must not be removed
    /// meanwhile, because its next owner would get the credential.
    package func setCredential(
        _ name: String, _ credential: OutboxCredential, in namespace: String, condition: Condition? = nil,
        completion: @escaping Completion<Void>
    ) {
        reply(completion) { [self] () throws(OutboxFailure) in
            if let condition {
                let exists = try hasCredential(name, namespace)
                guard condition(exists) else { throw .conditionFailed }
            }
            try checkOpen(namespace)
            let store = try store()
            try mapping { () throws(OutboxError) in
                try store.setCredential(credential, namespace: namespace, name: name)
            }
            handle(.credentialChanged(namespace: namespace, name: name))
            credentialObserver?(name, namespace)
        }
    }

    /// Removes a credential. Changes that name it are blocked when they are next sent.
    package func removeCredential(
        _ name: String, in namespace: String, condition: Condition? = nil, completion: @escaping Completion<Void>
    ) {
        reply(completion) { [self] () throws(OutboxFailure) in
            if let condition, try hasCredential(name, namespace), !condition(true) { throw .conditionFailed }
            guard let store = try storeIfExists() else { throw .outbox(.noCredential(name)) }
            try mapping { () throws(OutboxError) in try store.removeCredential(namespace: namespace, name: name) }
        }
    }

    private func hasCredential(_ name: String, _ namespace: String) throws(OutboxFailure) -> Bool {
        guard let store = try storeIfExists() else { return false }
        return try mapping { () throws(OutboxError) in try store.credential(namespace: namespace, name: name) } != nil
    }

    package func credentials(in namespace: String, completion: @escaping Completion<[CredentialName]>) {
        reply(completion) { [self] () throws(OutboxFailure) in
            guard let store = try storeIfExists() else { return [] }
            return try mapping { () throws(OutboxError) in
                try store.credentials(namespace: namespace).map { CredentialName($0.name, origins: $0.origins) }
            }
        }
    }

    // MARK: - Support

    func reply<Value>(
        _ completion: @escaping Completion<Value>, _ work: @escaping @Sendable () throws(OutboxFailure) -> Value
    ) {
        queue.async { completion(Result(catching: work)) }
    }

    func mapping<Value>(_ work: () throws(OutboxError) -> Value) throws(OutboxFailure) -> Value {
        do {
            return try work()
        } catch {
            throw error == .state(.closed) ? .stopping : .outbox(error)
        }
    }
}
