import DiskCache
import Feeds
import HTTPTypes
import Outbox
import Primitives
import Subscriptions

/// A running subscription: its machine, and the part of the next generation that has arrived. It belongs to the queue
/// of a ``SubscriptionService``.
///
/// `@unchecked Sendable` is safe because only the queue of the service accesses the state.
final class HeldSet: @unchecked Sendable {
    /// The secret fields, which each refresh reads again, so that it sends the present ones.
    enum Secrets {
        case unknown
        /// For the refresh of a number (``RefreshMachine/refreshNumber``).
        case loading(refresh: UInt64)
        case loaded(refresh: UInt64, Timestamp, Credential)
    }

    /// A request for a member.
    struct MemberTransfer {
        /// The number of its round.
        let ticket: UInt64
        let transfer: PendingTransfer
    }

    /// The place for the bodies of the next generation.
    enum Stage {
        case none
        case opening
        case open(GenerationStage)
    }

    let id: Int64
    let namespace: String
    let definition: Subscription
    /// ``Namespace/id`` of the namespace with the generation. Another version of the namespace has no generation yet.
    let spaceID: Int
    var machine: RefreshMachine
    /// The validators of the source's document, from which the present list comes.
    var validators: (etag: String?, lastModified: String?)
    /// When the source first listed its items that claim to be from the future.
    var futureDates: FutureDates
    /// The items of the last list without a URL that can be fetched.
    var leftOut: Int
    var stage = Stage.none {
        didSet { if case .none = stage { stagedBytes = StagedBytes() } }
    }
    /// Of the bodies for ``stage``.
    private(set) var stagedBytes = StagedBytes()
    /// The members that have answered since the last switch, for the next one.
    var settled: [String: GenerationMember] = [:]
    /// When the origin confirmed or sent the copies.
    var confirmed: [String: Timestamp]
    /// The number of the generation that readers see; 0 before the first one.
    var generation: Int64
    /// The list of the source, while its documents arrive.
    var reading: SourceReading?
    /// Whether a document of the source is being fetched or parsed.
    var isReadingDocument = false
    /// The request for a document, and its beginning.
    var documentTransfer: (transfer: PendingTransfer, start: Timestamp)?
    var secrets = Secrets.unknown
    /// The running requests for members, by numbers of the service.
    var memberTransfers: [UInt64: MemberTransfer] = [:]
    /// The origins of the URLs in the definition, which get its headers.
    let ownOrigins: Set<String>
    /// The records in the store.
    private var saved: [String: MemberRecord]
    private(set) var savedSource: SourceState?
    /// The keys of members of which the records may differ from those in the store; `nil`: all.
    private var unsaved: Set<String>?
    var isSaveScheduled = false

    /// `copies`: the dates of the copies in the generation, by their keys.
    init(
        _ record: SubscriptionRecord, spaceID: Int, members: [MemberRecord], copies: [String: Timestamp],
        generation: Int64, now: Timestamp
    ) {
        id = record.id
        namespace = record.namespace
        definition = record.definition
        self.spaceID = spaceID
        leftOut = record.source.leftOut
        validators = (record.source.etag, record.source.lastModified)
        futureDates = FutureDates(record.source.futureDates)
        self.generation = generation
        saved = Dictionary(uniqueKeysWithValues: members.map { ($0.member.item.key, $0) })
        // A state that was lost had the dates of its members.
        confirmed = saved.compactMapValues { $0.member.hasCopy ? $0.confirmed : nil }.merging(copies) { own, _ in own }
        var state = record.source.refresh
        state.members = members.filter { $0.position >= 0 }.map(\.member)
        state.leaving = members.filter { $0.position < 0 }.map(\.member)
        state.copies = Set(copies.keys).subtracting(saved.keys)
        machine = RefreshMachine(record.definition.rules, state, at: now)
        ownOrigins = record.definition.source.origins
    }

    var isCapture: Bool { if case .capture = definition.source { true } else { false } }

    /// The difference between the state and the store.
    struct Changes {
        var source: SourceState
        var changed: [MemberRecord]
        /// The keys of members that have left.
        var removed: [String] = []
    }

