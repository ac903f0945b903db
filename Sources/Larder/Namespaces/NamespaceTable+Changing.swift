import DiskCache
import Dispatch
import Primitives
import Synchronization

/// Namespaces are made, changed, begun anew, removed; each of it on `queue`.
extension NamespaceTable {
    /// How many of a name may have ended and still be in use: each holds files.
    private static let retiredLimit = 4

    /// Makes a namespace, or changes what is chosen of it. With another version it is begun anew: whoever asks from
    /// then on finds it empty, and what was being fetched or stored answers who waits for it and is not kept.
    ///
    /// - Parameters:
    ///   - authority: of who asks.
    ///   - condition: is told whether the namespace is there, at the instant of the change; when it returns `false`
    ///     nothing is changed, and `completion` gets ``NamespaceError/conditionFailed``. `nil`: none.
    ///   - completion: called once it is so, after a restart too, and has the room that it is to have; or after two
    ///     seconds, when others still have to give that up.
    public func put(
        _ name: String, _ change: NamespaceChange, by authority: NamespaceAuthority,
        condition: (@Sendable (_ exists: Bool) -> Bool)? = nil,
        completion: @escaping @Sendable (Result<(Namespace, Outcome), NamespaceError>) -> Void
    ) {
        queue.async { [self] in
            do throws(NamespaceError) {
                let (namespace, outcome) = try put(name, change, authority, condition)
                if outcome == .unchanged { return completion(.success((namespace, outcome))) }
                whenSettled(namespace) { completion(.success((namespace, outcome))) }
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Removes a namespace with all that is in it; never the default one.
    ///
    /// - Parameters:
    ///   - authority: of who asks.
    ///   - condition: see ``put(_:_:by:condition:completion:)``; it is not asked where there is no such namespace.
    ///   - completion: gets how many entries it had.
    public func remove(
        _ name: String, by authority: NamespaceAuthority, condition: (@Sendable (_ exists: Bool) -> Bool)? = nil,
        completion: @escaping @Sendable (Result<Int64, NamespaceError>) -> Void
    ) {
        queue.async { [self] in
            let result = Result { () throws(NamespaceError) in try remove(name, authority, condition) }
            completion(result)
            settle()
        }
    }

    private func put(
        _ name: String, _ change: NamespaceChange, _ authority: NamespaceAuthority,
        _ condition: (@Sendable (_ exists: Bool) -> Bool)?
    ) throws(NamespaceError) -> (Namespace, Outcome) {
        let (before, current) = try unlessStopped(name)
        let old = before.records[name]
        let needed = change.authority(over: old?.settings)
        if authority < needed { throw .notAllowed(needed) }
        if let condition, !condition(old != nil) { throw .conditionFailed }
        var registry = before
        let isAnew = try registry.put(
            name, change, layout: tools.configuration.layout, limit: tools.namespaceLimit)
        guard let record = registry.records[name] else { throw .unknown(name) }
        if registry == before, let current { return (current, .unchanged) }
        try NamespaceQuotas.check(
            registry.settings, was: before.settings, for: name, diskLimit: Int64(tools.configuration.diskLimit),
            memoryLimit: Int64(tools.configuration.memoryLimit))
        let quotas = Self.quotas(of: registry, tools)
        try checkPinned(quotas, beginningAnew: isAnew ? name : nil)
        if isAnew, current != nil { try checkRetired(name) }
        if isAnew, let place = registry.place(of: name) { try announce(place) }
        let opened = isAnew ? try open(name, record, quotas) : nil
        do {
            try file.save(registry)
        } catch {
            if let opened { discard(opened) }
            throw error
        }
        let entries = current?.cache.totals.entries ?? 0
        switchTo(registry, name, opened ?? current)
        guard let namespace = opened ?? current else { throw .unknown(name) }
        let hasOtherAnswers = namespace.options.contentCaching != (record.settings.contentCaching ?? .revalidate)
        namespace.options.settings = record.settings
        // Answers that are kept ready say it as it was. They go with the entries that they were made of; an answer that
        // is being made of such an entry is not kept any more.
        if hasOtherAnswers { namespace.cache.trimMemory(toBytes: 0) }
        if name == LarderService.defaultNamespace { currentDefault.store(namespace.id, ordering: .relaxed) }
        return (namespace, old == nil ? .made : isAnew ? .begunAnew(entries: entries) : .changed)
    }

    private func remove(
        _ name: String, _ authority: NamespaceAuthority, _ condition: (@Sendable (_ exists: Bool) -> Bool)?
    ) throws(NamespaceError) -> Int64 {
        if authority < .operator { throw .notAllowed(.operator) }
        let (before, current) = try unlessStopped(name)
        var registry = before
        try registry.remove(name)
        if let condition, !condition(true) { throw .conditionFailed }
        try file.save(registry)
        let entries = current?.cache.totals.entries ?? 0
        switchTo(registry, name, nil)
        return entries
    }

    /// What is written down, and the namespace of that name as it runs.
    private func unlessStopped(_ name: String) throws(NamespaceError) -> (NamespaceRegistry, Namespace?) {
        let (registry, namespace, isStopped) = state.withLock { ($0.registry, $0.running[name], $0.isStopped) }
        if isStopped { throw .stopping }
        return (registry, namespace)
    }

    private func checkRetired(_ name: String) throws(NamespaceError) {
        let count = state.withLock { state in state.retired.count { $0.place.namespace == name } }
        if count >= Self.retiredLimit { throw .busy }
    }

    /// Throws when one is to have less than what is pinned in it: that never goes.
    ///
    /// - Parameter anew: of that one nothing stays in any case.
    private func checkPinned(_ quotas: NamespaceQuotas, beginningAnew anew: String?) throws(NamespaceError) {
        for (name, namespace) in state.withLock({ $0.running }) where name != anew {
            guard let quota = quotas.disk[name], quota < namespace.cache.diskLimit else { continue }
            if namespace.cache.takenDiskBytes.pinned > quota { throw .pinned(namespace: name) }
        }
    }

    private func open(
        _ name: String, _ record: NamespaceRegistry.Record, _ quotas: NamespaceQuotas
    ) throws(NamespaceError) -> Namespace {
        do {
            let namespace = try Namespace(
                name, record, diskLimit: quotas.disk[name] ?? 0, memoryLimit: quotas.memory[name] ?? 0, tools: tools)
            // Until others have given it up.
            namespace.cache.setDiskLimit(0)
            return namespace
        } catch {
            throw .cache(error)
        }
    }

    /// Writes down that a directory is about to be made; see ``NamespaceRegistry/announce(_:)``.
    private func announce(_ place: NamespaceDirectory) throws(NamespaceError) {
        var registry = state.withLock(\.registry)
        registry.announce(place)
        try file.save(registry)
        state.withLock { $0.registry = registry }
    }

    /// From now on a name finds this one, or none. What it found before ends.
    private func switchTo(_ registry: NamespaceRegistry, _ name: String, _ namespace: Namespace?) {
        let old = state.withLock { $0.running[name] }
        let retired = old.flatMap { $0 === namespace ? nil : RetiredNamespace($0) }
        // Before anybody is told of what is in the new one.
        if retired != nil, let old {
            old.events.end(with: old.cache.totals.entries)
            old.cache.countAllAsPurged()
        }
        // In one step: nothing is counted twice, or not at all.
        state.withLock { state in
            state.registry = registry
            state.running[name] = namespace
            if let retired { state.retired.append(retired) }
        }
    }

    /// It was opened, and nobody has seen it.
    private func discard(_ namespace: Namespace) {
        namespace.cache.close()
        if tools.directory.remove(namespace.place) { forget(namespace.place) }
    }
}
