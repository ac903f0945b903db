// Invariants of this type, including its other files
//
// - Every namespace in `running` is in the registry, and the registry is on disk. Only then Larder acknowledges the
//   namespace and serves requests for it.
// - Changes run one after another on `queue`. No change blocks `queue` to wait for space or for requests. A look-up
//   takes only the lock.
// - Space is granted to a namespace only after another namespace has given it up; see ``DiskGrants``.

import DiskCache
import Dispatch
import Primitives
import Synchronization

/// The namespaces of the service: finds, creates, changes and removes them, and begins them anew.
package final class NamespaceTable: Sendable {
    struct State {
        var registry: NamespaceRegistry
        var running: [String: Namespace]
        var retired: [RetiredNamespace] = []
        var grants: DiskGrants
        /// Changes that wait for the whole quota of a namespace, by its id.
        var waiting: [(id: Int, deadline: DispatchTime, completion: @Sendable () -> Void)] = []
        /// The hits that ready answers served in namespaces that have ended.
        var endedHits = 0
        var isStopped = false
    }

    package enum Outcome: Hashable, Sendable {
        case made
        case changed
        case unchanged
        /// The namespace is empty now; it had `entries` entries.
        case begunAnew(entries: Int64)

        /// Whether the namespace now begins, without entries of an earlier one or an earlier version.
        package var isBeginning: Bool {
            switch self {
            case .made, .begunAnew: true
            case .changed, .unchanged: false
            }
        }
    }

    let tools: Namespace.Tools
    let memory: MemoryKeeper
    let state: Locked<State>
    let queue = DispatchQueue(label: "larder.namespaces")
    /// The queue for the removal of directories, which is slow.
    let removals = DispatchQueue(label: "larder.removals", qos: .utility)
    /// The number of calls of ``settle()``. Only the rounds of the last call go on.
    let rounds = Atomic<Int>(0)
    let file: NamespaceRegistryFile
    /// The id of the default namespace. Atomic, because each hit reads it and must take no lock.
    let currentDefault = Atomic<Int>(0)

    /// Opens the namespaces in the registry and the default namespace. Removes, in the background, directories that the
    /// registry has numbered but no namespace uses, such as after a kill. Other directories stay.
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
                    running[name] = try Namespace(name, record, quotas, tools: tools)
                }
            } catch {
                for namespace in running.values { namespace.cache.close() }
                throw error
            }
            let grants = DiskGrants(
                granted: Dictionary(uniqueKeysWithValues: running.values.map { ($0.id, quotas.disk[$0.name] ?? 0) }))
            state = Locked(State(registry: registry, running: running, grants: grants))
            currentDefault.store(running[NamespaceName.default]!.id, ordering: .relaxed)
            shareMemory()
            removeLeftovers(registry.unused)
            // The directories stay, because Larder does not know their content.
            for place in places where !registry.places.contains(place) && !registry.unused.contains(place) {
                tools.logger.warning(
                    "a directory with an index belongs to no namespace and stays; move it away, or remove it",
                    metadata: ["directory": "\(place.name)"])
            }
        } catch let error as DiskCacheError {
            throw .cache(error)
        } catch let error as NamespaceError {
            throw error
        } catch {
            throw .registry(reason: "\(error)")
        }
    }

    /// Returns the registry's directories, or all without a registry. Needs a stopped server. Throws as a start does.
    package static func places(in directory: CacheDirectory) throws -> [NamespaceDirectory] {
        let places = try directory.namespaceDirectories()
        let known = try NamespaceRegistryFile(in: directory).read(beside: places)?.places
        return places.filter { known?.contains($0) ?? true }
    }

    package var `default`: Namespace {
        // The registry always contains the default namespace.
        state.withLock { $0.running[NamespaceName.default]! }
    }

    package var defaultID: Int { currentDefault.load(ordering: .relaxed) }

    package func find(_ name: String) -> Namespace? { state.withLock { $0.running[name] } }

    /// The namespace with an ``Namespace/id``; `nil` when it does not exist or has ended.
    package func find(id: Int) -> Namespace? {
        if id == defaultID {
            let space = `default`
            if space.id == id { return space }
        }
        return state.withLock { state in state.running.values.first { $0.id == id } }
    }

    /// Sorted by name.
    package var all: [Namespace] { state.withLock { Array($0.running.values) }.sorted { $0.name < $1.name } }

    /// The hits that ready answers served in all current and former namespaces.
    package var hitsAtHand: Int {
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

    /// Refuses new requests and changes, and ends the running requests.
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

    /// Closes all caches. Blocks until they are closed.
    func close() {
        // Waits for removals in progress. The caches of their directories are closed already.
        removals.sync {}
        let (running, retired) = state.withLock { ($0.running, $0.retired) }
        for namespace in running.values { namespace.cache.close() }
        for namespace in retired { namespace.cache?.close() }
    }
}