    /// Returns the changes since ``didSave(_:)``. A list that has not changed costs no look at each of its members.
    func unsavedChanges() -> Changes {
        if let keys = machine.takeChanges() { unsaved?.formUnion(keys) } else { unsaved = nil }
        var source = SourceState(machine.stateOfSource)
        (source.etag, source.lastModified) = validators
        (source.futureDates, source.leftOut) = (futureDates.firstListed, leftOut)
        guard let unsaved else {
            let records = self.records
            return Changes(
                source: source, changed: records.filter { saved[$0.key] != $0.value }.map(\.value),
                removed: saved.keys.filter { records[$0] == nil })
        }
        let changed = unsaved.compactMap { key -> MemberRecord? in
            guard let member = machine.storedMember(key), let old = saved[key] else { return nil }
            let record = MemberRecord(member: member, position: old.position, confirmed: confirmed[key])
            return record == old ? nil : record
        }
        return Changes(source: source, changed: changed)
    }

    /// Forgets the dates of members that have left, of which a feed has ever more.
    func forgetDates() {
        guard confirmed.count > machine.wanted.count else { return }
        confirmed = confirmed.filter { machine.members[$0.key] != nil }
    }

    /// The store has the changes.
    func didSave(_ changes: Changes) {
        for record in changes.changed { saved[record.member.item.key] = record }
        for key in changes.removed { saved[key] = nil }
        (savedSource, unsaved) = (changes.source, [])
    }

    /// The state of all members as the store should have it, by their keys.
    var records: [String: MemberRecord] {
        let state = machine.state
        var records: [String: MemberRecord] = [:]
        for (position, member) in state.members.enumerated() {
            let key = member.item.key
            records[key] = MemberRecord(member: member, position: position, confirmed: confirmed[key])
        }
        for member in state.leaving {
            let key = member.item.key
            records[key] = MemberRecord(member: member, position: -1, confirmed: confirmed[key])
        }
        return records
    }

    /// The request fields for a URL: the headers of the definition for the origins that it names itself, because a list
    /// can name any origin, and the secrets for the origins to which they are bound.
    func fields(for url: String) -> HTTPFields {
        var fields = HTTPFields()
        guard let origin = (try? CanonicalURL(url))?.origin else { return fields }
        if ownOrigins.contains(origin) {
            for header in definition.headers { fields.append(header.name, header.value) }
        }
        if case .loaded(_, _, let credential) = secrets {
            for field in credential.fields(for: origin) { fields.append(field.name, field.value) }
        }
        return fields
    }

    /// Cancels the requests for members that belong to another round than the running one. Their answers would have no
    /// effect, and they keep the turns of their hosts.
    func cancelOldRequests() {
        for request in memberTransfers.values where request.ticket != machine.round?.ticket {
            request.transfer.cancel()
        }
    }

    func cancelAllRequests() {
        for request in memberTransfers.values { request.transfer.cancel() }
        documentTransfer?.transfer.cancel()
    }

    // MARK: - Reports

    var report: SubscriptionReport {
        let missing = machine.missing
        let held = machine.wanted.count - missing.count
        let state: SubscriptionReport.State =
            if machine.noRoomSince != nil {
                .noRoom
            } else if generation == 0 {
                .pending
            } else {
                missing.isEmpty ? .complete : .incomplete
            }
        return SubscriptionReport(
            name: definition.name, namespace: namespace, definition: definition, state: state,
            isRefreshing: machine.round != nil || reading != nil || machine.isUrgent, generation: generation,
            wanted: machine.wanted.count, held: held,
            missing: missing.prefix(SubscriptionReport.missingLimit).map {
                .init(url: $0.item.url, reason: $0.problem?.reason, since: $0.problem?.since)
            },
            missingCount: missing.count, leftOut: leftOut,
            oldest: machine.wanted.compactMap { machine.members[$0]?.hasCopy == true ? confirmed[$0] : nil }.min(),
            nextRefresh: max(machine.sourceDue, machine.lookDate ?? machine.sourceDue),
            sourceProblem: machine.problem)
    }

    func items(after position: Int, limit: Int) -> [SubscriptionItem] {
        machine.wanted.dropFirst(position).prefix(limit).compactMap { key in
            machine.members[key].map { member in
                SubscriptionItem(
                    url: member.item.url, key: key, isHeld: member.hasCopy,
                    confirmed: member.hasCopy ? confirmed[key] : nil, problem: member.problem)
            }
        }
    }
}

extension HTTPFields {
    fileprivate mutating func append(_ name: String, _ value: String) {
        guard let name = HTTPField.Name(name) else { return }
        append(HTTPField(name: name, value: value))
    }
}
