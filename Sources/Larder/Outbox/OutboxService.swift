// Invariants of `OutboxService`, including its other files
//
// - The store, the machine and all other mutable state belong to `queue`. Answers of origins and calls of the API are
//   passed to `queue`, which never waits for an origin or a caller, and reads no body of the cache. Drafts, views and
//   merges are made on other queues.
// - The actions of one event are performed before the next event is taken. `queue` takes calls between events, so the
//   store may be ahead of the machine, as if the store were slow.
// - A caller's decision is answered when the machine publishes or refuses it, and not before. So an answer shows a
//   durable state, also if a merge has to come first. A decision that is under way at `stop` fails.
// - After `stop`, no event reaches the machine. A request under way leaves its change `sending`, and the next start
//   finds out about its outcome.

import Dispatch
import HTTPTypes
import Logging
import Origin
import Outbox
import Primitives
import StateDatabase
import Synchronization

/// Sends callers' changes to origins, also after a restart; the shell around an ``OutboxMachine``.
///
///     let outbox = OutboxService(directory: "/var/lib/larder", …)
///     outbox.start()
///     outbox.accept(ChangeRequest(url: url, content: .body(body, type: "text/plain")), in: "notes", by: "token-7") {
///         result in …
///     }
///
/// The database is opened by ``start()`` if it exists, and created by the first change or credential.
///
/// `@unchecked Sendable` is safe because the mutable state is accessed only on `queue`.
package final class OutboxService: @unchecked Sendable {
    package typealias Completion<Value> = @Sendable (Result<Value, OutboxFailure>) -> Void

    /// The parts of the server that the outbox uses.
    struct Tools: Sendable {
        /// `nil`: the server has no state directory.
        let directory: String?
        /// The configuration of the outbox's own client. Requests of changes never wait for downloads.
        let origin: OriginConfiguration
        /// The most bytes of an answer that the cache stores.
        let entryLimit: Int64
        let clock: any WallClock
        let events: EventHub
        let logger: Logger
        var limits = OutboxLimits()
        /// The keys with changes that readers see, which the services of the namespaces share.
        var pending = PendingKeys()
        /// Returns the services of a namespace; `nil`: there is no such namespace.
        let namespace: @Sendable (String) -> FetchTools?
        /// Returns the version of a namespace; `nil`: there is no such namespace, or it has no version.
        let version: @Sendable (String) -> String?
    }

    struct Transfer {
        let namespace: String
        let transfer: OriginTransfer

        init(_ namespace: String, _ transfer: OriginTransfer) {
            (self.namespace, self.transfer) = (namespace, transfer)
        }
    }

    enum Phase {
        /// The database has not been opened.
        case closed
        case open(OutboxStore, OriginClient)
        case stopped
    }

    let tools: Tools
    package let metrics = OutboxMetrics()
    package let health = StateHealth()
    let queue = DispatchQueue(label: "larder.outbox")
    /// Makes the drafts of changes, one after another. Long patches then delay only other new changes.
    let drafts = DispatchQueue(label: "larder.outbox.drafts")
    /// Makes bodies with pending changes, which may take a while.
    let viewQueue = DispatchQueue(label: "larder.outbox.view")
    /// Computes the merges of long bodies, which must not delay other lanes.
    let merges = DispatchQueue(label: "larder.outbox.merges", qos: .utility, attributes: .concurrent)
    let pendingBodies = Locked(PendingBodies())

    // The state below is accessed only on `queue`.
    var phase = Phase.closed
    /// The last failure of the opening by a damaged file. A file is read completely when it is opened, so calls do not
    /// try it again each time.
    private var damage: (found: Timestamp, failure: OutboxFailure)?
    private static let damagePause: Duration = .seconds(10)
    private var machine: OutboxMachine
    private var random: any RandomNumberGenerator & Sendable
    private var inputs: [Input] = []
    /// Whether the machine takes `inputs` now, or after the calls that wait for `queue`.
    private var isBusy = false
    /// The transfers under way. A redirect replaces the transfer of its flight.
    var transfers: [Flight: Transfer] = [:]
    /// The versions in caches that have failed to make them stale, for ``maintain()``.
    var freshVersions: Set<FreshVersion> = []
    /// The namespaces that are being removed, begun anew or created, each with the number of such calls.
    var sealed: [String: Int] = [:]
    /// The namespaces with changes and credentials that cannot be discarded yet, because the database fails. A discard
    /// alone takes a namespace out of the set.
    var undiscarded: Set<String> = []
    /// The namespaces that are being created without the changes that wait for them.
    var beingCreated: Set<String> = []
    /// The decisions that the machine has begun, by the first change of each.
    var deciders: [Change.ID: Decider] = [:]
    var credentialObserver: (@Sendable (_ name: String, _ namespace: String) -> Void)?
    let alarm: WallClockAlarm

    /// The time for which all changes of a namespace for an origin wait; `nil`: they do not.
    func wait(for origin: String, in namespace: String) -> OriginWait? {
        machine.wait(for: origin, in: namespace, tools.clock.now())
    }

    init(_ tools: Tools, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) {
        self.tools = tools
        self.random = random
        machine = OutboxMachine(limits: tools.limits, flightLimit: tools.origin.maxTransfers)
        alarm = WallClockAlarm(tools.clock, queue: queue)
        tools.pending.observe { [weak self] version in self?.noteStored(version) }
        if let directory = tools.directory, OutboxStore.exists(in: directory) { tools.pending.wait() }
    }

    /// Goes on with the changes of an earlier process, if there are any. A failure is logged, and the next call tries
    /// again, because a damaged outbox must not keep the cache from starting.
    package func start() {
        queue.async { [self] in
            do throws(OutboxFailure) {
                _ = try storeIfExists()
            } catch {
                tools.logger.error("the outbox cannot be opened", metadata: ["reason": "\(error)"])
                // Readers get the versions in the cache.
                tools.pending.begin(with: [])
            }
        }
    }

    /// Breaks off all requests and closes the database. Blocks until this is done. Later calls fail with
    /// ``OutboxFailure/stopping``.
    package func stop() {
        let open = queue.sync {
            defer { phase = .stopped }
            return phase
        }
        guard case .open(let store, let client) = open else { return }
        queue.sync { failDecisions() }
        client.shutDown()
        queue.sync { store.close() }
    }

    /// Removes old ended changes, and the rows of removed namespaces that could not be removed at once. Makes versions
    /// stale that caches have failed to make stale. Writes the log of the database into its file.
    package func maintain() {
        queue.async { [self] in
            guard case .open(let store, _) = phase else { return }
            endDiscards(store)
            outdateFreshVersions()
            do {
                try store.prune(now: tools.clock.now())
                try store.checkpoint()
            } catch {
                tools.logger.warning("the upkeep of the outbox failed", metadata: ["reason": "\(error)"])
            }
        }
    }

    /// Looks at the clock now, not when the timer ends. A test that turns the clock calls this.
    func clockChanged() {
        queue.async { [self] in handle(.timer) }
    }

    // MARK: - The database, on `queue`

    /// Opens or creates the database.
    func store() throws(OutboxFailure) -> OutboxStore {
        switch phase {
        case .open(let store, _): return store
        case .stopped: throw .stopping
        case .closed: break
        }
        guard let directory = tools.directory else { throw .noDirectory }
        let now = tools.clock.now()
        if let damage, damage.found <= now, now < damage.found + Self.damagePause { throw damage.failure }
        let store: OutboxStore
        do {
            store = try OutboxStore(directory: directory, limits: tools.limits, health: health)
            endDiscards(store)
            let pauses = try store.pauses()
            let unended = try store.unended().filter { !undiscarded.contains($0.namespace) }
            phase = .open(store, OriginClient(configuration: tools.origin))
            show(unended)
            metrics.begin(with: unended)
            handle(.restarted(unended, pauses: pauses))
        } catch {
            if case .state(.damaged) = error { damage = (now, .outbox(error)) }
            throw .outbox(error)
        }
        return store
    }

    /// Returns `nil` when there is no database yet, which a call that only reads does not create.
    func storeIfExists() throws(OutboxFailure) -> OutboxStore? {
        if case .closed = phase {
            guard let directory = tools.directory, OutboxStore.exists(in: directory) else { return nil }
        }
        return try store()
    }

    // MARK: - Events, on `queue`

    private struct Input {
        let event: OutboxEvent
        /// The caller of a decision; `nil` for any other event.
        let decider: Decider?
    }

    /// The most events until `queue` takes calls that wait. Each event writes to the disk at most once or twice, and
    /// thousands of changes may expire at one date.
    private static let eventsInRow = 16

    func handle(_ event: OutboxEvent, for decider: Decider? = nil) {
        inputs.append(Input(event: event, decider: decider))
        guard !isBusy else { return }
        isBusy = true
        takeInputs()
    }

    private func takeInputs() {
        for _ in 0..<Self.eventsInRow where !inputs.isEmpty {
            guard case .open(let store, let client) = phase else {
                failDecisions()
                break
            }
            let input = inputs.removeFirst()
            if let decider = input.decider, !begin(decider) { continue }
            if let flight = input.event.answered { transfers[flight] = nil }
            let actions = machine.step(input.event, now: tools.clock.now(), random: &random)
            tools.pending.ticket = machine.ticket
            for action in actions { perform(action, store, client) }
        }
        guard !inputs.isEmpty else {
            isBusy = false
            return
        }
        queue.async { [self] in takeInputs() }
    }

    /// Tells the machine that the store has removed the changes of a namespace. Events that it has not taken may be
    /// about them, and must cause no further request.
    func handleDiscard(of namespace: String) {
        inputs.removeAll { input in
            if case .accepted(let summary) = input.event { summary.namespace == namespace } else { false }
        }
        inputs.insert(Input(event: .discarded(namespace: namespace), decider: nil), at: 0)
        guard !isBusy else { return }
        isBusy = true
        takeInputs()
    }

    /// Answers the callers of all decisions that can have no effect any more.
    private func failDecisions() {
        let waiting = inputs.compactMap(\.decider) + deciders.values
        (inputs, deciders) = ([], [:])
        for decider in waiting { decider.completion(.failure(.stopping)) }
    }

    /// The confirmations so far.
    var ticket: UInt64 { machine.ticket }

    /// Passes an event from another thread to the machine.
    func report(_ event: OutboxEvent) {
        queue.async { [self] in handle(event) }
    }
}

extension OutboxEvent {
    /// The flight with a request that has ended.
    fileprivate var answered: Flight? {
        switch self {
        case .readAnswered(let flight, _), .readFailed(let flight), .sendAnswered(let flight, _),
            .sendFailed(let flight, _), .originRefused(let flight), .credentialMissing(let flight),
            .credentialUnreadable(let flight), .namespaceMissing(let flight):
            flight
        case .accepted, .restarted, .timer, .loaded, .loadFailed, .committed, .commitFailed, .merged, .versionRemoved,
            .versionNotRemoved, .namespaceFound, .stored, .credentialChanged, .cancel, .retry, .resolve, .squash,
            .discarded:
            nil
        }
    }
}
