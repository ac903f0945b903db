import Foundation
import GRDB
import Primitives
import TestSupport
import Testing

@testable import Outbox

struct OutboxStoreTests {
    private let folder: TemporaryDirectory
    private let directory: String
    private let now = Timestamp(seconds: 1_800_000_000)

    init() throws {
        folder = try TemporaryDirectory()
        directory = folder.path + "/state/larder"
    }

    private func open(_ change: (inout OutboxLimits) -> Void = { _ in }) throws -> OutboxStore {
        var limits = OutboxLimits()
        change(&limits)
        return try OutboxStore(directory: directory, limits: limits)
    }

    @Test("The directory is for its owner only, and so are the file and its log, also if they were not")
    func modes() throws {
        let store = try open()
        try store.insert(.put("a=2", on: "a=1"), now: now)
        #expect(TemporaryDirectory.mode(of: directory) == 0o700)
        for suffix in ["", "-wal"] { #expect(TemporaryDirectory.mode(of: store.path + suffix) == 0o600) }
        store.close()
        chmod(store.path, 0o644)
        let again = try open()
        #expect(TemporaryDirectory.mode(of: again.path) == 0o600)
    }

    @Test("A commit is durable: the log is synchronized with each one")
    func synchronous() throws {
        let store = try open()
        let settings = try store.database.read { db in
            (
                try Int.fetchOne(db, sql: "PRAGMA synchronous"), try String.fetchOne(db, sql: "PRAGMA journal_mode"),
                try String.fetchOne(db, sql: "PRAGMA locking_mode")
            )
        }
        #expect(settings.0 == 2 && settings.1 == "wal" && settings.2 == "exclusive")
    }

    @Test("Every part of a change survives a restart")
    func roundTrip() throws {
        var store = try open()
        var drafts = [
            try ChangeDraft.put("a=2", on: "a=1"), try .delete("a=1"), try .post("x", key: "k"),
            try .put("a=2", on: nil),
            try .put("a=2", on: "a=1").with { $0.edit = .mergePatch(Array("{}".utf8)) },
            try .put("a=2", on: "a=1").with {
                $0.edit = .jsonPatch(Array("[]".utf8))
                $0.method = "PATCH"
            },
        ]
        drafts[0] = drafts[0].with {
            $0.lane = "lane"
            $0.fields = [ChangeField("Content-Type", "text/plain; charset=\"utf-8\""), ChangeField("X", "ä\t")]
            $0.onConflict = .theirs
            $0.onUncertain = .retry
            $0.expires = now + .seconds(5)
            $0.credential = "work"
            $0.baseType = "text/a"
        }
        var changes: [Change] = []
        for draft in drafts { changes.append(try store.insert(draft, now: now).change) }
        changes[0].state = .conflict
        changes[0].attempts = 3
        changes[0].problem = ChangeProblem(.clash, status: 412)
        changes[0].theirs = ResourceVersion(body: Array("a=9".utf8), validator: Validator(strong: "\"9\""))
        changes[0].nextAttempt = now + .seconds(9)
        changes[0].mayBeApplied = true
        changes[0].skipsLook = true
        changes[0].isUnguarded = true
        changes[0].rewrittenBase = BodyDigest(of: [1])
        changes[1].draft.base = .version(ResourceVersion(body: nil, digest: BodyDigest(of: [2]), validator: nil))
        try store.update(changes, now: now)
        store.close()
        store = try open()
        for change in changes { #expect(try store.change(change.id) == change) }
        #expect(try store.unended() == changes.map(\.summary))
        // A decision replaces the bodies.
        changes[0].draft.base = .version(changes[0].theirs!)
        changes[0].draft.ours = [7]
        changes[0].theirs = nil
        changes[4].draft.edit = .replace
        try store.update(changes, now: now)
        for change in changes { #expect(try store.change(change.id) == change) }
    }

    @Test("kill -9 at each commit: a copy of the files has the acknowledged states, and reports the change under way")
    func killAtEachCommit() throws {
        let store = try open()
        var change = try store.insert(.put("a=2", on: "a=1"), now: now).change
        for state in [ChangeState.pending, .sending, .pending, .sending, .confirmed, .done] {
            change.state = state
            try store.update([change], now: now)
            let copy = try folder.copyOfFiles(in: directory)
            let other = try OutboxStore(directory: copy.path)
            #expect(try other.change(change.id) == change)
            #expect(try other.unended().map(\.state) == (state == .done ? [] : [state]))
            var machine = OutboxMachine()
            var random = SplitMix64(seed: 1)
            let actions = machine.step(
                .restarted(try other.unended(), pauses: try other.pauses()), now: now, random: &random)
            #expect(actions.contains(.load(change.id)) == (state != .done))
            other.close()
        }
    }

    @Test("kill -9 in the middle of a write: a log that is cut anywhere has whole transactions only")
    func cutLog() throws {
        let store = try open()
        var change = try store.insert(.put("a=2", on: "a=1"), now: now).change
        var states: [ChangeState] = [.pending]
        for attempt in 1...3 {
            change.state = attempt == 2 ? .pending : .sending
            change.attempts = attempt
            try store.update([change], now: now)
            states.append(change.state)
        }
        let length = try #require(
            FileManager.default.attributesOfItem(atPath: store.path + "-wal")[.size] as? Int)
        var seen: Set<Int> = []
        for cut in stride(from: 0, through: length, by: 2000) {
            let copy = try folder.copyOfFiles(in: directory)
            truncate(copy.path + "/outbox.sqlite-wal", cut)
            let other = try OutboxStore(directory: copy.path)
            if let found = try other.change(change.id) {
                #expect(found.state == states[found.attempts] && found.draft == change.draft)
                seen.insert(found.attempts)
            }
            other.close()
        }
        #expect(seen.isSuperset(of: [0, 1, 2]))
    }

    @Test("The same caller's key with the same payload is the same change; with another payload it is an error")
    func idempotency() throws {
        let store = try open()
        let draft = try ChangeDraft.post("x", key: "k")
        let first = try store.insert(draft, now: now)
        // The base that Larder adds may differ when the request is repeated.
        let second = try store.insert(draft.with { $0.fields = [ChangeField("X", "1")] }, now: now + .seconds(60))
        #expect(first.isNew && !second.isNew && second.change == first.change)
        #expect(throws: OutboxError.keyReused(change: first.change.id)) {
            try store.insert(.post("y", key: "k"), now: now)
        }
        #expect(try store.insert(draft.with { $0.caller = "another" }, now: now).isNew)
        #expect(try store.insert(.post("x"), now: now).isNew && store.insert(.post("x"), now: now).isNew)
    }

    @Test("A key of one namespace does not show in another one, and is refused in its own")
    func keysOfNamespaces() throws {
        let store = try open()
        let first = try store.insert(.post("x", key: "k"), now: now).change
        let other = try ChangeDraft.post("y", key: "k").with { $0.namespace = "m" }
        let second = try store.insert(other, now: now)
        #expect(second.isNew && second.change.id != first.id)
        let key = try #require(other.callerKey)
        #expect(try store.change(ofCaller: other.caller, key, in: "m") == second.change)
        #expect(try store.change(ofCaller: other.caller, key, in: "o") == nil)
        #expect(throws: OutboxError.keyReused(change: first.id)) {
            try store.change(ofCaller: other.caller, key, in: "n")
        }
    }

