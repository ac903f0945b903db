// Invariants of this file
//
// - What is in `running` is in the registry, and the registry is on disk: a name is acknowledged after that, and serves
//   after that.
// - Changes are made one after another, on `queue`, and none of them waits there for room or for requests; whoever
//   looks something up takes the lock alone.
// - What is given to one was given up by another before; see ``DiskGrants``.

import DiskCache
import Dispatch
import Foundation
import Primitives
import Synchronization

/// The namespaces that there are: found by name, made, changed, begun anew, removed.
public final class NamespaceTable: Sendable {
    struct State {
        var registry: NamespaceRegistry
        var running: [String: Namespace]
        var retired: [RetiredNamespace] = []
        var grants: DiskGrants
        var waiting: [Waiting] = []
        /// The hits at hand of those that have ended.
        var endedHits = 0
        var isStopped = false
    }

    /// Somebody who waits until a namespace has what it is to have.
    struct Waiting: Sendable {
        let id: Int
        /// Until when at the most.
        let deadline: DispatchTime
        let completion: @Sendable () -> Void
    }

    /// What ``put(_:_:by:completion:)`` did.
    public enum Outcome: Hashable, Sendable {
        case made
        case changed
        case unchanged
        /// And so many entries are gone.
        case begunAnew(entries: Int64)
    }

    let tools: Namespace.Tools
    let memory: MemoryKeeper
    let state: Locked<State>
    let queue = DispatchQueue(label: "larder.namespaces")
    /// What takes long: directories go.
    let removals = DispatchQueue(label: "larder.removals", qos: .utility)
    /// How many times ``settle()`` was asked for; only the last goes on.
    let rounds = Atomic<Int>(0)
    private let file: NamespaceRegistryFile
    /// For those that ask with each hit.
    private let currentDefault = Atomic<Int>(0)

    /// How many of a name may have ended and still be in use: each holds files.
    private static let retiredLimit = 4

    /// Opens those that are written down, and the default one. Directories of others, which a kill has left behind, are
    /// removed in the background. Throws ``NamespaceError/cache(_:)`` and ``NamespaceError/registry(reason:)``.
    init(tools: Namespace.Tools, memory: MemoryKeeper) throws(NamespaceError) {
        self.tools = tools
        self.memory = memory
        file = NamespaceRegistryFile(in: tools.directory)
        do {
            let places = try tools.directory.namespaceDirectories()
            let registry = try file.load(beside: places, now: tools.clock.now(), logger: tools.logger)
            let quotas = Self.quotas(of: registry, tools)
            var running: [String: Namespace] = [:]
            do {
                for (name, record) in registry.records {
                    running[name] = try Namespace(
                        name, record, diskLimit: quotas.disk[name] ?? 0, memoryLimit: quotas.memory[name] ?? 0,
                        tools: tools)
                }
            } catch {
                for namespace in running.values { namespace.cache.close() }
                throw error
            }
            let grants = DiskGrants(
                Dictionary(uniqueKeysWithValues: running.values.map { ($0.id, quotas.disk[$0.name] ?? 0) }))
            state = Locked(State(registry: registry, running: running, grants: grants))
            currentDefault.store(running[LarderService.defaultNamespace]!.id, ordering: .relaxed)
            shareMemory()
            removeLeftovers(places.filter { !registry.places.contains($0) && $0.isLarders })
        } catch let error as DiskCacheError {
            throw .cache(error)
        } catch let error as NamespaceError {
            throw error
        } catch {
            throw .registry(reason: "\(error)")
        }
    }

    /// The directories of the namespaces that are written down in a cache directory, for those who look at them while
    /// no server runs. Of those that a kill has left behind nothing is known. Throws when the file cannot be read.
    public static func places(in directory: CacheDirectory) throws -> [NamespaceDirectory] {
        let known = try NamespaceRegistryFile(in: directory).read()?.places
        return try directory.namespaceDirectories().filter { known?.contains($0) ?? ($0.generation == 0) }
    }

    // MARK: - Looking

    /// The one that a request without a name means.
    public var `default`: Namespace {
        // It is in the registry, always.
        state.withLock { $0.running[LarderService.defaultNamespace]! }
    }

    /// The ``Namespace/id`` of ``default``.
    public var defaultID: Int { currentDefault.load(ordering: .relaxed) }

