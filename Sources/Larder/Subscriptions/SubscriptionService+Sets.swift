import DiskCache
import Primitives
import Subscriptions

/// The beginnings and ends of sets: at the start, with a new version of a namespace, and with the definition.
extension SubscriptionService {
    /// Makes the running sets those of the records in existing namespaces, and ends the others.
    func settleSets(_ store: SubscriptionStore) {
        for (id, set) in sets where tools.namespace(set.namespace)?.id != set.spaceID {
            // The generation went with the old version of the namespace, and is fetched again.
            save(set, store)
            sets[id] = nil
        }
        for (id, record) in records where sets[id] == nil && !opening.contains(id) {
            guard let space = tools.namespace(record.namespace) else { continue }
            opening.insert(id)
            if let ending = record.ending { release(record, ending, in: space) } else { open(record, in: space, store) }
        }
    }

    /// Looks up which copies the cache holds, and begins the set.
    private func open(_ record: SubscriptionRecord, in space: Namespace, _ store: SubscriptionStore) {
        let members: [MemberRecord]
        do {
            members = try store.members(of: record.id)
        } catch {
            opening.remove(record.id)
            return warn("the members of a subscription cannot be read", record, "\(error)")
        }
        let (cache, spaceID, name) = (space.cache, space.id, record.definition.name)
        cache.onDiskThread { [self] in
            let found = Result { () throws(DiskCacheError) in
                (try cache.generation(of: name)?.number ?? 0, try cache.heldKeys(of: name))
            }
            queue.async { [self] in
                opening.remove(record.id)
                guard let current = records[record.id], current.ending == nil, case .open = phase else { return }
                switch found {
                case .failure(let error): warn("the generation of a subscription cannot be read", record, "\(error)")
                case .success((let generation, let held)):
                    let isWhole = members.allSatisfy { !$0.member.hasCopy || held.contains($0.member.item.key) }
                    guard !isWhole else { return begin(current, spaceID, members, generation, held) }
                    holdAgain(members, of: name, in: cache) { [self] generation, held in
                        guard let current = records[record.id], current.ending == nil else { return }
                        begin(current, spaceID, members, generation, held, isLost: true)
                    }
                }
            }
        }
    }

    /// `held`: the keys of the copies in the cache. `isLost`: the cache has lost copies, so a refresh begins now.
    private func begin(
        _ record: SubscriptionRecord, _ spaceID: Int, _ members: [MemberRecord], _ generation: Int64,
        _ held: Set<String>, isLost: Bool = false
    ) {
        guard sets[record.id] == nil else { return }
        let now = tools.clock.now()
        var record = record
        if isLost || (generation == 0 && !members.isEmpty) {
            record.source.refresh.isUrgent = true
            record.source.refresh.sourceDue = now
        }
        let known = members.map { record in
            var record = record
            record.member.hasCopy = held.contains(record.member.item.key)
            return record
        }
        let set = HeldSet(
            record, spaceID: spaceID, members: known, copies: held, generation: generation, now: now)
        sets[record.id] = set
        for (host, end) in pacer.pauses(at: now) { handle(.hostPaused(host: host, until: end), set) }
        metrics.note(set.report, of: set.id)
        loadCredential(of: set)
        scheduleAdvance()
    }

    /// After the loss of an index, the cache still has entries, but no holder: holds them again at once, because the
    /// origins may be away. `then` gets the new generation, and the keys of its copies, on `queue`.
    private func holdAgain(
        _ members: [MemberRecord], of name: String, in cache: DiskCache,
        then: @escaping @Sendable (Int64, Set<String>) -> Void
    ) {
        let items = members.filter(\.member.hasCopy).map(\.member.item)
        cache.beginGeneration(of: name) { [self] stage in
            guard case .success(let stage) = stage else { return queue.async { then(0, []) } }
            stage.publish(items.map { GenerationMember($0, in: stage) }) { [self] result in
                queue.async {
                    guard case .success(let outcome) = result else { return then(0, []) }
                    then(outcome.generation, Set(items.map(\.key)).subtracting(outcome.lost.keys))
                }
            }
        }
    }

    func loadCredential(of set: HeldSet) {
        guard let name = set.definition.credential else { return }
        set.awaitsCredential = true
        tools.credential(name, set.namespace) { [self] credential in
            queue.async { [self] in
                (set.credential, set.awaitsCredential) = (credential, false)
                scheduleAdvance()
            }
        }
    }

    /// Ends a subscription in the cache, and then in the store.
    func release(_ record: SubscriptionRecord, _ ending: SubscriptionRecord.Ending, in space: Namespace) {
        space.cache.release(record.definition.name, removing: ending == .removingCopies) { [self] result in
            queue.async { [self] in
                opening.remove(record.id)
                guard case .open(let store) = phase else { return }
                switch result {
                case .failure(let error): warn("a subscription cannot be ended", record, "\(error)")
                case .success:
                    do {
                        try store.remove(record.id)
                        records[record.id] = nil
                    } catch {
                        warn("a subscription cannot be ended", record, "\(error)")
                    }
                }
                for waiter in endings.removeValue(forKey: record.id) ?? [] {
                    waiter(result.mapError { .cache(DownloadError($0)) })
                }
            }
        }
    }

    func warn(_ message: String, _ record: SubscriptionRecord, _ reason: String) {
        tools.logger.warning(
            "\(message)",
            metadata: [
                "subscription": "\(record.definition.name)", "namespace": "\(record.namespace)", "reason": "\(reason)",
            ])
    }
}