    @Test("The limits of a change and of a namespace are checked with the insertion, and ended changes free their room")
    func limits() throws {
        let store = try open {
            $0.changeBytes = 100
            $0.changesPerNamespace = 3
            $0.bytesPerNamespace = 300
        }
        #expect(throws: OutboxError.changeTooLarge(limit: 100)) {
            try store.insert(.put(String(repeating: "x", count: 101), on: nil), now: now)
        }
        let large = try ChangeDraft.put(String(repeating: "x", count: 90), on: String(repeating: "y", count: 60))
        var first = try store.insert(large, now: now).change
        #expect(throws: OutboxError.tooManyBytes(namespace: "n", limit: 300)) { try store.insert(large, now: now) }
        let small = try ChangeDraft.post("", at: "https://o.example/")
        #expect(try store.insert(small, now: now).isNew && store.insert(small, now: now).isNew)
        #expect(throws: OutboxError.tooManyChanges(namespace: "n", limit: 3)) { try store.insert(small, now: now) }
        #expect(try store.totals(namespace: "n").counts == [.pending: 3])
        #expect(try store.insert(large.with { $0.namespace = "m" }, now: now).isNew)
        first.state = .done
        try store.update([first], now: now)
        #expect(try store.insert(large, now: now).isNew)
    }

    @Test("Listings are pages in the order of ids, by state and by URL; totals count states and bytes")
    func listing() throws {
        let store = try open()
        var ids: [Change.ID] = []
        for number in 0..<7 {
            var change = try store.insert(
                .put("a=\(number)", on: nil, at: "https://origin.example/\(number % 2)"), now: now + .seconds(number)
            ).change
            ids.append(change.id)
            if number > 4 { change.state = number == 5 ? .done : .rejected }
            try store.update([change], now: now)
        }
        var found: [Change.ID] = []
        var next: Change.ID?
        repeat {
            let page = try store.list(ChangeFilter(namespace: "n"), after: next, limit: 3)
            found += page.changes.map(\.id)
            next = page.next
        } while next != nil
        #expect(found == ids)
        let byURL = try store.list(ChangeFilter(states: [.pending], key: "https://origin.example/1"), limit: 10)
        #expect(byURL.changes.map(\.id) == [ids[1], ids[3]] && byURL.next == nil)
        #expect(try store.list(ChangeFilter(namespace: "other"), limit: 3).changes.isEmpty)
        let totals = try store.totals(namespace: "n")
        #expect(totals.counts == [.pending: 5, .done: 1, .rejected: 1] && totals.oldest == now)
        #expect(totals.pendingBytes > 0 && totals.endedBytes > 0)
        #expect(try store.viewed(namespace: "n", key: "https://origin.example/1") == [ids[1], ids[3]])
    }

    @Test("Pruning keeps the newest ended changes within number, bytes and age, and every change that has not ended")
    func pruning() throws {
        let store = try open { $0.endedChanges = 3 }
        for number in 0..<8 {
            var change = try store.insert(.put("a=\(number)", on: nil), now: now).change
            change.state = number == 0 ? .rejected : .done
            try store.update([change], now: now + .seconds(number))
        }
        #expect(try store.prune(now: now + .seconds(10)) == 4)
        let left = try store.list(ChangeFilter(), limit: 10).changes.map(\.id)
        #expect(left == [1, 6, 7, 8])
        #expect(try store.prune(now: now + .seconds(8 * 86_400)) == 3)
        #expect(try store.list(ChangeFilter(), limit: 10).changes.map(\.id) == [1])
        let bodies = try store.database.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM bodies") }
        #expect(bodies == 1)
        // An id is never used again.
        #expect(try store.insert(.put("a=1", on: nil), now: now).change.id == 9)
    }

    @Test("Disk full before the acknowledgement: an error, and no part of the change is kept")
    func diskFull() throws {
        let store = try open()
        try store.insert(.put("a=2", on: "a=1"), now: now)
        try store.database.write { db in
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count")!
            try db.execute(sql: "PRAGMA max_page_count = \(pages + 2)")
        }
        let large = try ChangeDraft.put(String(repeating: "x", count: 100_000), on: nil)
        #expect(throws: OutboxError.state(.noSpace)) { try store.insert(large, now: now) }
        #expect(try store.list(ChangeFilter(), limit: 10).changes.count == 1)
        let files = try folder.copyOfFiles(in: directory)
        let copy = try OutboxStore(directory: files.path)
        #expect(try copy.list(ChangeFilter(), limit: 10).changes.count == 1)
        copy.close()
        try store.database.write { try $0.execute(sql: "PRAGMA max_page_count = 100000") }
        #expect(try store.insert(large, now: now).isNew)
    }

    @Test("An update of several changes is whole or not at all")
    func atomicUpdate() throws {
        let store = try open()
        var first = try store.insert(.put("a=2", on: nil), now: now).change
        first.state = .cancelled
        let missing = Change(id: 99, draft: first.draft, created: now)
        #expect(throws: OutboxError.noChange(99)) { try store.update([first, missing], now: now) }
        #expect(try store.change(first.id)?.state == .pending)
    }

    @Test("An update tells which changes give readers another body: those with another edit or base, and ended ones")
    func touched() throws {
        let store = try open()
        var change = try store.insert(.put("a=2", on: "a=1"), now: now).change
        change.state = .sending
        change.attempts = 1
        #expect(try store.update([change], now: now).isEmpty)
        change.state = .conflict
        change.theirs = ResourceVersion(body: [7], validator: nil)
        #expect(try store.update([change], now: now).isEmpty)
        change.draft.base = .version(change.theirs!)
        #expect(try store.update([change], now: now) == [change.id])
        change.draft.ours = [8]
        #expect(try store.update([change], now: now) == [change.id])
        change.rewrittenBase = BodyDigest(of: [9])
        #expect(try store.update([change], now: now) == [change.id])
        #expect(try store.update([change], now: now).isEmpty)
        change.state = .done
        #expect(try store.update([change], now: now) == [change.id])
    }

    @Test("A rewritten base reaches only later changes that were made on the sent body")
    func rewriteNote() throws {
        let store = try open()
        let ids = try ["a=2", "a=2", "a=5"].map { base in try store.insert(.put("a=3", on: base), now: now).change.id }
        let stored = BodyDigest(of: Array("a=2&b=1".utf8))
        try store.note(
            RewriteNote(
                namespace: "n", key: "https://origin.example/a", after: ids[0], sent: BodyDigest(of: Array("a=2".utf8)),
                stored: stored))
        #expect(try ids.map { try store.change($0)?.rewrittenBase } == [nil, stored, nil])
    }

    @Test("A new credential frees the changes that it blocked; its values are in no description and no list")
    func credentials() throws {
        let store = try open()
        var change = try store.insert(.put("a=2", on: nil).with { $0.credential = "work" }, now: now).change
        change.state = .blocked
        try store.update([change], now: now)
        let credential = Credential(
            origins: ["https://origin.example"], fields: [ChangeField("Authorization", "Bearer s3cret")])
        try store.setCredential(credential, namespace: "n", name: "other")
        #expect(try store.change(change.id)?.state == .blocked)
        try store.setCredential(credential, namespace: "n", name: "work")
        #expect(try store.change(change.id)?.state == .pending)
        #expect(try store.credential(namespace: "n", name: "work") == credential)
        #expect(try store.credential(namespace: "m", name: "work") == nil)
        let list = try store.credentials(namespace: "n")
        #expect(list.map(\.name) == ["other", "work"] && list.allSatisfy { $0.origins == credential.origins })
        #expect(credential.fields(for: "https://evil.example").isEmpty)
        var dumped = ""
        dump(credential, to: &dumped)
        for text in ["\(credential)", String(reflecting: credential), dumped] { #expect(!text.contains("s3cret")) }
        try store.removeCredential(namespace: "n", name: "work")
        #expect(throws: OutboxError.noCredential("work")) { try store.removeCredential(namespace: "n", name: "work") }
    }

    @Test("A namespace has a limit of credentials, and one that exists can always be replaced")
    func credentialLimit() throws {
        let store = try open { $0.credentialsPerNamespace = 2 }
        let credential = Credential(origins: ["https://origin.example"], fields: [ChangeField("Cookie", "a")])
        for name in ["a", "b", "b"] { try store.setCredential(credential, namespace: "n", name: name) }
        #expect(throws: OutboxError.tooManyCredentials(namespace: "n", limit: 2)) {
            try store.setCredential(credential, namespace: "n", name: "c")
        }
        #expect(try store.credentials(namespace: "n").map(\.name) == ["a", "b"])
        try store.setCredential(credential, namespace: "m", name: "c")
        try store.removeCredential(namespace: "n", name: "a")
        try store.setCredential(credential, namespace: "n", name: "c")
        #expect(try store.credentials(namespace: "n").map(\.name) == ["b", "c"])
    }

    @Test("A namespace's removal takes its changes and credentials, and no others")
    func discard() throws {
        let store = try open()
        try store.insert(.put("a=2", on: nil), now: now)
        try store.insert(.put("a=2", on: nil).with { $0.namespace = "m" }, now: now)
        try store.setCredential(Credential(origins: [], fields: []), namespace: "n", name: "work")
        try store.discard(namespace: "n")
        #expect(try store.unended().map(\.namespace) == ["m"] && store.credentials(namespace: "n").isEmpty)
    }

    @Test("A discard is noted until it has happened, or is taken back")
    func notedDiscards() throws {
        var store = try open()
        for namespace in ["n", "m", "n", "o", "p"] { try store.noteDiscard(of: namespace) }
        try store.noteDiscard(of: "m", for: .newVersion("2"))
        try store.noteDiscard(of: "o", for: .newVersion(nil))
        try store.noteDiscard(of: "p", for: .creation)
        store.close()
        store = try open()
        let notes: [String: DiscardCause] = ["n": .removal, "o": .newVersion(nil), "p": .creation]
        #expect(try store.notedDiscards() == notes.merging(["m": .newVersion("2")]) { $1 })
        try store.forgetDiscard(of: "m")
        #expect(try store.notedDiscards() == notes)
        for namespace in ["n", "o", "p"] { try store.discard(namespace: namespace) }
        #expect(try store.notedDiscards().isEmpty)
    }

    @Test("A closed store throws")
    func closed() throws {
        let store = try open()
        store.close()
        #expect(throws: OutboxError.state(.closed)) { try store.unended() }
    }
}
