import DiskCache
import Primitives
import Subscriptions

/// The beginnings and ends of sets: at the start, with a new version of a namespace, and with the definition. All on
/// `queue`.
extension SubscriptionService {
    /// Reports the present versions of the namespaces to all subscriptions.
    func settleSets() {
        forgetMarks()
        forgetRemoved()
        for (id, record) in records { step(.turn(space: space(of: record)?.id), id) }
    }

    /// The result of a lookup.
    struct Found {
        /// ``Namespace/id`` of the version in which it was looked up.
        let spaceID: Int
        let members: [MemberRecord]
        let generation: ResumedGeneration
    }

    /// Performs the actions after an event in the life of a subscription.
    func step(_ event: RecordLife.Event, _ id: Int64, found: Found? = nil) {
        for action in lives[id]?.handle(event) ?? [] {
            guard let record = records[id] else { return }
            switch action {
            case .lookUp: lookUp(record)
            case .begin: if let found { begin(record, found) }
            case .breakOff:
                guard let set = sets[id] else { continue }
                // A new definition and an end prevail over the state of the set.
                if case .turn = event, case .open(let store) = phase { save(set, store) }
                breakOff(set)
            case .release: release(record)
            case .answerCalls: for call in waitingCalls.removeValue(forKey: id) ?? [] { call() }
            }
        }
    }

    /// Looks up which copies the cache holds.
    private func lookUp(_ record: SubscriptionRecord) {
        let (id, name) = (record.id, record.definition.name)
        guard let space = space(of: record), let members = members(of: record) else {
            // Not at once, because this call is part of another event.
            return queue.async { [self] in step(.lookedUp(isFound: false), id) }
        }
        let items = members.filter(\.member.hasCopy).map { (key: CacheKey($0.member.item), url: $0.member.item.url) }
        let spaceID = space.id
        space.cache.resumeGeneration(of: name, members: items) { [self] result in
            queue.async { [self] in
                guard case .open = phase else { return }
                switch result {
                case .success(let generation):
                    let found = Found(spaceID: spaceID, members: members, generation: generation)
                    step(.lookedUp(isFound: true), id, found: found)
                case .failure(let error):
                    warn("the generation of a subscription cannot be read", record, "\(error)")
                    step(.lookedUp(isFound: false), id)
                }
            }
        }
    }

    /// The members in the store; `nil` if they cannot be read, which is logged.
    func members(of record: SubscriptionRecord) -> [MemberRecord]? {
        guard case .open(let store) = phase else { return nil }
        do {
            return try store.members(of: record.id)
        } catch {
            warn("the members of a subscription cannot be read", record, "\(error)")
            return nil
        }
    }

    private func begin(_ record: SubscriptionRecord, _ found: Found) {
        let (members, copies) = (found.members, found.generation.dates)
        let now = tools.clock.now()
        var record = record
        // Copies that the cache has lost are fetched at once.
        let isLost = members.contains { $0.member.hasCopy && copies[$0.member.item.key] == nil }
        if isLost || (found.generation.number == 0 && !members.isEmpty) {
            record.source.refresh.isUrgent = true
            record.source.refresh.sourceDue = now
        }
        let known = members.map { record in
            var record = record
            record.member.hasCopy = copies[record.member.item.key] != nil
            return record
        }
        let set = HeldSet(
            record, spaceID: found.spaceID, members: known, copies: copies, generation: found.generation.number,
            now: now)
        sets[record.id] = set
        passPauses(to: set, at: now)
        // The credential may have been stored while this subscription had no set. One request finds out.
        let isRefused = members.contains { $0.member.problem?.isForbidden == true } || set.machine.sourceProblem != nil
        if isRefused, set.definition.credential != nil { handle(.secretChanged, set) }
        metrics.note(set.report, of: set.id)
        scheduleAdvance()
    }

    /// Ends the work of a set. Its generation stays.
    private func breakOff(_ set: HeldSet) {
        if case .open(let stage) = set.stage { stage.abandon() }
        set.stage = .none
        set.cancelAllRequests()
        sets[set.id] = nil
        pacer.leave(set.id)
        metrics.forget(set.id)
        scheduleAdvance()
    }

    /// Ends a subscription in the cache, and then in the store.
    private func release(_ record: SubscriptionRecord) {
        let id = record.id
        guard let ending = record.ending, let space = space(of: record) else {
            return queue.async { [self] in step(.released(isDone: false), id) }
        }
        space.cache.release(record.definition.name, removing: ending == .removingCopies) { [self] result in
            queue.async { [self] in
                guard case .open(let store) = phase else { return }
                let isDone = forget(record, result, store)
                step(.released(isDone: isDone), id)
                if isDone {
                    // The removal of the namespace may have been faster.
                    if records[id] != nil { publishEnd(of: record.holder) }
                    (records[id], lives[id]) = (nil, nil)
                }
                for waiter in endings.removeValue(forKey: id) ?? [] {
                    waiter(result.mapError { .cache(DownloadError($0)) })
                }
            }
        }
    }

    private func forget(
        _ record: SubscriptionRecord, _ released: Result<Int, DiskCacheError>, _ store: SubscriptionStore
    ) -> Bool {
        do {
            _ = try released.get()
            try store.remove(record.id)
            return true
        } catch {
            warn("a subscription cannot be ended", record, "\(error)")
            return false
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
