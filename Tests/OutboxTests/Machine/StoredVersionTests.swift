import Primitives
import Testing

@testable import Outbox

/// Remote versions that the cache stores for readers, while a confirmed change waits to be shown.
struct StoredVersionTests {
    private let shell = Shell()
    private let key = "https://origin.example/a"

    /// The event of a GET that begins now.
    private func stored(_ body: String, etag: String? = nil) -> OutboxEvent {
        .stored(
            namespace: "n", key: key, ticket: shell.machine.ticket, etag: etag,
            digest: BodyDigest(of: Array(body.utf8)))
    }

    /// A confirmed change after a failed first read.
    private func waiting() throws -> Change.ID {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(204)
        shell.step(.readFailed(shell.reads.removeFirst().flight))
        #expect(shell.state(id) == .confirmed && shell.reads.isEmpty)
        return id
    }

    @Test("A revalidation begun before the confirmation lands after it: the change stays in the view")
    func earlyRevalidation() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        let early = shell.machine.ticket
        try shell.answer(204)
        let digest = BodyDigest(of: Array("a=1".utf8))
        shell.step(.stored(namespace: "n", key: "https://origin.example/a", ticket: early, etag: nil, digest: digest))
        #expect(shell.state(id) == .confirmed && shell.dropped.isEmpty)
        let late = shell.machine.ticket
        shell.step(.stored(namespace: "n", key: "https://origin.example/a", ticket: late, etag: nil, digest: digest))
        #expect(shell.state(id) == .done && shell.dropped == [id])
    }

    @Test("A stored version ends a confirmed change that waits for its next read, also within a pause of the origin")
    func whileWaiting() throws {
        let id = try waiting()
        shell.step(stored("a=2"))
        #expect(shell.state(id) == .done && shell.dropped == [id] && shell.refusals.isEmpty && shell.wake == nil)

        let other = StoredVersionTests()
        let paused = try other.waiting()
        other.shell.sleep()
        let mark = ReadMark(
            etag: nil, lastModified: nil, date: nil, digest: BodyDigest(of: []), received: other.shell.now)
        var answer = ReadAnswer(status: 503, body: [], mark: mark)
        answer.retryAfter = .seconds(86_400)
        other.shell.step(.readAnswered(other.shell.reads.removeFirst().flight, answer))
        other.shell.step(other.stored("a=2"))
        #expect(other.shell.state(paused) == .done && other.shell.machine.flightCount == 0)
    }

    @Test("A stored version ends a confirmed change with its row in the store, in each moment")
    func whileBusy() throws {
        for steps in 0...4 {
            let test = StoredVersionTests()
            let id = test.shell.accept(try .put("a=2", on: "a=1"))
            try test.shell.answer(204)
            test.shell.isStoreSlow = true
            test.shell.step(.readFailed(test.shell.reads.removeFirst().flight))
            for _ in 0..<min(steps, 2) { test.shell.serveStore(obeys: test.shell.storeReports.isEmpty) }
            if steps > 2 { test.shell.sleep() }
            if steps > 3 { test.shell.serveStore() }
            test.shell.step(test.stored("a=2"))
            test.shell.drainStore()
            #expect(test.shell.state(id) == .done && test.shell.reads.isEmpty, "\(steps)")
        }
    }

    @Test("A full disk while a stored version ends a change leaves the change to its read")
    func diskFull() throws {
        let id = try waiting()
        shell.isDiskFull = true
        shell.step(stored("a=2"))
        #expect(shell.state(id) == .confirmed && shell.refusals.isEmpty)
        shell.isDiskFull = false
        shell.sleep()
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(id) == .done)
    }

    @Test("A stored version that the origin has rewritten is noted for later changes, also while the change waits")
    func rewritten() throws {
        let tag = FlatObject.digestTag("a=2&uid=7")
        shell.accept(try .put("a=2", on: "a=1"))
        let second = shell.accept(try .put("a=3", on: "a=2", etag: nil))
        try shell.answer(201, etag: tag)
        shell.step(.readFailed(shell.reads.removeFirst().flight))
        shell.step(stored("a=2&uid=7", etag: tag))
        #expect(shell.rows[second]!.rewrittenBase == BodyDigest(of: Array("a=2&uid=7".utf8)))
    }

    @Test("A change does not leave the view while the cache fails to remove the older version", arguments: 0..<3)
    func failedRemoval(_ kind: Int) throws {
        shell.failsRemovals = true
        let draft = kind == 0 ? try ChangeDraft.delete("a=1", etag: nil) : try .put("a=2", on: "a=1")
        let id = shell.accept(draft)
        if kind == 1 { try shell.answer(204) }
        if kind == 2 {
            shell.loseAnswer()
            shell.sleep()
        }
        for _ in 0..<5 {
            #expect(shell.reads.map(\.purpose) == [kind == 1 ? .confirmation : .look])
            if kind == 0 { shell.read(404) } else { shell.read(200, "a=2", etag: "\"2\"", isStored: false) }
            #expect(!shell.state(id).isEnded && shell.dropped.isEmpty && shell.machine.flightCount == 0)
            shell.sleep()
        }
        shell.failsRemovals = false
        if kind == 0 { shell.read(404) } else { shell.read(200, "a=2", etag: "\"2\"", isStored: false) }
        #expect(shell.state(id) == .done && shell.dropped == [id] && shell.removals.map(\.flight.change) == [id])
    }

    @Test("A DELETE that the origin answers with 404 is not done while the cache fails to remove the older version")
    func failedRemovalOfGone() throws {
        for status in [404, 410] {
            let shell = Shell()
            shell.failsRemovals = true
            let id = shell.accept(try .delete("a=1"))
            try shell.answer(status)
            #expect(!shell.state(id).isEnded && shell.dropped.isEmpty && shell.removals.isEmpty)
            shell.failsRemovals = false
            shell.sleep()
            shell.read(status)
            #expect(shell.state(id) == .done && shell.removals.map(\.flight.change) == [id])
        }
    }

    @Test(
        "A DELETE with the answer 404 is not sent to a rival's new resource after the cache has failed",
        arguments: [false, true])
    func rivalAfterGone(isKilled: Bool) throws {
        let shell = Shell()
        shell.failsRemovals = true
        let id = shell.accept(try .delete("a=1").with { $0.base = .blind })
        try shell.answer(404)
        #expect(shell.state(id) == .confirmed && shell.problem(id) == nil && !shell.rows[id]!.mayBeApplied)
        shell.failsRemovals = false
        if isKilled { shell.kill() } else { shell.sleep() }
        shell.read(200, "rival=1", etag: "\"9\"")
        #expect(shell.state(id) == .done && shell.sends.isEmpty)
    }

    @Test("A cache that fails for ever stops a lane for ten minutes, and a change without followers for a day")
    func endlessRemoval() throws {
        for hasFollower in [false, true] {
            let shell = Shell()
            shell.failsRemovals = true
            let id = shell.accept(try .put("a=2", on: "a=1"))
            let follower = hasFollower ? shell.accept(try .put("a=3", on: "a=2")) : nil
            try shell.answer(204)
            let (start, patience) = (shell.now, hasFollower ? Duration.seconds(600) : .seconds(86_400))
            while shell.now - start < patience {
                #expect(shell.state(id) == .confirmed && shell.reads.map(\.flight.change) == [id])
                shell.read(200, "a=2", etag: "\"2\"", isStored: false)
                if shell.state(id) == .confirmed { shell.sleep() }
            }
            if shell.state(id) == .confirmed { shell.read(200, "a=2", etag: "\"2\"", isStored: false) }
            #expect(shell.state(id) == .done && shell.now - start < patience + .seconds(1800))
            #expect(shell.reads.map(\.flight.change) == [follower].compactMap { $0 })
        }
    }

    @Test("A change that is reported late does not overtake a change that has been sent")
    func lateReport() throws {
        let second = Change(id: 2, draft: try .put("a=3", on: "a=2"), created: shell.now)
        let first = Change(id: 1, draft: try .put("a=2", on: "a=1"), created: shell.now)
        (shell.rows[1], shell.rows[2]) = (first, second)
        shell.step(.accepted(second.summary))
        try shell.answer(204)
        shell.step(.readFailed(shell.reads.removeFirst().flight))
        shell.step(.accepted(first.summary))
        shell.step(stored("a=3"))
        #expect(shell.state(2) == .done && shell.sends.map(\.flight.change) == [1])
    }
}
