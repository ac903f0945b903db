import DiskCache
import Origin
import Outbox
import Primitives
import Subscriptions

/// The calls of the API. `completion` is called on `queue`, and must not block.
extension SubscriptionService {
    /// Whether the caller's condition permits the call; the argument tells whether there is the subscription.
    package typealias Condition = @Sendable (_ exists: Bool) -> Bool

    /// A subscription that was made or changed.
    package struct Putting: Sendable {
        package let report: SubscriptionReport
        package let isNew: Bool
    }

    /// Makes a subscription, or changes its definition. Copies of resources that the new definition wants, too, stay.
    /// Refused are a namespace that does not exist, a URL that the origin policy refuses now, a credential that does
    /// not exist or is for no origin of the source, and more subscriptions than a namespace may have.
    package func put(
        _ definition: Subscription, in namespace: String, condition: Condition? = nil,
        completion: @escaping Completion<Putting>
    ) {
        queue.async { [self] in
            do throws(SubscriptionFailure) {
                guard let space = tools.namespace(namespace) else { throw .noNamespace(namespace) }
                try check(definition, in: space)
            } catch {
                return completion(.failure(error))
            }
            guard let credential = definition.credential else {
                return put(definition, namespace, condition, completion)
            }
            tools.credential(credential, namespace) { [self] found in
                queue.async { [self] in
                    if let failure = failure(of: found, credential, definition.source.origins, namespace) {
                        return completion(.failure(failure))
                    }
                    put(definition, namespace, condition, completion)
                }
            }
        }
    }

    private func check(_ definition: Subscription, in space: Namespace) throws(SubscriptionFailure) {
        let origin = space.downloads.tools.origin
        for url in definition.source.urls {
            var request = OriginRequest(url: url)
            request.addressPolicy = space.options.addressPolicy
            guard let refusal = origin.foreseenRefusal(of: request) else { continue }
            throw .refused(url: url, reason: DownloadError(refusal).description)
        }
    }

    /// The answer waits for the lookup of the copies, so that its report has them.
    private func put(
        _ definition: Subscription, _ namespace: String, _ condition: Condition?,
        _ completion: @escaping Completion<Putting>
    ) {
        do throws(SubscriptionFailure) {
            let (record, isNew) = try keep(definition, namespace, condition)
            answer(completion, after: { $0.id == record.id }) { [self] () throws(SubscriptionFailure) in
                Putting(report: report(of: records[record.id] ?? record), isNew: isNew)
            }
        } catch {
            completion(.failure(error))
        }
    }

    /// Returns whether the subscription is new.
    private func keep(
        _ definition: Subscription, _ namespace: String, _ condition: Condition?
    ) throws(SubscriptionFailure) -> (SubscriptionRecord, isNew: Bool) {
        let store = try store()
        forgetRemoved()
        guard let space = tools.namespace(namespace) else { throw .noNamespace(namespace) }
        let isBeingRemoved = records.values.contains { $0.namespace == namespace && $0.endingSpace != nil }
        guard sealed[space.id] == nil, !isBeingRemoved else { throw .removing(namespace) }
        let old = record(definition.name, namespace)
        guard condition?(old != nil) ?? true else { throw .conditionFailed }
        guard old != nil || records.values.count(where: { $0.namespace == namespace }) < Self.limit else {
            throw .tooMany(limit: Self.limit)
        }
        let others = records.values.filter { $0.namespace == namespace && $0.id != old?.id }
        let bytes = others.reduce(definition.json.utf8.count) { $0 + $1.definitionBytes }
        guard bytes <= definitionLimit else { throw .tooLong(limit: definitionLimit) }
        let name = HolderName(namespace: namespace, name: definition.name)
        guard !releasing.contains(name), !records.values.contains(where: { $0.holder == name && $0.ending != nil })
        else { throw .ending(definition.name) }
        let now = tools.clock.now()
        // The new definition prevails over the saved state.
        if let old, let set = sets[old.id] { save(set, store) }
        do {
            let id = try store.put(definition, in: namespace, isNew: old == nil, now: now)
            var state = RefreshMachine.State(members: [], sourceDue: now, date: now)
            (state.isUrgent, state.isRedefined) = (true, true)
            let record = SubscriptionRecord(
                id: id, namespace: namespace, definition: definition, source: SourceState(state))
            if let old = records.updateValue(record, forKey: id) { step(.redefined, old.id) }
            if lives[id] == nil { lives[id] = RecordLife() }
            step(.turn(space: space.id), id)
            scheduleAdvance()
            if old == nil { publish(.subscriptionCreated, report(of: record)) }
            return (record, isNew: old == nil)
        } catch {
            throw SubscriptionFailure(error)
        }
    }

    /// The report of a subscription without a running set, such as one of which the cache cannot be read now.
    private func report(of definition: Subscription, _ namespace: String, _ now: Timestamp) -> SubscriptionReport {
        SubscriptionReport(
            name: definition.name, namespace: namespace, definition: definition, state: .pending,
            isRefreshing: true, generation: 0, wanted: 0, held: 0, missing: [], missingCount: 0, leftOut: 0,
            oldest: nil, nextRefresh: now, sourceProblem: nil)
    }

    /// The subscriptions behind a name, in the order of their names, and the last name of this page; `nil`: no page
    /// follows. An empty name comes before all others.
    package func list(
        in namespace: String, after name: String, limit: Int,
        completion: @escaping Completion<(reports: [SubscriptionReport], next: String?)>
    ) {
        reading(completion, after: { $0.namespace == namespace }) { [self] () throws(SubscriptionFailure) in
            let all = records.values.filter {
                $0.namespace == namespace && $0.ending == nil && $0.definition.name > name && space(of: $0) != nil
            }.sorted { $0.definition.name < $1.definition.name }
            let page = all.prefix(limit)
            return (page.map { report(of: $0) }, all.count > page.count ? page.last?.definition.name : nil)
        }
    }

