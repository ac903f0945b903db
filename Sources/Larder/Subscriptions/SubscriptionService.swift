// Invariants of `SubscriptionService`, including its other files
//
// - The store, the sets and all other mutable state belong to `queue`. Answers of origins, results of the cache and
//   calls of the API are passed to `queue`, which never waits for an origin, a cache or a caller.
// - A result that arrives after its set has ended or begun anew finds another object in `sets`, and has no effect.
// - Each request to an origin has a turn of `pacer`, and gives the turn back at its end.

import DiskCache
import Dispatch
import Logging
import Origin
import Outbox
import Primitives
import StateDatabase
import Subscriptions
import Synchronization

/// Keeps sets of resources in the cache ahead of any request, also after a restart; the shell around
/// ``RefreshMachine``s.
///
///     let subscriptions = SubscriptionService(directory: "/var/lib/larder", …)
///     subscriptions.start()
///     subscriptions.put(definition, in: "default") { result in … }
///
/// The database is opened by ``start()`` if it exists, and created by the first subscription.
///
/// `@unchecked Sendable` is safe because the mutable state is accessed only on `queue`.
package final class SubscriptionService: @unchecked Sendable {
    package typealias Completion<Value> = @Sendable (Result<Value, SubscriptionFailure>) -> Void

    /// The parts of the server that the subscriptions use.
    struct Tools: Sendable {
        /// `nil`: the server has no state directory.
        let directory: String?
        let entryLimit: Int64
        let clock: any WallClock
        let events: EventHub
        let logger: Logger
        /// Returns all running namespaces.
        let namespaces: @Sendable () -> [Namespace]
        /// Returns a running namespace; `nil`: there is no such namespace.
        let namespace: @Sendable (String) -> Namespace?
        /// Looks a stored credential of a namespace up, on any thread.
        let credential:
            @Sendable (_ name: String, _ namespace: String, _ then: @escaping @Sendable (CredentialLookup) -> Void)
                -> Void
    }

    enum Phase {
        /// The database has not been opened.
        case closed
        case open(SubscriptionStore)
        case stopped
    }

    let tools: Tools
    package let metrics = SubscriptionMetrics()
    package let health = StateHealth()
    let queue = DispatchQueue(label: "larder.subscriptions")
    /// Parses documents of sources, and selects the items, which takes long for long lists.
    static let parsing = DispatchQueue(label: "larder.subscriptions.parse", qos: .utility)
    /// The most subscriptions of a namespace.
    static let limit = 1000
    /// The most bytes of the definitions of a namespace together. A test may change the limit.
    var definitionLimit = 64 << 20
    /// The most resources that the subscriptions of a namespace hold together. A test may change the limit.
    var resourceLimit = 500_000
    /// The most documents that wait for ``parsing``. Meanwhile no source is asked for another one.
    static let waitingDocumentLimit = 32
    /// The memory for the documents that are being received, wait or are parsed. Short documents always have a place.
    let documentMemory = SharedAllowance(limit: 256 << 20, floor: 256 << 10)

    // The state below is accessed only on `queue`.
    var phase = Phase.closed
    var sets: [Int64: HeldSet] = [:]
    /// All subscriptions, also those of which the namespace is missing.
    var records: [Int64: SubscriptionRecord] = [:]
    /// The phases of the subscriptions in ``records``.
    var lives: [Int64: RecordLife] = [:]
    /// The calls that wait for the end of a lookup.
    var waitingCalls: [Int64: [@Sendable () -> Void]] = [:]
    /// The lost subscriptions of which the copies are being looked up or released.
    var releasing: Set<HolderName> = []
    /// The numbers of the removals that run, by the numbers of their namespaces.
    var sealed: [Int: Int] = [:]
    /// The marks in the store of removals that did not happen.
    var marksToForget: Set<NamespaceMark> = []
    /// The callers that wait for the end of a subscription.
    var endings: [Int64: [@Sendable (Result<Int, SubscriptionFailure>) -> Void]] = [:]
    var pacer = HostPacer()
    /// The number of hosts above which the pacer forgets hosts again, because this takes a time for each host.
    private var pacedHostLimit = 1000
    var memberRequestCount = 0
    /// The most requests for members at the same time, over all subscriptions, because the client also serves callers.
    /// Their downloads must not wait behind a list over many hosts.
    var memberRequestLimit = 64
    /// The number of the last request for a member.
    var lastTransfer: UInt64 = 0
    /// The documents and lists that wait for ``parsing`` or are parsed.
    var waitingDocuments = 0
    /// The pauses in the store.
    var savedPauses: [HostPacer.PausedHost: Timestamp] = [:]
    private var isAdvanceScheduled = false
    private let alarm: WallClockAlarm

    init(_ tools: Tools) {
        self.tools = tools
        alarm = WallClockAlarm(tools.clock, queue: queue)
    }

    /// Goes on with the subscriptions of an earlier process, if there are any, and looks for the copies of lost ones. A
    /// failure is logged, and the next call tries again, because a damaged database must not keep the cache from
    /// starting.
    package func start() {
        queue.async { [self] in
            do throws(SubscriptionFailure) {
                _ = try storeIfExists()
                reportOrphans()
            } catch {
                tools.logger.error("the subscriptions cannot be opened", metadata: ["reason": "\(error)"])
            }
        }
    }

    /// Ends all work and closes the database. Blocks until this is done. Later calls fail with
    /// ``SubscriptionFailure/stopping``.
    package func stop() {
        queue.sync {
            guard case .open(let store) = phase else { return phase = .stopped }
            for set in sets.values { save(set, store) }
            for set in sets.values { set.cancelAllRequests() }
            sets = [:]
            phase = .stopped
            store.close()
            let calls = waitingCalls.values.flatMap(\.self)
            waitingCalls = [:]
            for call in calls { call() }
            for waiter in endings.values.flatMap(\.self) { waiter(.failure(.stopping)) }
            endings = [:]
        }
    }

    /// Writes the log of the database into its file. A failure is logged.
    package func maintain() {
        queue.async { [self] in
            guard case .open(let store) = phase else { return }
            do {
                try store.checkpoint()
            } catch {
                tools.logger.warning("the upkeep of the subscriptions failed", metadata: ["reason": "\(error)"])
            }
        }
    }

    /// Looks at the clock now, not when the timer ends. A test that turns the clock calls this.
    func clockChanged() {
        queue.async { [self] in advance() }
    }

    /// A namespace was removed or has a new version.
    package func namespaceChanged() {
        queue.async { [self] in scheduleAdvance() }
    }

    // MARK: - The database, on `queue`

    func store() throws(SubscriptionFailure) -> SubscriptionStore {
        switch phase {
        case .open(let store): return store
        case .stopped: throw .stopping
        case .closed: break
        }
        guard let directory = tools.directory else { throw .noDirectory }
        do {
            let store = try SubscriptionStore(directory: directory, health: health)
            let now = tools.clock.now()
            if let pauses = try store.pauses() {
                pacer = HostPacer(pauses: pauses.ends, savedAt: pauses.saved, at: now)
            }
            savedPauses = pacer.allPauses(at: now)
            for record in try store.all() {
                records[record.id] = record
                lives[record.id] = RecordLife(isEnding: record.ending != nil)
            }
            if !records.isEmpty { pacer.restarted(at: now) }
            phase = .open(store)
            forgetUndoneRemovals(store)
            // Calls then wait for the sets.
            settleSets()
            scheduleAdvance()
            return store
        } catch {
            throw SubscriptionFailure(error)
        }
    }

    /// Returns `nil` when there is no database yet, which a call that only reads does not create.
    func storeIfExists() throws(SubscriptionFailure) -> SubscriptionStore? {
        if case .closed = phase {
            guard let directory = tools.directory, SubscriptionStore.exists(in: directory) else { return nil }
        }
        return try store()
    }

    /// Writes the changes of a set into the store. A failure is logged; the changes are tried again with the next ones.
    func save(_ set: HeldSet, _ store: SubscriptionStore) {
        metrics.note(set.report, of: set.id)
        let changes = set.unsavedChanges()
        guard !changes.changed.isEmpty || !changes.removed.isEmpty || changes.source != set.savedSource else { return }
        do {
            try store.save(set.id, changes.source, changed: changes.changed, removed: changes.removed)
            set.didSave(changes)
            records[set.id]?.source = changes.source
        } catch {
            tools.logger.warning(
                "the state of a subscription cannot be stored",
                metadata: ["subscription": "\(set.definition.name)", "reason": "\(error)"])
        }
    }

    /// Saves the set within a second, together with further changes.
    func scheduleSave(_ set: HeldSet) {
        guard !set.isSaveScheduled else { return }
        set.isSaveScheduled = true
        queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in
            set.isSaveScheduled = false
            guard let self, sets[set.id] === set, case .open(let store) = phase else { return }
            save(set, store)
        }
    }

    // MARK: - Time, on `queue`

    /// Calls ``advance()`` once after the work that runs now.
    func scheduleAdvance() {
        guard !isAdvanceScheduled else { return }
        isAdvanceScheduled = true
        queue.async { [self] in
            isAdvanceScheduled = false
            advance()
        }
    }

    /// Begins all work that is due, and sets the timer for the next.
    private func advance() {
        guard case .open(let store) = phase else { return }
        let now = tools.clock.now()
        settleSets()
        pacer.observe(now)
        if pacer.count > pacedHostLimit {
            pacer.forget(at: now)
            pacedHostLimit = max(2 * pacer.count, 1000)
        }
        var next: Timestamp?
        // Another order each time, so that no subscription always takes the turn of a host.
        for set in sets.values.shuffled() {
            guard let date = advance(set, store, at: now) else { continue }
            next = min(next ?? date, date)
        }
        for host in pacer.endTurn(at: now) {
            for set in sets.values { set.machine.freeHost(host) }
            scheduleAdvance()
        }
        alarm.set(next ?? .distantFuture) { [weak self] in self?.advance() }
    }
}

extension SubscriptionFailure {
    init(_ error: any Error) {
        switch error {
        case let error as SubscriptionFailure: self = error
        case StateError.noSpace: self = .state(.noSpace)
        default: self = .state(.other("\(error)"))
        }
    }
}
