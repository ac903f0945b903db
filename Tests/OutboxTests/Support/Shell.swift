import Primitives
import TestSupport

@testable import Outbox

/// A shell of the machine without a network: rows in a dictionary, which survive ``kill()``, and requests that wait
/// until the test answers them.
final class Shell {
    var machine: OutboxMachine
    private let flightLimit: Int
    var rows: [Change.ID: Change] = [:]
    var now = Timestamp(seconds: 1_800_000_000)
    var random: SplitMix64
    var reads: [ReadOrder] = []
    var sends: [SendOrder] = []
    var published: [ChangeSummary] = []
    var dropped: [Change.ID] = []
    /// The removed versions that did not show the effects of changes.
    var removals: [RemovalOrder] = []
    var refusals: [Refusal] = []
    var merges: [MergeOrder] = []
    /// By namespace and origin.
    var pauses: [[String]: HostPause] = [:]
    var wake: Timestamp?
    /// Whether the store fails.
    var isDiskFull = false
    /// Whether the store has no room for the bodies of the origin's versions.
    var dropsTheirs = false
    /// Whether the store works only in ``serveStore(obeys:)``, so that other events come in between.
    var isStoreSlow = false
    /// Whether merges end only in ``releaseMerges()``.
    var holdsMerges = false
    private var heldMerges: [OutboxEvent] = []
    /// The orders to the store that it has not begun.
    private(set) var storeOrders: [OutboxAction] = []
    /// The reports of the store that the machine has not seen.
    private(set) var storeReports: [OutboxEvent] = []
    private(set) var credentialVersion = 0
    /// The versions of the credential with which the requests of a flight were made.
    private(set) var usedCredentials: [Flight: Int] = [:]
    var willRead: (ReadOrder) -> Void = { _ in }
    var willRemove: (RemovalOrder) -> Void = { _ in }
    /// Whether the cache fails to remove versions.
    var failsRemovals = false
    var willCommit: ([Change]) -> Void = { _ in }
    var didPublish: (ChangeSummary) -> Void = { _ in }
    /// The state that the store last committed when a request was ordered.
    var stateWhenSent: [ChangeState] = []
    private var nextID: Change.ID = 1

    init(seed: UInt64 = 1, flightLimit: Int = 64) {
        self.flightLimit = flightLimit
        machine = OutboxMachine(flightLimit: flightLimit)
        random = SplitMix64(seed: seed)
    }

    @discardableResult
    func accept(_ draft: ChangeDraft) -> Change.ID {
        let change = Change(id: nextID, draft: draft, created: now)
        nextID += 1
        rows[change.id] = change
        step(.accepted(change.summary))
        return change.id
    }

    func step(_ event: OutboxEvent) {
        var events = [event]
        while !events.isEmpty {
            for action in machine.step(events.removeFirst(), now: now, random: &random) {
                if let answer = perform(action) { events.append(answer) }
            }
        }
    }

    var hasStoreWork: Bool { !storeOrders.isEmpty || !storeReports.isEmpty }

    /// Obeys the oldest order, or reports the oldest result.
    func serveStore(obeys: Bool = true) {
        if obeys, !storeOrders.isEmpty {
            if let report = obey(storeOrders.removeFirst()) { storeReports.append(report) }
        } else if !storeReports.isEmpty {
            step(storeReports.removeFirst())
        }
    }

    func drainStore() {
        while hasStoreWork { serveStore(obeys: storeReports.isEmpty) }
    }

    private func obey(_ order: OutboxAction) -> OutboxEvent? {
        switch order {
        case .load(let id): return .loaded(id, rows[id])
        case .commit(let changes):
            if isDiskFull { return .commitFailed(changes.map(\.id)) }
            willCommit(changes)
            for change in changes {
                rows[change.id] = change
                if dropsTheirs { rows[change.id]!.theirs?.body = nil }
            }
            return .committed(changes.map(\.id))
        default: return nil
        }
    }

    func releaseMerges() {
        holdsMerges = false
        while !heldMerges.isEmpty { step(heldMerges.removeFirst()) }
    }

    /// Stores a new version of the credential, as ``OutboxStore`` does it.
    func setCredential(_ name: String = "work", namespace: String = "n") {
        credentialVersion += 1
        for (id, row) in rows where row.state == .blocked && row.draft.credential == name {
            guard row.draft.namespace == namespace else { continue }
            rows[id]!.state = .pending
            rows[id]!.nextAttempt = nil
        }
        let event = OutboxEvent.credentialChanged(namespace: namespace, name: name)
        if isStoreSlow { storeReports.append(event) } else { step(event) }
    }

