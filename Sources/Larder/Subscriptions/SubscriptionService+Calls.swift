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
    /// not exist, and more subscriptions than a namespace may have.
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
                return completion(
                    Result { () throws(SubscriptionFailure) in try put(definition, namespace, condition) })
            }
            tools.credential(credential, namespace) { [self] found in
                queue.async { [self] in
                    guard found != nil else { return completion(.failure(.noCredential(credential))) }
                    completion(Result { () throws(SubscriptionFailure) in try put(definition, namespace, condition) })
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

    private func put(
        _ definition: Subscription, _ namespace: String, _ condition: Condition?
    ) throws(SubscriptionFailure) -> Putting {
        let store = try store()
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
        if let old, let set = sets[old.id] {
            save(set, store)
            abandon(set)
        }
        do {
            let id = try store.put(definition, in: namespace, now: now)
            var state = RefreshMachine.State(members: [], sourceDue: now, date: now)
            (state.isUrgent, state.isRedefined) = (true, true)
            records[id] = SubscriptionRecord(
                id: id, namespace: namespace, definition: definition, source: SourceState(state))
        } catch {
            throw SubscriptionFailure(error)
        }
        scheduleAdvance()
        return Putting(report: report(of: definition, namespace, now), isNew: old == nil)
    }

    /// Breaks a set off. Its generation stays.
    private func abandon(_ set: HeldSet) {
        if case .open(let stage) = set.stage { stage.abandon() }
        set.stage = .none
        sets[set.id] = nil
        metrics.forget(set.id)
    }

    /// The report of a subscription that has just been put, and has not been opened.
    private func report(of definition: Subscription, _ namespace: String, _ now: Timestamp) -> SubscriptionReport {
        SubscriptionReport(
            name: definition.name, namespace: namespace, definition: definition, state: .pending,
            isRefreshing: true, generation: 0, wanted: 0, held: 0, missing: [], missingCount: 0, oldest: nil,
            nextRefresh: now, sourceProblem: nil)
    }

    /// The subscriptions behind a name, in the order of their names, and the last name of this page; `nil`: no page
    /// follows. An empty name comes before all others.
    package func list(
        in namespace: String, after name: String, limit: Int,
        completion: @escaping Completion<(reports: [SubscriptionReport], next: String?)>
    ) {
        reading(completion) { [self] () throws(SubscriptionFailure) in
            let all = records.values.filter {
                $0.namespace == namespace && $0.ending == nil && $0.definition.name > name
            }.sorted { $0.definition.name < $1.definition.name }
            let page = all.prefix(limit)
            return (page.map { report(of: $0) }, all.count > page.count ? page.last?.definition.name : nil)
        }
    }

    package func find(_ name: String, in namespace: String, completion: @escaping Completion<SubscriptionReport>) {
        reading(completion) { [self] () throws(SubscriptionFailure) in report(of: try found(name, namespace)) }
    }

    /// The wanted resources from a position on, in the order of the source, and the position of the next page; `nil`:
    /// this is the last page.
    package func items(
        of name: String, in namespace: String, from position: Int, limit: Int,
        completion: @escaping Completion<(items: [SubscriptionItem], next: Int?)>
    ) {
        reading(completion) { [self] () throws(SubscriptionFailure) in
            let record = try found(name, namespace)
            guard let set = sets[record.id] else { return ([], nil) }
            let items = set.items(after: position, limit: limit)
            let next = position + items.count
            return (items, next < set.machine.wanted.count ? next : nil)
        }
    }

    /// Asks for the source and all members as soon as their hosts have a turn.
    package func refresh(_ name: String, in namespace: String, completion: @escaping Completion<SubscriptionReport>) {
        reading(completion) { [self] () throws(SubscriptionFailure) in
            let record = try found(name, namespace)
            if let set = sets[record.id] { handle(.refreshRequested, set) }
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
                guard let store = try storeIfExists(), var record = record(name, namespace) else {
                    let holder = HolderName(namespace: namespace, name: name)
                    return removeOrphan(holder, keepingCopies: keepingCopies, condition, completion)
                }
                guard condition?(true) ?? true else { throw SubscriptionFailure.conditionFailed }
                let ending: SubscriptionRecord.Ending = keepingCopies ? .keepingCopies : .removingCopies
                try store.end(record.id, ending)
                record.ending = ending
                records[record.id] = record
                if let set = sets[record.id] { abandon(set) }
                endings[record.id, default: []].append(completion)
                scheduleAdvance()
            } catch {
                completion(.failure(SubscriptionFailure(error)))
            }
        }
    }

    /// Removes the subscriptions of a namespace that was removed with its entries.
    package func discard(_ namespace: String, completion: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            defer { completion() }
            guard let store = try? storeIfExists() else { return }
            for record in records.values where record.namespace == namespace {
                sets[record.id] = nil
                records[record.id] = nil
                metrics.forget(record.id)
                for waiter in endings.removeValue(forKey: record.id) ?? [] { waiter(.success(0)) }
                do {
                    try store.remove(record.id)
                } catch {
                    warn("a subscription cannot be removed", record, "\(error)")
                }
            }
        }
    }

    // MARK: - Support

    private func reading<Value: Sendable>(
        _ completion: @escaping Completion<Value>,
        _ read: @escaping @Sendable () throws(SubscriptionFailure) -> Value
    ) {
        queue.async { [self] in
            completion(
                Result { () throws(SubscriptionFailure) in
                    _ = try storeIfExists()
                    return try read()
                })
        }
    }

    private func record(_ name: String, _ namespace: String) -> SubscriptionRecord? {
        let name = HolderName(namespace: namespace, name: name)
        return records.values.first { $0.holder == name && $0.ending == nil }
    }

    private func found(_ name: String, _ namespace: String) throws(SubscriptionFailure) -> SubscriptionRecord {
        guard let record = record(name, namespace) else { throw .noSubscription(name) }
        return record
    }

    private func report(of record: SubscriptionRecord) -> SubscriptionReport {
        sets[record.id]?.report ?? report(of: record.definition, record.namespace, record.source.refresh.sourceDue)
    }
}

extension SubscriptionSource {
    /// The URLs in the definition.
    fileprivate var urls: [String] {
        switch self {
        case .urls(let urls), .capture(let urls): urls
        case .feed(let url, _), .sitemap(let url), .pages(let url, _, _): [url]
        }
    }
}
