import Primitives
import Testing

@testable import Outbox

/// Answers that arrive while the store fails, each named after the fault.
struct UnkeptOutcomeTests {
    private let shell = Shell()

    /// Sends a change, and answers it while the disk is full.
    private func answered(
        _ draft: ChangeDraft, _ status: Int, etag: String? = nil, retryAfter: Duration? = nil
    ) throws -> Change.ID {
        let id = shell.accept(draft)
        shell.isDiskFull = true
        try shell.answer(status, etag: etag, retryAfter: retryAfter)
        #expect(shell.state(id) == .sending && shell.machine.flightCount == 0)
        return id
    }

    /// Lets the disk stay full for some attempts, and then have room.
    private func recover() {
        for _ in 0..<5 { shell.sleep() }
        shell.isDiskFull = false
        shell.sleep()
    }

    @Test("A POST with a known success is not sent again because the disk was full", arguments: [true, false])
    func knownPost(_ repeats: Bool) throws {
        let id = try answered(.post("x").with { $0.onUncertain = repeats ? .retry : .hold }, 201)
        recover()
        #expect(shell.state(id) == .done && !shell.rows[id]!.mayBeApplied && shell.dropped == [id])
        #expect(shell.sends.isEmpty && shell.reads.isEmpty && shell.wake == nil && shell.machine.unkept.isEmpty)
        #expect(!shell.published.contains { $0.state == .uncertain })
    }

    @Test("A confirmed text that the origin has rewritten is no conflict because the disk was full")
    func rewrittenText() throws {
        let id = try answered(.put("two", on: "one"), 201, etag: "\"2\"")
        recover()
        #expect(shell.state(id) == .confirmed && shell.reads.map(\.purpose) == [.confirmation])
        shell.read(200, "TWO", etag: "\"2\"")
        #expect(shell.state(id) == .done && shell.sends.isEmpty)
    }

    @Test("A refused precondition on a full disk does not count as an effect that may have happened")
    func knownRefusal() throws {
        let id = try answered(.put("a=2&b=1", on: "a=1&b=1"), 412)
        recover()
        #expect(shell.state(id) == .pending && !shell.rows[id]!.mayBeApplied)
        shell.read(200, "a=1&b=2", etag: "\"2\"")
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=2".utf8))])
    }

    @Test("A rejection on a full disk is stored later, and stops the lane")
    func knownRejection() throws {
        let id = try answered(.put("a=2", on: "a=1"), 422)
        let next = shell.accept(try .put("a=3", on: "a=2"))
        recover()
        #expect(shell.state(id) == .rejected && shell.problem(id) == .rejected)
        #expect(shell.state(next) == .pending && shell.reads.isEmpty && shell.sends.isEmpty)
    }

    @Test("The wish of the origin is kept while the disk is full, and does not delay the outcome")
    func wish() throws {
        let id = try answered(.post("x", key: "k"), 429, retryAfter: .seconds(3600))
        let end = shell.now + .seconds(3600)
        recover()
        #expect(shell.now < end && shell.state(id) == .pending && shell.rows[id]!.nextAttempt == end)
        shell.sleep()
        #expect(shell.now == end && shell.sends.map(\.flight.change) == [id])

        let other = UnkeptOutcomeTests()
        let done = try other.answered(.post("x"), 201)
        other.shell.isDiskFull = false
        other.shell.accept(try .put("a=2", on: "a=1"))
        try other.shell.answer(503, retryAfter: .seconds(3600))
        other.shell.sleep()
        #expect(other.shell.state(done) == .done && other.shell.wake! > other.shell.now + .seconds(3000))
    }

    @Test("No decision is made about a change with an outcome that is not stored, and the row stays as it is")
    func decisions() throws {
        let id = try answered(.put("a=2", on: "a=1"), 204)
        shell.isDiskFull = false
        for event in [OutboxEvent.cancel(id), .retry(id), .resolve(id, .theirs)] { shell.step(event) }
        #expect(shell.refusals == [.busy, .busy, .busy] && shell.state(id) == .sending)
        shell.sleep()
        #expect(shell.state(id) == .confirmed)
        shell.step(.cancel(id))
        #expect(shell.refusals.last == .confirmed)
    }

    @Test("A new credential after a 401 that a full disk could not keep lets the change go on", arguments: 0..<4)
    func credential(_ moment: Int) throws {
        let id = try answered(.put("a=2", on: "a=1").with { $0.credential = "work" }, 401)
        if moment == 0 { shell.setCredential() }
        shell.isDiskFull = false
        shell.isStoreSlow = true
        shell.sleep()
        // The row is read, its change decided, and then the row is written.
        for _ in 0..<moment { shell.serveStore(obeys: true) }
        if moment > 0 { shell.setCredential() }
        shell.drainStore()
        #expect(shell.state(id) == .sending && shell.sends.count == 1 && shell.machine.unkept.isEmpty)
    }

    @Test("A change expires after its outcome is stored, not before")
    func expiry() throws {
        let draft = try ChangeDraft.put("a=2", on: "a=1").with { $0.expires = shell.now + .seconds(2) }
        let id = try answered(draft, 429)
        shell.now = shell.now + .seconds(60)
        shell.step(.timer)
        #expect(shell.state(id) == .sending)
        recover()
        #expect(shell.state(id) == .expired && !shell.rows[id]!.mayBeApplied && shell.machine.unkept.isEmpty)
    }

    @Test("Clock back a day: an outcome is stored at the next timer")
    func clockBack() throws {
        let id = try answered(.post("x"), 201)
        shell.isDiskFull = false
        shell.now = shell.now - .seconds(86_400)
        shell.step(.timer)
        #expect(shell.state(id) == .done)
    }

    @Test("Only the end of the process forgets an outcome, and a discarded namespace")
    func forgotten() throws {
        let id = try answered(.post("x"), 201)
        shell.isDiskFull = false
        shell.kill()
        #expect(shell.state(id) == .uncertain)
        let other = UnkeptOutcomeTests()
        _ = try other.answered(.post("x"), 201)
        other.shell.step(.discarded(namespace: "n"))
        #expect(other.shell.machine.unkept.isEmpty && other.shell.machine.lanes.isEmpty && other.shell.wake == nil)
    }
}
