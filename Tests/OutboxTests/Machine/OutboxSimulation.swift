import Primitives
import TestSupport

@testable import Outbox

/// A random history of authors, a rival writer, an origin with faults, a credential that expires, kills, full disks,
/// and a store that in half of the histories answers only after other events. ``problems`` lists the broken promises.
///
/// Every write sets one field to a value that occurs once in the whole history, so the log of effects tells which edit
/// was applied, how often, and over which value.
final class OutboxSimulation {
    struct Authored {
        var url: String
        /// The fields that the change sets, with their new values. Several after a squash.
        var values: [String: String]
        var lane: String
    }

    var problems: [String] = []
    var merges = 0
    var conflicts = 0
    /// The decisions for ours.
    var victories = 0
    var squashes = 0
    var lostAnswers = 0
    var kills = 0
    var refusedCredentials = 0
    var unreadCredentials = 0
    var missedNamespaces = 0
    /// Whether the cache is lost, and with it one of the namespaces.
    var isNamespaceMissing = false
    /// The changes that were done with an effect that the cache had not got.
    var removals: Int { shell.removals.count }
    /// The version of the credential that the origin wants.
    var wantedCredential = 0
    let shell: Shell
    let origin: FakeOrigin
    var random: SplitMix64
    var edits: [Change.ID: Authored] = [:]
    private(set) var postIDs: [Change.ID] = []
    /// The POSTs that are sent again after an unknown outcome, by their authors' wish.
    private(set) var wishedPosts: Set<Change.ID> = []
    /// The POSTs with an effect that the process knows.
    var knownPosts: Set<Change.ID> = []
    /// The decisions after which a change may have one more effect.
    var decisions: [Change.ID: Int] = [:]
    private var nextValue = 0
    /// The squashes that have been ordered: their changes by the first one.
    var squashing: [Change.ID: [Change.ID]] = [:]
    /// The pauses that the origins want, by namespace and origin.
    var pauses: [String: Timestamp] = [:]
    /// The changes with an unknown outcome that no GET has looked at since.
    var unseen: Set<Change.ID> = []
    var checkedPublications = 0
    /// The versions in the cache, by the number of effects in the origin's log when they were read.
    var cached: [String: Int] = [:]
    /// Requests of killed processes and lost connections, which may still reach the origin.
    var late: [SendOrder] = []
    var isFaulty = true
    let urls = (0..<4).map { "https://origin\($0 % 2).example/\($0)" }
    let fields = ["a", "b", "c"]

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        shell = Shell(seed: seed ^ 0xFFFF, flightLimit: seed % 3 == 0 ? 2 : 64)
        shell.isStoreSlow = seed / 2 % 2 == 0
        shell.dropsTheirs = seed / 4 % 2 == 0
        origin = FakeOrigin(hasSecondTags: seed % 2 == 0)
        for url in urls.dropLast() {
            origin.write(url, FlatObject(["a": "a0", "b": "b0", "c": "c0"]).bytes, by: nil, at: shell.now)
        }
        for url in urls.dropLast() { cached[url] = origin.log.count }
        shell.now = shell.now + .seconds(10)
        shell.willRead = { [unowned self] order in
            guard let end = pauses[host(order.url, in: order.namespace)], shell.now < end else { return }
            problems.append("a GET of change \(order.flight.change) begins in a pause")
        }
        shell.willRemove = { [unowned self] order in cached[order.target.url] = nil }
        shell.willCommit = { [unowned self] changes in checkSquash(changes) }
        shell.didPublish = { [unowned self] summary in checkCache(summary) }
    }

    var accepted: Int { edits.count + postIDs.count }
    var effects: Int { origin.log.filter { $0.change != nil }.count }

    func run(steps: Int) {
        for _ in 0..<steps where problems.isEmpty {
            step()
            checkFlights()
            checkExpiries()
        }
        isFaulty = false
        shell.isDiskFull = false
        shell.failsRemovals = false
        renewCredential()
        if isNamespaceMissing { findNamespace() }
        for _ in 0..<20_000 where problems.isEmpty && shell.rows.values.contains(where: { !$0.state.isEnded }) {
            settle()
            checkFlights()
            checkExpiries()
        }
        shell.drainStore()
        noteSquashes()
        checkEnd()
    }

    func chance(_ part: Int, of whole: Int) -> Bool { Int.random(in: 0..<whole, using: &random) < part }

    private func step() {
        shell.now = shell.now + .milliseconds(Int.random(in: 0...700, using: &random))
        noteSquashes()
        switch Int.random(in: 0..<31, using: &random) {
        case 0...2: author()
        case 3: rival()
        case 4: if chance(1, of: 6) { kill() }
        case 5: shell.sleep()
        case 6: if chance(1, of: 2) { decide() }
        case 7:
            shell.isDiskFull = chance(1, of: 10)
            shell.failsRemovals = chance(1, of: 4)
        case 8: deliverLate()
        case 9: if chance(1, of: 8) { cancel() }
        case 10: if chance(1, of: 4) { post() }
        case 11: if chance(1, of: 2) { wantedCredential = shell.credentialVersion + 1 }
        case 12: renewCredential()
        case 13: squash()
        case 14: if isNamespaceMissing { findNamespace() } else { isNamespaceMissing = chance(1, of: 6) }
        case 15...22: shell.serveStore(obeys: Bool.random(using: &random))
        default: serve()
        }
    }

    /// One step of a time without faults.
    private func settle() {
        noteSquashes()
        deliverLate()
        if shell.hasStoreWork {
            shell.serveStore(obeys: Bool.random(using: &random))
        } else if shell.reads.isEmpty && shell.sends.isEmpty {
            decide()
            shell.sleep()
        }
        serve()
    }

    /// Both origins have changes of two namespaces.
    private func namespace(of url: String) -> String { url == urls[0] || url == urls[1] ? "n" : "m" }

    private func renewCredential() {
        guard shell.credentialVersion < wantedCredential else { return }
        for namespace in ["n", "m"] { shell.setCredential(namespace: namespace) }
    }

    // MARK: - Writers

    private func freshValue(_ field: String) -> String {
        nextValue += 1
        return "\(field)\(nextValue)"
    }

    /// An author edits the body that the view shows: the remote one with the pending changes. Some authors see only the
    /// remote one.
    private func author() {
        let url = urls.randomElement(using: &random)!
        let pending = shell.rows.values.filter { !$0.state.isEnded && $0.draft.target.url == url }
            .sorted { $0.id < $1.id }
        let remote = origin.resources[url]?.body
        let isRemote = pending.isEmpty || chance(1, of: 4)
        let seen = isRemote ? remote : pending.last?.draft.ours ?? remote
        let field = fields.randomElement(using: &random)!
        let value = freshValue(field)
        let ours = (seen.map { FlatObject($0) } ?? FlatObject([:])).setting(field, value)
        guard
            var draft = try? ChangeDraft.put(
                String(decoding: ours.bytes, as: UTF8.self), on: seen.map { String(decoding: $0, as: UTF8.self) },
                at: url, etag: nil)
        else { return }
        if pending.isEmpty, seen != nil {
            // The cache knows the tag as the look would find it.
            let answer = origin.get(url, at: shell.now)
            if case .sound(let validator) = Soundness(of: answer.mark, body: answer.body) {
                draft.base = .version(ResourceVersion(body: seen!, validator: validator))
            }
        }
        draft.namespace = namespace(of: url)
        if chance(1, of: 3) { draft.credential = "work" }
        if chance(1, of: 6) { draft.fields = [ChangeField("X-Tenant", "ada")] }
        if chance(1, of: 12) { draft.expires = shell.now + .seconds(20) }
        let id = shell.accept(draft)
        edits[id] = Authored(url: url, values: [field: value], lane: draft.laneName)
    }

    private func post() {
        nextValue += 1
        let key = chance(1, of: 2) ? "k\(nextValue)" : nil
        guard var draft = try? ChangeDraft.post("p\(nextValue)", key: key) else { return }
        if chance(1, of: 4) { draft.expires = shell.now + .seconds(20) }
        if key == nil, chance(1, of: 2) { draft.onUncertain = .retry }
        let id = shell.accept(draft)
        postIDs.append(id)
        if draft.onUncertain == .retry { wishedPosts.insert(id) }
    }

    private func rival() {
        let url = urls.randomElement(using: &random)!
        let field = fields.randomElement(using: &random)!
        let body = origin.resources[url].map { FlatObject($0.body) } ?? FlatObject([:])
        origin.write(url, body.setting(field, freshValue(field)).bytes, by: nil, at: shell.now)
    }
}
