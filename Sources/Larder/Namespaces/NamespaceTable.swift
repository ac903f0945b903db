// Invariants of this table, in its other files, too
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
    let file: NamespaceRegistryFile
    /// For those that ask with each hit.
    let currentDefault = Atomic<Int>(0)

    /// Opens those that are written down, and the default one. Directories that the registry has numbered and no
    /// namespace uses, as a kill leaves them behind, are removed in the background; a directory that it never named
    /// stays. Throws ``NamespaceError/cache(_:)``, ``NamespaceError/registry(reason:)`` and
    /// ``NamespaceError/registryRefused(_:)``.
    init(tools: Namespace.Tools, memory: MemoryKeeper) throws(NamespaceError) {
        self.tools = tools
        self.memory = memory
        file = NamespaceRegistryFile(in: tools.directory)
        do {
            let places = try tools.directory.namespaceDirectories()
            let registry = try file.load(beside: places)
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
            removeLeftovers(registry.unused)
            reportUnknown(places.filter { !registry.places.contains($0) && !registry.unused.contains($0) })
        } catch let error as DiskCacheError {
            throw .cache(error)
        } catch let error as NamespaceError {
            throw error
        } catch {
            throw .registry(reason: "\(error)")
        }
    }

    /// The directories of the namespaces that are written down in a cache directory, for those who look at them while
    /// no server runs. Of those that a kill has left behind nothing is known. Throws ``DiskCacheError``, and
    /// ``NamespaceError/registryRefused(_:)`` where a server would not start.
    public static func places(in directory: CacheDirectory) throws -> [NamespaceDirectory] {
        let places = try directory.namespaceDirectories()
        let known = try NamespaceRegistryFile(in: directory).read(beside: places)?.places
        return places.filter { known?.contains($0) ?? true }
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

    /// The one with that ``Namespace/id``; `nil` when there is none (any more).
    public func find(id: Int) -> Namespace? {
        if id == defaultID {
            let space = `default`
            if space.id == id { return space }
        }
        return state.withLock { state in state.running.values.first { $0.id == id } }
    }

    /// All of them, by name.
    public var all: [Namespace] { state.withLock { Array($0.running.values) }.sorted { $0.name < $1.name } }

    /// How many hits were answered at hand, in all of them and in those that there were.
    public var hitsAtHand: Int {
        state.withLock { state in
            state.endedHits + state.running.values.reduce(0) { $0 + $1.cache.hitsAtHand }
                + state.retired.reduce(0) { $0 + $1.hitsAtHand() }
        }
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