    /// The one of that name; `nil` when there is none.
    public func find(_ name: String) -> Namespace? { state.withLock { $0.running[name] } }

    /// All of them, by name.
    public var all: [Namespace] { state.withLock { Array($0.running.values) }.sorted { $0.name < $1.name } }

    /// How many hits were answered at hand, in all of them and in those that there were.
    public var hitsAtHand: Int {
        state.withLock { state in
            state.endedHits + state.running.values.reduce(0) { $0 + $1.cache.hitsAtHand }
                + state.retired.reduce(0) { $0 + $1.hitsAtHand() }
        }
    }

    // MARK: - Changing

    /// Makes a namespace, or changes what is chosen of it. With another version it is begun anew: whoever asks from
    /// then on finds it empty, and what was being fetched or stored answers who waits for it and is not kept.
    ///
    /// - Parameters:
    ///   - authority: of who asks.
    ///   - completion: called once it is so, after a restart too, and has the room that it is to have; or after two
    ///     seconds, when others still have to give that up.
    public func put(
        _ name: String, _ change: NamespaceChange, by authority: NamespaceAuthority,
        completion: @escaping @Sendable (Result<(Namespace, Outcome), NamespaceError>) -> Void
    ) {
        queue.async { [self] in
            do throws(NamespaceError) {
                let (namespace, outcome) = try put(name, change, authority)
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
    ///   - completion: gets how many entries it had.
    public func remove(
        _ name: String, by authority: NamespaceAuthority,
        completion: @escaping @Sendable (Result<Int64, NamespaceError>) -> Void
    ) {
        queue.async { [self] in
            let result = Result { () throws(NamespaceError) in try remove(name, authority) }
            completion(result)
            settle()
        }
    }

    private func put(
        _ name: String, _ change: NamespaceChange, _ authority: NamespaceAuthority
    ) throws(NamespaceError) -> (Namespace, Outcome) {
        let (before, current) = try unlessStopped(name)
        let old = before.records[name]
        let needed = change.authority(over: old?.settings)
        if authority < needed { throw .notAllowed(needed) }
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
        namespace.options.settings = record.settings
        if name == LarderService.defaultNamespace { currentDefault.store(namespace.id, ordering: .relaxed) }
        return (namespace, old == nil ? .made : isAnew ? .begunAnew(entries: entries) : .changed)
    }

    private func remove(_ name: String, _ authority: NamespaceAuthority) throws(NamespaceError) -> Int64 {
        if authority < .operator { throw .notAllowed(.operator) }
        let (before, current) = try unlessStopped(name)
        var registry = before
        try registry.remove(name)
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

    /// From now on a name finds this one, or none. What it found before ends.
    private func switchTo(_ registry: NamespaceRegistry, _ name: String, _ namespace: Namespace?) {
        let old = state.withLock { $0.running[name] }
        let retired = old.flatMap { $0 === namespace ? nil : RetiredNamespace($0) }
        // Before anybody is told of what is in the new one.
        if retired != nil, let old { old.events.end(with: old.cache.totals.entries) }
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
        _ = tools.directory.remove(namespace.place)
    }

    static func quotas(of registry: NamespaceRegistry, _ tools: Namespace.Tools) -> NamespaceQuotas {
        NamespaceQuotas(
            registry.settings, diskLimit: Int64(tools.configuration.diskLimit),
            memoryLimit: Int64(tools.configuration.memoryLimit))
    }

    // MARK: - The end

    /// Refuses what is asked from now on, and ends what runs.
    func stop() {
        let waiting = state.withLock { state in
            state.isStopped = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.completion() }
        queue.sync {}
        let (running, retired) = state.withLock { ($0.running, $0.retired) }
        for namespace in running.values { namespace.stop() }
        for namespace in retired { namespace.stop() }
    }

    /// Closes all of them. Blocks.
    func close() {
        // What is being removed there is closed already.
        removals.sync {}
        let (running, retired) = state.withLock { ($0.running, $0.retired) }
        for namespace in running.values { namespace.cache.close() }
        for namespace in retired { namespace.cache?.close() }
    }
}

extension NamespaceDirectory {
    /// Whether nobody else can have made it: a number is given by the table alone.
    fileprivate var isLarders: Bool { generation > 0 || namespace == LarderService.defaultNamespace }
}