    private func perform(_ action: OutboxAction) -> OutboxEvent? {
        switch action {
        case .load, .commit:
            if !isStoreSlow { return obey(action) }
            storeOrders.append(action)
        case .read(let order):
            usedCredentials[order.flight] = credentialVersion
            willRead(order)
            reads.append(order)
        case .merge(let order):
            merges.append(order)
            let event = OutboxEvent.merged(order.flight, FlatObject.merge(order))
            if !holdsMerges { return event }
            heldMerges.append(event)
        case .send(let order):
            usedCredentials[order.flight] = credentialVersion
            stateWhenSent.append(rows[order.flight.change]!.state)
            sends.append(order)
        case .wake(let date): wake = date
        case .publish(let summary):
            published.append(summary)
            didPublish(summary)
        case .removeVersion(let order):
            if failsRemovals { return .versionNotRemoved(order.flight) }
            willRemove(order)
            removals.append(order)
            return .versionRemoved(order.flight)
        case .dropFromView(let summary): dropped.append(summary.id)
        case .noteRewrite(let note):
            for (id, row) in rows where id > note.after && row.draft.base.version?.digest == note.sent {
                rows[id]!.rewrittenBase = note.stored
            }
        case .notePause(let pause): pauses[[pause.namespace, pause.origin]] = pause
        case .refuse(_, let refusal): refusals.append(refusal)
        }
        return nil
    }

    /// Ends the process without notice, and starts the next one.
    func kill() {
        machine = OutboxMachine(flightLimit: flightLimit)
        reads = []
        sends = []
        storeOrders = []
        storeReports = []
        wake = nil
        let summaries = rows.values.filter { !$0.state.isEnded }.map(\.summary)
        step(.restarted(summaries, pauses: Array(pauses.values)))
    }

    /// Moves the clock to the date that the machine waits for.
    func sleep() {
        guard let wake else { return }
        now = max(now, wake)
        step(.timer)
    }

    // MARK: - Answers

    /// Answers the oldest GET. The resource was last changed long ago unless `modified` is given.
    func read(
        _ status: Int, _ body: String = "", etag: String? = "\"1\"", modified: Timestamp? = nil,
        isStored: Bool = true, location: String? = nil
    ) {
        let order = reads.removeFirst()
        let bytes = Array(body.utf8)
        let mark = ReadMark(
            etag: etag, lastModified: modified ?? now - .seconds(3600), date: now, digest: BodyDigest(of: bytes),
            received: now)
        let target = location.flatMap { try? CanonicalURL($0) }
        let answer = ReadAnswer(
            status: status, body: bytes, mark: mark, isStored: isStored && status == 200, location: target)
        step(.readAnswered(order.flight, answer))
    }

    /// Answers the oldest request of a change.
    func answer(_ status: Int, etag: String? = nil, location: String? = nil, retryAfter: Duration? = nil) throws {
        let order = sends.removeFirst()
        let answer = SendAnswer(
            status: status, etag: etag, location: try location.map { try CanonicalURL($0) }, retryAfter: retryAfter)
        step(.sendAnswered(order.flight, answer))
    }

    func loseAnswer() { step(.sendFailed(sends.removeFirst().flight, .unknown)) }

    func state(_ id: Change.ID) -> ChangeState { rows[id]!.state }
    func problem(_ id: Change.ID) -> ChangeProblem.Kind? { rows[id]!.problem?.kind }
}

extension ChangeDraft {
    /// A PUT to a resource that its author saw as `base` under the tag `"1"`; `nil`: the author saw no resource.
    static func put(
        _ ours: String, on base: String?, at url: String = "https://origin.example/a", etag: String? = "\"1\""
    ) throws -> ChangeDraft {
        let version = base.map {
            ResourceVersion(body: Array($0.utf8), validator: etag.flatMap(Validator.init(strong:)))
        }
        return ChangeDraft(
            namespace: "n", caller: "c", target: try .sample(url), method: "PUT", edit: .replace,
            ours: Array(ours.utf8), base: version.map(Base.version) ?? .absent)
    }

    static func delete(
        _ base: String, at url: String = "https://origin.example/a", etag: String? = "\"1\""
    ) throws -> ChangeDraft {
        var draft = try put("", on: base, at: url, etag: etag)
        draft.method = "DELETE"
        draft.edit = .delete
        draft.ours = nil
        return draft
    }

    static func post(_ body: String, key: String? = nil, at url: String = "https://origin.example/p") throws
        -> ChangeDraft
    {
        var draft = try put(body, on: nil, at: url)
        draft.method = "POST"
        draft.edit = .post
        draft.base = .blind
        draft.callerKey = key.map { CallerKey($0, payload: BodyDigest(of: Array(body.utf8))) }
        return draft
    }

    func with(_ change: (inout ChangeDraft) -> Void) -> ChangeDraft {
        var copy = self
        change(&copy)
        return copy
    }
}

extension ChangeTarget {
    static func sample(_ text: String) throws -> ChangeTarget {
        let url = try CanonicalURL(text)
        return ChangeTarget(url, key: url.string)
    }
}
