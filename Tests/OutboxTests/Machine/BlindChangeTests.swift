import Primitives
import Testing

@testable import Outbox

/// Changes without a base that the origin refuses because of the state of the resource.
struct BlindChangeTests {
    private let shell = Shell()

    /// Lets the origin refuse a blind change three times. Each look finds another body, or none.
    private func refused(_ draft: ChangeDraft, _ status: Int, isAbsent: Bool = false) throws -> Change.ID {
        let id = shell.accept(draft.with { $0.base = .blind })
        for number in 1...3 {
            #expect(shell.sends.map(\.guarding) == [.unguarded] && shell.rows[id]!.attempts == number)
            try shell.answer(status)
            #expect(shell.reads.map(\.purpose) == [.look])
            shell.read(isAbsent ? 404 : 200, "a=1&n=\(number)", etag: "\"\(number)\"")
        }
        return id
    }

    @Test(
        "A blind change that the origin always refuses is a conflict after three requests", arguments: [409, 412, 428])
    func endlessRefusals(_ status: Int) throws {
        let id = try refused(.put("a=2", on: "a=1"), status)
        #expect(shell.state(id) == .conflict && shell.sends.isEmpty && shell.wake == nil)
        #expect(shell.rows[id]!.problem == ChangeProblem(.stateRefused, status: status))
        #expect(shell.rows[id]!.theirs?.body == Array("a=1&n=3".utf8) && !shell.rows[id]!.mayBeApplied)
    }

    @Test("A decision for ours sends a refused blind change with the precondition that its origin wants")
    func decision() throws {
        let id = try refused(.put("a=2", on: "a=1"), 428)
        shell.step(.resolve(id, .ours))
        shell.read(200, "a=1&n=3", etag: "\"3\"")
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: "\"3\"")!)])
        #expect(shell.sends.map(\.content) == [.body(Array("a=2".utf8))])

        let other = BlindChangeTests()
        let absent = try other.refused(.put("a=2", on: "a=1"), 428, isAbsent: true)
        #expect(other.shell.state(absent) == .conflict && other.shell.rows[absent]!.theirs == nil)
        other.shell.step(.resolve(absent, .ours))
        other.shell.read(404)
        #expect(other.shell.sends.map(\.guarding) == [.ifNoneMatchAny])
    }

    @Test("A look that fails after the third refusal is repeated, and no further request goes out without it")
    func failedLook() throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.base = .blind })
        for number in 1...2 {
            try shell.answer(409)
            shell.read(200, "a=1&n=\(number)", etag: nil)
        }
        try shell.answer(409)
        for _ in 0..<3 {
            shell.step(.readFailed(shell.reads.removeFirst().flight))
            #expect(shell.state(id) == .pending && shell.sends.isEmpty)
            shell.sleep()
        }
        shell.read(200, "a=1&n=3", etag: nil)
        #expect(shell.state(id) == .conflict && shell.sends.isEmpty)
        #expect(shell.rows[id]!.problem == ChangeProblem(.stateRefused, status: 409))
    }

    @Test("Another answer between the refusals begins their count anew")
    func otherAnswer() throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.base = .blind })
        for status in [409, 409, 429, 409, 409] {
            try shell.answer(status)
            if status == 429 { shell.sleep() } else { shell.read(200, "a=1", etag: "\"1\"") }
            #expect(shell.state(id) == .sending, "\(status)")
        }
        try shell.answer(204)
        #expect(shell.state(id) == .confirmed)
    }

    @Test(
        "A change with an idempotency key that the origin answers with 409 for some minutes is a conflict",
        arguments: 0..<3)
    func keyedRefusals(_ kind: Int) throws {
        var draft = try ChangeDraft.put("a=2", on: "a=1", etag: nil)
        draft.callerKey = CallerKey("k", payload: BodyDigest(of: Array("a=2".utf8)))
        if kind > 0 { draft.base = .blind }
        let id = shell.accept(draft)
        let (start, isAbsent) = (shell.now, kind == 2)
        func look() { isAbsent ? shell.read(404) : shell.read(200, "a=1", etag: nil) }
        if kind == 0 { look() }
        var requests = 0
        while requests < 20, !shell.sends.isEmpty {
            requests += 1
            #expect(shell.sends.map(\.guarding) == [.unguarded] && shell.sends[0].idempotencyKey != nil)
            try shell.answer(409)
            #expect(shell.state(id) == .pending)
            shell.sleep()
            look()
        }
        #expect(requests == 8 && shell.now - start > .seconds(10))
        #expect(shell.state(id) == .conflict && shell.rows[id]!.problem == ChangeProblem(.stateRefused, status: 409))
        #expect(shell.rows[id]!.theirs?.body == (isAbsent ? nil : Array("a=1".utf8)) && shell.rows[id]!.mayBeApplied)
        // The effect of the first request, which has come late, ends such a change.
        shell.step(.retry(id))
        shell.read(200, "a=2", etag: nil)
        #expect(shell.state(id) == .done)
    }

    @Test("A POST with an idempotency key that the origin answers with 409 for some minutes is a conflict")
    func keyedPost() throws {
        let id = shell.accept(try .post("x", key: "k"))
        let start = shell.now
        var requests = 0
        while requests < 20, !shell.sends.isEmpty {
            requests += 1
            try shell.answer(409)
            shell.sleep()
        }
        #expect(requests == 8 && shell.now - start > .seconds(10))
        #expect(shell.state(id) == .conflict && shell.rows[id]!.problem == ChangeProblem(.stateRefused, status: 409))
        shell.step(.resolve(id, .ours))
        #expect(shell.sends.count == 1)
    }

    @Test("A decision for ours that ends in lasting answers 409 to its key looks again")
    func keyedDecision() throws {
        var draft = try ChangeDraft.put("a=2", on: "a=1")
        draft.callerKey = CallerKey("k", payload: BodyDigest(of: Array("a=2".utf8)))
        let id = shell.accept(draft)
        shell.loseAnswer()
        shell.sleep()
        shell.read(307, location: "https://other.example/a")
        #expect(shell.problem(id) == .redirected)
        shell.step(.resolve(id, .ours))
        var requests = 0
        while requests < 20, !shell.sends.isEmpty {
            requests += 1
            try shell.answer(409)
            shell.sleep()
        }
        #expect(requests == 8 && shell.reads.map(\.purpose) == [.look])
    }

    @Test("A blind DELETE that the origin refuses three times is a conflict, and done if the resource is absent")
    func deletion() throws {
        let id = try refused(.delete("a=1"), 409)
        #expect(shell.state(id) == .conflict && shell.problem(id) == .stateRefused)
        shell.step(.resolve(id, .ours))
        shell.read(404)
        #expect(shell.state(id) == .done && shell.sends.isEmpty)
    }
}
