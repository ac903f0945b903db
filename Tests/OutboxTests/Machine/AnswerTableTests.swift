import Primitives
import Testing

@testable import Outbox

/// Each row of the table of answers, for a PUT, a DELETE and a POST.
struct AnswerTableTests {
    private func sent(_ draft: ChangeDraft) -> (Shell, Change.ID) {
        let shell = Shell()
        return (shell, shell.accept(draft))
    }

    @Test("A fresh change with a sound validator is sent at once under If-Match, after its state is durable")
    func sendsAtOnce() throws {
        let (shell, id) = sent(try .put("a=2", on: "a=1"))
        #expect(shell.reads.isEmpty)
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: "\"1\"")!)])
        #expect(shell.sends.map(\.content) == [.body(Array("a=2".utf8))])
        #expect(shell.stateWhenSent == [.sending] && shell.rows[id]!.attempts == 1)
    }

    @Test("A change older than five seconds is looked at before it is sent", arguments: [5, 6, -86_400])
    func looksFirst(_ age: Int) throws {
        let shell = Shell()
        let change = Change(id: 1, draft: try .put("a=2", on: "a=1"), created: shell.now - .seconds(age))
        shell.rows[1] = change
        shell.step(.accepted(change.summary))
        #expect(shell.reads.count == (age == 5 ? 0 : 1) && shell.sends.count == (age == 5 ? 1 : 0))
    }

    @Test("A 2xx confirms the change, and the read after the confirmation ends it", arguments: [200, 201, 204])
    func success(_ status: Int) throws {
        let (shell, id) = sent(try .put("a=2", on: "a=1"))
        try shell.answer(status)
        #expect(shell.state(id) == .confirmed && shell.reads.map(\.purpose) == [.confirmation])
        #expect(shell.dropped.isEmpty)
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(id) == .done && shell.dropped == [id])
    }

    @Test("A 429 and a failed connection were surely not applied: the change waits and is not marked")
    func notApplied() throws {
        for isFailure in [true, false] {
            let (shell, id) = sent(try .put("a=2", on: "a=1"))
            if isFailure {
                shell.step(.sendFailed(shell.sends.removeFirst().flight, .notSent))
            } else {
                try shell.answer(429)
            }
            #expect(shell.state(id) == .pending && !shell.rows[id]!.mayBeApplied)
            #expect(shell.rows[id]!.nextAttempt! <= shell.now + .seconds(1))
            shell.sleep()
            #expect(shell.reads.map(\.purpose) == [.look])
        }
    }

    @Test("An answer without a known outcome leads to a look", arguments: [408, 423, 425, 500, 502, 503, 504, nil])
    func unknown(_ status: Int?) throws {
        let (shell, id) = sent(try .put("a=2", on: "a=1"))
        if let status { try shell.answer(status) } else { shell.loseAnswer() }
        #expect(shell.state(id) == .pending && shell.rows[id]!.mayBeApplied && shell.problem(id) == .unknownOutcome)
        shell.sleep()
        #expect(shell.sends.isEmpty && shell.reads.map(\.purpose) == [.look])
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(id) == .done && shell.sends.isEmpty)
    }

    @Test("A refused precondition leads to a look at once, and both edits are merged", arguments: [409, 412, 428])
    func refused(_ status: Int) throws {
        let (shell, id) = sent(try .put("a=2&b=1", on: "a=1&b=1"))
        try shell.answer(status)
        #expect(shell.reads.map(\.purpose) == [.look])
        shell.read(200, "a=1&b=7", etag: "\"2\"")
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=7".utf8))])
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: "\"2\"")!)])
        #expect(!shell.rows[id]!.mayBeApplied)
    }

    @Test("A 409 under an Idempotency-Key repeats the request with the same key")
    func keyConflict() throws {
        let (shell, id) = sent(try .post("x", key: "k"))
        let key = try #require(shell.sends.first?.idempotencyKey)
        try shell.answer(409)
        #expect(shell.state(id) == .pending)
        shell.sleep()
        #expect(shell.sends.map(\.idempotencyKey) == [key])
    }

    @Test("A 409, 412 or 428 holds a POST without a key, because a POST cannot be merged", arguments: [409, 412, 428])
    func postConflict(_ status: Int) throws {
        let (shell, id) = sent(try .post("x"))
        try shell.answer(status)
        #expect(shell.state(id) == .conflict && shell.problem(id) == .stateRefused)
    }

    @Test("A 401 or 403 blocks the change, and is no attempt", arguments: [401, 403])
    func blocked(_ status: Int) throws {
        let (shell, id) = sent(try .put("a=2", on: "a=1"))
        try shell.answer(status)
        #expect(shell.state(id) == .blocked && shell.rows[id]!.attempts == 0 && shell.wake == nil)
    }

    @Test("A 404 or 410 ends a DELETE", arguments: [404, 410])
    func gone(_ status: Int) throws {
        let (shell, id) = sent(try .delete("a=1"))
        try shell.answer(status)
        #expect(shell.state(id) == .done && shell.dropped == [id])
    }

    @Test("A 404 or 410 is a conflict with a deletion for a PUT and for a POST", arguments: [404, 410])
    func deleted(_ status: Int) throws {
        for draft in [try ChangeDraft.put("a=2", on: "a=1"), try .post("x")] {
            let (shell, id) = sent(draft)
            try shell.answer(status)
            #expect(shell.state(id) == .conflict && shell.problem(id) == .deleted && shell.rows[id]!.theirs == nil)
        }
    }

    @Test("A 307 or 308 on the same origin is followed, without another attempt", arguments: [307, 308])
    func redirect(_ status: Int) throws {
        let (shell, id) = sent(try .put("a=2", on: "a=1"))
        try shell.answer(status, location: "https://origin.example/b")
        #expect(shell.sends.map(\.url) == ["https://origin.example/b"] && shell.rows[id]!.attempts == 1)
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: "\"1\"")!)])
        try shell.answer(204)
        #expect(shell.state(id) == .confirmed)
    }

    @Test("A circle of redirects ends as rejected after five hops")
    func redirectLoop() throws {
        let (shell, id) = sent(try .put("a=2", on: "a=1"))
        for _ in 0..<5 { try shell.answer(307, location: "https://origin.example/a") }
        #expect(shell.state(id) == .sending)
        try shell.answer(307, location: "https://origin.example/a")
        #expect(shell.state(id) == .rejected && shell.problem(id) == .redirected)
    }

    @Test(
        "Every other 3xx and 4xx, and 501, rejects the change",
        arguments: [300, 301, 302, 303, 304, 305, 400, 402, 405, 406, 407, 411, 413, 415, 422, 451, 501])
    func rejected(_ status: Int) throws {
        let (shell, id) = sent(try .put("a=2", on: "a=1"))
        try shell.answer(status)
        #expect(shell.state(id) == .rejected && shell.rows[id]!.problem?.status == status && shell.wake == nil)
    }

    @Test("An unknown outcome of a POST is held, repeated under a key, or repeated by the author's wish")
    func postUnknown() throws {
        let (held, first) = sent(try .post("x"))
        try held.answer(500)
        #expect(held.state(first) == .uncertain && held.wake == nil)
        let (keyed, second) = sent(try .post("x", key: "k"))
        try keyed.answer(500)
        #expect(keyed.state(second) == .pending)
        let (wished, third) = sent(try .post("x").with { $0.onUncertain = .retry })
        wished.loseAnswer()
        #expect(wished.state(third) == .pending)
        wished.sleep()
        #expect(wished.sends.count == 1)
    }

    @Test("A look that fails waits, one without access blocks, and one that cannot succeed is held")
    func looks() throws {
        let cases: [(Int, ChangeState)] = [
            (500, .pending), (503, .pending), (429, .pending), (408, .pending), (401, .blocked), (403, .blocked),
            (405, .rejected), (501, .rejected), (302, .rejected), (404, .conflict), (410, .conflict),
        ]
        for (status, state) in cases {
            let (shell, id) = sent(try .put("a=2", on: "a=1", etag: nil))
            shell.read(status)
            #expect(shell.state(id) == state, "\(status)")
            #expect(shell.rows[id]!.attempts == 0)
        }
    }

    @Test("A look that cannot succeed after a lost answer leaves the change uncertain")
    func unreadableAfterLoss() throws {
        let (shell, id) = sent(try .put("a=2", on: "a=1"))
        shell.loseAnswer()
        shell.sleep()
        shell.read(405)
        #expect(shell.state(id) == .uncertain)
    }

    @Test("A failed read after the confirmation is repeated, and an answer without a body ends the change")
    func confirmationReads() throws {
        for status in [404, 405, 403, 302] {
            let (shell, id) = sent(try .put("a=2", on: "a=1"))
            try shell.answer(200)
            shell.read(503)
            #expect(shell.state(id) == .confirmed && shell.dropped.isEmpty)
            shell.sleep()
            #expect(shell.reads.map(\.purpose) == [.confirmation])
            shell.read(status)
            #expect(shell.state(id) == .done && shell.dropped == [id])
        }
    }
}
