import DiskCache
import Dispatch
import Synchronization

/// Settles a change: each namespace gets its quota as soon as the space is free, and retired namespaces are removed.
extension NamespaceTable {
    private static let patience = DispatchTimeInterval.seconds(2)
    /// The first and the longest pause between two calls of `settle(round:pause:)`, in milliseconds.
    private static let (firstPause, lastPause) = (10, 1000)

    /// Calls `completion` when a namespace has its whole quota, or after two seconds. Runs on `queue`.
    func whenSettled(_ namespace: Namespace, _ completion: @escaping @Sendable () -> Void) {
        let (id, deadline) = (namespace.id, DispatchTime.now() + Self.patience)
        let isStopped = state.withLock { state in
            if !state.isStopped { state.waiting.append((id, deadline, completion)) }
            return state.isStopped
        }
        if isStopped { return completion() }
        settle()
    }

    /// Runs on `queue`.
    func settle() {
        shareMemory()
        settle(round: rounds.add(1, ordering: .relaxed).newValue, pause: Self.firstPause)
    }

    private func settle(round: Int, pause: Int) {
        // Stops if a later change has begun its own rounds.
        guard rounds.load(ordering: .relaxed) == round, !state.withLock(\.isStopped) else { return }
        for namespace in state.withLock(\.retired) {
            if namespace.step() { remove(namespace) }
        }
        let short = shareDisk()
        let (ready, isDone) = state.withLock { state in
            let now = DispatchTime.now()
            let ready = state.waiting.filter { !short.contains($0.id) || $0.deadline <= now }
            state.waiting.removeAll { !short.contains($0.id) || $0.deadline <= now }
            return (ready, short.isEmpty && state.retired.isEmpty)
        }
        for waiter in ready { waiter.completion() }
        if isDone { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(pause)) { [self] in
            settle(round: round, pause: min(2 * pause, Self.lastPause))
        }
    }

    /// Grants as much disk space as is free. Returns the namespaces with less than their quota, by ``Namespace/id``.
    private func shareDisk() -> Set<Int> {
        let (registry, running, retired, old) = state.withLock { ($0.registry, $0.running, $0.retired, $0.grants) }
        let quotas = Self.quotas(of: registry, tools).disk
        var grants = old
        var (shares, taken): ([Int: Int64], [Int: Int64]) = ([:], [:])
        for (name, namespace) in running {
            shares[namespace.id] = quotas[name] ?? 0
            taken[namespace.id] = namespace.cache.takenDiskBytes.all
        }
        let isComplete = grants.update(quotas: shares, taken: taken, retired: retired.reduce(0) { $0 + $1.diskBytes })
        state.withLock { $0.grants = grants }
        for namespace in running.values {
            let share = grants.granted[namespace.id] ?? 0
            if namespace.cache.diskLimit != share { namespace.cache.setDiskLimit(share) }
        }
        return isComplete ? [] : Set(shares.filter { (grants.granted[$0.key] ?? 0) < $0.value }.keys)
    }

    func shareMemory() {
        let (registry, running, retired) = state.withLock { ($0.registry, $0.running, $0.retired) }
        let quotas = Self.quotas(of: registry, tools)
        memory.share(
            running.map { MemoryKeeper.Share(cache: $1.cache, bytes: Int(quotas.memory[$0] ?? 0)) },
            emptying: retired.compactMap(\.cache))
    }

    private func remove(_ namespace: RetiredNamespace) {
        namespace.isBeingRemoved = true
        removals.async { [self] in
            let isGone = tools.directory.remove(namespace.place) { !state.withLock(\.isStopped) }
            if !isGone, !state.withLock(\.isStopped), !namespace.wasReported {
                namespace.wasReported = true
                tools.logger.warning(
                    "the directory of a removed or cleared namespace cannot be removed",
                    metadata: ["directory": "\(namespace.place.name)"])
            }
            queue.async { [self] in
                namespace.isBeingRemoved = false
                if isGone {
                    forget(namespace.place)
                    state.withLock { state in
                        state.endedHits += namespace.hitsAtHand()
                        state.retired.removeAll { $0 === namespace }
                    }
                    settle()
                }
            }
        }
    }

    func removeLeftovers(_ places: Set<NamespaceDirectory>) {
        removals.async { [self] in
            for place in places where tools.directory.remove(place, while: { !state.withLock(\.isStopped) }) {
                tools.logger.info("an unused namespace directory was removed", metadata: ["directory": "\(place.name)"])
                queue.async { [self] in forget(place) }
            }
        }
    }

    /// Forgets an unused directory that no longer exists. The next change of the file records this. Runs on `queue`.
    func forget(_ place: NamespaceDirectory) {
        state.withLock { state in state.registry.forgetUnused { $0 == place } }
    }
}
