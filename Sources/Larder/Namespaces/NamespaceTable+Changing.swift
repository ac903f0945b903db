import DiskCache
import Primitives
import Synchronization

/// All changes run on `queue`.
extension NamespaceTable {
    /// The most retired namespaces with one name that may be in use at a time. Each of them holds open files.
    private static let retiredLimit = 4

    /// Creates a namespace, or changes its settings. Another version begins the namespace anew: later requests find it
    /// empty. Running downloads and stores still answer their waiters, but their results are not kept.
    ///
    /// `condition` is called at the instant of the change; `false` means ``NamespaceError/conditionFailed``.
    /// `completion` is called after the change is durable, when the namespace has its quota or two seconds have passed.
    package func put(
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

    /// Removes a namespace; `completion` gets the number of its entries. The condition is as with
    /// ``put(_:_:by:condition:completion:)``, but not called when no namespace has this name.
    package func remove(
        _ name: String, by authority: NamespaceAuthority, condition: (@Sendable (_ exists: Bool) -> Bool)? = nil,
        completion: @escaping @Sendable (Result<Int64, NamespaceError>) -> Void
    ) {
        queue.async { [self] in
            let result = Result { () throws(NamespaceError) in
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
        let isAnew = try registry.put(name, change, layout: tools.configuration.layout, limit: tools.namespaceLimit)
        guard let record = registry.records[name] else { throw .unknown(name) }
        if registry == before, let current { return (current, .unchanged) }
        try NamespaceQuotas.check(
            registry.settings, was: before.settings, for: name, diskLimit: Int64(tools.configuration.diskLimit),
            memoryLimit: Int64(tools.configuration.memoryLimit))
        let quotas = Self.quotas(of: registry, tools)
        try checkPinned(quotas, beginningAnew: isAnew ? name : nil)
        if isAnew, current != nil {
            let count = state.withLock { state in state.retired.count { $0.place.namespace == name } }
            if count >= Self.retiredLimit { throw .busy }
        }
        if isAnew, let place = registry.place(of: name) { try announce(place) }
        let opened = isAnew ? try open(name, record, quotas) : nil
        do {
            try file.save(registry)
        } catch {
            if let opened {
                opened.cache.close()
                if tools.directory.remove(opened.place) { forget(opened.place) }
            }
            throw error
        }
        let entries = current?.cache.totals.entries ?? 0
        switchTo(registry, name, opened ?? current)
        guard let namespace = opened ?? current else { throw .unknown(name) }
        let hasOtherAnswers = namespace.options.contentCaching != (record.settings.contentCaching ?? .revalidate)
        namespace.options.settings = record.settings
        // Ready answers, and answers that are just being made ready, state the old `contentCaching`. Drops them all.
        if hasOtherAnswers { namespace.cache.trimMemory(toBytes: 0) }
        if name == NamespaceName.default { currentDefault.store(namespace.id, ordering: .relaxed) }
        return (namespace, old == nil ? .made : isAnew ? .begunAnew(entries: entries) : .changed)
    }

    /// Returns the registry and the running namespace. Throws ``NamespaceError/stopping`` after ``stop()``.
    private func unlessStopped(_ name: String) throws(NamespaceError) -> (NamespaceRegistry, Namespace?) {
        let (registry, namespace, isStopped) = state.withLock { ($0.registry, $0.running[name], $0.isStopped) }
        if isStopped { throw .stopping }
        return (registry, namespace)
    }

    /// Throws when a namespace would get less space than its pinned entries use, because pinned entries are never
    /// evicted. A namespace that is begun anew (`anew`) is not checked, because none of its entries stay.
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
            let namespace = try Namespace(name, record, quotas, tools: tools)
            // The limit stays 0 until other namespaces have given up their space.
            namespace.cache.setDiskLimit(0)
            return namespace
        } catch {
            throw .cache(error)
        }
    }

    private func announce(_ place: NamespaceDirectory) throws(NamespaceError) {
        var registry = state.withLock(\.registry)
        registry.announce(place)
        try file.save(registry)
        state.withLock { $0.registry = registry }
    }

    /// Makes a name refer to `namespace`, or to no namespace when it is `nil`. The previous namespace is retired.
    private func switchTo(_ registry: NamespaceRegistry, _ name: String, _ namespace: Namespace?) {
        let old = state.withLock { $0.running[name] }
        let retired = old.flatMap { $0 === namespace ? nil : RetiredNamespace($0) }
        // These calls come before any event of the new namespace.
        if retired != nil, let old {
            old.events.end(with: old.cache.totals.entries)
            old.cache.countAllAsPurged()
        }
        // The update is a single step, so that hits and space are counted exactly once.
        state.withLock { state in
            state.registry = registry
            state.running[name] = namespace
            if let retired { state.retired.append(retired) }
        }
    }
}