    package func find(_ name: String, in namespace: String, completion: @escaping Completion<SubscriptionReport>) {
        reading(completion, after: named(name, namespace)) { [self] () throws(SubscriptionFailure) in
            report(of: try found(name, namespace))
        }
    }

    /// The wanted resources from a position on, in the order of the source, and the position of the next page; `nil`:
    /// this is the last page.
    package func items(
        of name: String, in namespace: String, from position: Int, limit: Int,
        completion: @escaping Completion<(items: [SubscriptionItem], next: Int?)>
    ) {
        reading(completion, after: named(name, namespace)) { [self] () throws(SubscriptionFailure) in
            let record = try found(name, namespace)
            guard let set = sets[record.id] else { return storedItems(of: record, from: position, limit: limit) }
            let items = set.items(after: position, limit: limit)
            let next = position + items.count
            return (items, next < set.machine.wanted.count ? next : nil)
        }
    }

    /// Asks for the source and all members as soon as their hosts have a turn.
    package func refresh(_ name: String, in namespace: String, completion: @escaping Completion<SubscriptionReport>) {
        reading(completion, after: named(name, namespace)) { [self] () throws(SubscriptionFailure) in
            var record = try found(name, namespace)
            if let set = sets[record.id] {
                handle(.refreshRequested, set)
            } else {
                // The set begins with this state.
                record.source.refresh.isUrgent = true
                record.source.refresh.sourceDue = min(record.source.refresh.sourceDue, tools.clock.now())
                do {
                    try store().save(record.id, record.source, changed: [], removed: [])
                } catch {
                    throw SubscriptionFailure(error)
                }
                records[record.id] = record
            }
            return report(of: record)
        }
    }

    /// Ends a subscription. `completion` gets the number of its copies, which stay as ordinary entries, or are removed
    /// unless another subscription holds them. Also releases the copies of a subscription that is no longer known.
    package func remove(
        _ name: String, in namespace: String, keepingCopies: Bool, condition: Condition? = nil,
        completion: @escaping Completion<Int>
    ) {
        queue.async { [self] in
            do {
                let store = try storeIfExists()
                forgetRemoved()
                guard let store, var record = record(name, namespace) else {
                    let holder = HolderName(namespace: namespace, name: name)
                    return removeOrphan(holder, keepingCopies: keepingCopies, condition, completion)
                }
                guard condition?(true) ?? true else { throw SubscriptionFailure.conditionFailed }
                let ending: SubscriptionRecord.Ending = keepingCopies ? .keepingCopies : .removingCopies
                try store.end(record.id, ending)
                record.ending = ending
                records[record.id] = record
                endings[record.id, default: []].append(completion)
                step(.endRequested, record.id)
            } catch {
                completion(.failure(SubscriptionFailure(error)))
            }
        }
    }

    // MARK: - Support

    private typealias Choice = @Sendable (SubscriptionRecord) -> Bool

    private func named(_ name: String, _ namespace: String) -> Choice {
        let holder = HolderName(namespace: namespace, name: name)
        return { $0.holder == holder }
    }

    private func reading<Value: Sendable>(
        _ completion: @escaping Completion<Value>, after choice: @escaping Choice,
        _ read: @escaping @Sendable () throws(SubscriptionFailure) -> Value
    ) {
        queue.async { [self] in
            do throws(SubscriptionFailure) {
                _ = try storeIfExists()
            } catch {
                return completion(.failure(error))
            }
            answer(completion, after: choice, read)
        }
    }

    /// Reads when the copies of the chosen subscriptions have been looked up, which takes a moment after a start and
    /// after a new definition.
    private func answer<Value: Sendable>(
        _ completion: @escaping Completion<Value>, after choice: @escaping Choice,
        _ read: @escaping @Sendable () throws(SubscriptionFailure) -> Value
    ) {
        let opening = records.values.first { choice($0) && lives[$0.id]?.isOpening == true }
        if let opening, case .open = phase {
            waitingCalls[opening.id, default: []].append { [self] in answer(completion, after: choice, read) }
            return
        }
        completion(
            Result { () throws(SubscriptionFailure) in
                _ = try storeIfExists()
                forgetRemoved()
                return try read()
            })
    }

    private func storedItems(
        of record: SubscriptionRecord, from position: Int, limit: Int
    ) -> (items: [SubscriptionItem], next: Int?) {
        let members = (members(of: record) ?? []).filter { $0.position >= 0 }
        let items = members.dropFirst(position).prefix(limit).map { record in
            SubscriptionItem(
                url: record.member.item.url, key: record.member.item.key, isHeld: record.member.hasCopy,
                confirmed: record.member.hasCopy ? record.confirmed : nil, problem: record.member.problem)
        }
        let next = position + items.count
        return (items, next < members.count ? next : nil)
    }

    private func record(_ name: String, _ namespace: String) -> SubscriptionRecord? {
        let name = HolderName(namespace: namespace, name: name)
        return records.values.first { $0.holder == name && $0.ending == nil && space(of: $0) != nil }
    }

    private func found(_ name: String, _ namespace: String) throws(SubscriptionFailure) -> SubscriptionRecord {
        guard let record = record(name, namespace) else { throw .noSubscription(name) }
        return record
    }

    private func report(of record: SubscriptionRecord) -> SubscriptionReport {
        sets[record.id]?.report ?? report(of: record.definition, record.namespace, record.source.refresh.sourceDue)
    }
}
