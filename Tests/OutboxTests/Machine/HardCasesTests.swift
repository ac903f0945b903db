import Primitives
import Testing

@testable import Outbox

/// The hard cases that the machine decides, each named after its case.
struct HardCasesTests {
    private let shell = Shell()

    @Test("kill -9 after the acknowledgement: the next process looks and sends the change once")
    func killAfterAcceptance() throws {
        let id = shell.accept(try .put("a=2", on: "a=1", etag: nil))
        shell.kill()
        shell.read(200, "a=1")
        #expect(shell.sends.count == 1)
        try shell.answer(204)
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(id) == .done)
    }

    @Test("kill -9 during sending, applied: the look finds the effect, and no request follows")
    func killDuringSendingApplied() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        #expect(shell.state(id) == .sending)
        shell.kill()
        #expect(shell.state(id) == .pending && shell.rows[id]!.mayBeApplied && shell.sends.isEmpty)
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(id) == .done && shell.sends.isEmpty)
    }

    @Test("kill -9 during sending, not applied: the change is sent again under the present tag")
    func killDuringSendingNotApplied() throws {
        shell.accept(try .put("a=2", on: "a=1"))
        shell.kill()
        shell.read(200, "a=1", etag: "\"1\"")
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: "\"1\"")!)])
    }

    @Test("kill -9 after the confirmation: the next process reads again and never sends")
    func killAfterConfirmation() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(204)
        shell.kill()
        #expect(shell.sends.isEmpty && shell.reads.map(\.purpose) == [.confirmation])
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(id) == .done)
    }

    @Test("Answer lost and a rival edits another field: both edits are kept, applied or not")
    func lostAnswerOtherField() throws {
        let id = shell.accept(try .put("a=2&b=1", on: "a=1&b=1"))
        shell.loseAnswer()
        shell.sleep()
        shell.read(200, "a=2&b=9", etag: "\"3\"")
        #expect(shell.state(id) == .done && shell.sends.isEmpty)

        let other = Shell()
        other.accept(try .put("a=2&b=1", on: "a=1&b=1"))
        other.loseAnswer()
        other.sleep()
        other.read(200, "a=1&b=9", etag: "\"2\"")
        #expect(other.sends.map(\.content) == [.body(Array("a=2&b=9".utf8))])
    }

    @Test("Answer lost and a rival edits the same field: a conflict with three versions")
    func lostAnswerSameField() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        shell.loseAnswer()
        shell.sleep()
        shell.read(200, "a=9", etag: "\"3\"")
        let change = shell.rows[id]!
        #expect(change.state == .conflict && change.problem?.kind == .clash)
        #expect(change.draft.base.version?.body == Array("a=1".utf8))
        #expect(change.draft.ours == Array("a=2".utf8))
        #expect(change.theirs?.body == Array("a=9".utf8) && change.theirs?.validator?.etag == "\"3\"")
    }

    @Test("POST answer lost: one request is seen, and the change is uncertain also after a kill")
    func lostPostAnswer() throws {
        let id = shell.accept(try .post("x"))
        shell.kill()
        #expect(shell.state(id) == .uncertain && shell.sends.isEmpty && shell.reads.isEmpty)
        shell.step(.retry(id))
        #expect(shell.sends.count == 1)
    }

    @Test("Cancel racing send: the request under way is not cancelled, and its answer counts")
    func cancelDuringSending() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        shell.step(.cancel(id))
        #expect(shell.refusals == [.busy])
        try shell.answer(204)
        shell.step(.cancel(id))
        #expect(shell.refusals == [.busy, .confirmed])
        shell.read(200, "a=2", etag: "\"2\"")
        shell.step(.cancel(id))
        #expect(shell.refusals.last == .ended && shell.state(id) == .done)
    }

    @Test("Cancel during the look: the late answer of the GET has no effect")
    func cancelDuringLook() throws {
        let id = shell.accept(try .put("a=2", on: "a=1", etag: nil))
        shell.step(.cancel(id))
        #expect(shell.state(id) == .cancelled && shell.dropped == [id])
        shell.read(200, "a=1")
        #expect(shell.sends.isEmpty && shell.state(id) == .cancelled && shell.machine.flightCount == 0)
    }

    @Test("Cancel then restart: a cancelled change stays cancelled, and remembers that it may be applied")
    func cancelThenRestart() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        shell.loseAnswer()
        shell.step(.cancel(id))
        shell.kill()
        #expect(shell.state(id) == .cancelled && shell.rows[id]!.mayBeApplied)
        #expect(shell.sends.isEmpty && shell.reads.isEmpty)
    }

    @Test("First of two rejected: its lane stops, and other lanes go on")
    func firstOfTwoRejected() throws {
        let first = shell.accept(try .put("a=2", on: "a=1"))
        let second = shell.accept(try .put("a=3", on: "a=2", etag: nil))
        try shell.answer(422)
        let other = shell.accept(try .put("a=2", on: "a=1", at: "https://origin.example/b"))
        #expect(shell.state(first) == .rejected && shell.state(second) == .pending)
        #expect(shell.sends.map(\.flight.change) == [other])
        shell.step(.cancel(first))
        #expect(shell.reads.map(\.flight.change) == [second])
    }

    @Test("401 then a new credential: the change is sent again, and no attempt is counted")
    func newCredential() throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.credential = "work" })
        try shell.answer(401)
        #expect(shell.state(id) == .blocked)
        shell.step(.credentialChanged(namespace: "n", name: "other"))
        #expect(shell.sends.isEmpty && shell.reads.isEmpty)
        shell.step(.credentialChanged(namespace: "n", name: "work"))
        #expect(shell.sends.count == 1 && shell.rows[id]!.attempts == 1)
    }

    @Test("A credential that changes during a request with the earlier one does not leave the change blocked")
    func credentialRace() throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.credential = "work" })
        shell.step(.credentialChanged(namespace: "n", name: "work"))
        try shell.answer(401)
        #expect(shell.state(id) == .sending && shell.sends.count == 1)
    }

    @Test("Redirect to another host: the change is rejected and no request follows")
    func redirectToOtherHost() throws {
        for location in ["https://evil.example/a", "http://origin.example/a", "https://origin.example:8443/a"] {
            let shell = Shell()
            let id = shell.accept(try .put("a=2", on: "a=1"))
            try shell.answer(308, location: location)
            #expect(shell.state(id) == .rejected && shell.problem(id) == .redirected && shell.sends.isEmpty)
        }
    }

    @Test("Weak ETag: the change is sent unguarded, never under If-Match, so no 412 can repeat")
    func weakTag() throws {
        let id = shell.accept(try .put("a=2", on: "a=1", etag: nil))
        shell.read(200, "a=1", etag: "W/\"1\"")
        #expect(shell.sends.map(\.guarding) == [.unguarded] && shell.rows[id]!.isUnguarded)
    }

    @Test("A tag that is weak only within its first second is read again, and then used")
    func tagBecomesStrong() throws {
        shell.accept(try .put("a=2", on: "a=1", etag: nil))
        let modified = shell.now
        shell.read(200, "a=1", etag: "W/\"1\"", modified: modified)
        #expect(shell.sends.isEmpty && shell.wake == modified + .milliseconds(2200))
        shell.sleep()
        shell.read(200, "a=1", etag: "\"1\"", modified: modified)
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: "\"1\"")!)])
    }

    @Test("Same-second ETag: a version younger than two seconds is read again before it is named")
    func sameSecondTag() throws {
        shell.accept(try .put("a=2&b=1", on: "a=1&b=1", etag: nil))
        let modified = shell.now
        shell.read(200, "a=1&b=1", etag: "\"s\"", modified: modified)
        #expect(shell.sends.isEmpty)
        shell.sleep()
        // A rival wrote within the same second, so the tag is the same.
        shell.read(200, "a=1&b=5", etag: "\"s\"", modified: modified)
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=5".utf8))])
    }

    @Test("An origin that refuses the tag of its own version twice leads to a conflict, not to a loop")
    func refusedValidator() throws {
        let id = shell.accept(try .put("a=2", on: "a=1", etag: nil))
        shell.read(200, "a=1", etag: "\"1-gzip\"")
        try shell.answer(412)
        shell.read(200, "a=1", etag: "\"1-gzip\"")
        try shell.answer(412)
        shell.read(200, "a=1", etag: "\"1-gzip\"")
        #expect(shell.state(id) == .conflict && shell.sends.isEmpty)
        #expect(shell.rows[id]!.problem == ChangeProblem(.validatorRefused, status: 412))
        shell.step(.resolve(id, .ours))
        #expect(shell.sends.map(\.guarding) == [.unguarded])
    }

    @Test("An origin that refuses every version waits between the looks")
    func refusesForever() throws {
        shell.accept(try .put("a=2&n=0", on: "a=1&n=0", etag: nil))
        for number in 1...3 {
            shell.read(200, "a=1&n=\(number)", etag: "\"\(number)\"")
            try shell.answer(412)
        }
        #expect(shell.reads.isEmpty && shell.wake != nil)
    }

    @Test(
        "Deleted remotely: no policy brings the resource back, only a decision does",
        arguments: ConflictPolicy.allCases)
    func deletedRemotely(_ policy: ConflictPolicy) throws {
        let id = shell.accept(try .put("a=2", on: "a=1", etag: nil).with { $0.onConflict = policy })
        shell.read(404)
        #expect(shell.sends.isEmpty && shell.state(id) == (policy == .theirs ? .cancelled : .conflict))
        guard policy != .theirs else { return }
        shell.step(.resolve(id, .ours))
        // The decision is older than five seconds at a later restart, so only a GET comes before the request.
        if !shell.reads.isEmpty { shell.read(404) }
        #expect(shell.sends.map(\.guarding) == [.ifNoneMatchAny])
    }

    @Test("DELETE of the absent: the change is done without a request")
    func deleteOfAbsent() throws {
        let id = shell.accept(try .delete("a=1").with { $0.base = .version(ResourceVersion(body: [], validator: nil)) })
        shell.read(404)
        #expect(shell.state(id) == .done && shell.sends.isEmpty)
    }

    @Test("DELETE of a version that a rival has edited: a conflict")
    func deleteOfEdited() throws {
        let id = shell.accept(try .delete("a=1"))
        try shell.answer(412)
        shell.read(200, "a=9", etag: "\"2\"")
        #expect(shell.state(id) == .conflict)
        shell.step(.resolve(id, .ours))
        if !shell.reads.isEmpty { shell.read(200, "a=9", etag: "\"2\"") }
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: "\"2\"")!)])
    }

    @Test("A server that rewrites the body (Radicale): the next change of the lane is sent without a conflict")
    func rewritingServer() throws {
        let tag = FlatObject.digestTag("a=2&uid=7")
        let first = shell.accept(try .put("a=2", on: "a=1"))
        let second = shell.accept(try .put("a=3", on: "a=2", etag: nil))
        try shell.answer(201, etag: tag)
        shell.read(200, "a=2&uid=7", etag: tag)
        #expect(shell.state(first) == .done)
        shell.read(200, "a=2&uid=7", etag: tag)
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: tag)!)])
        #expect(shell.sends.map(\.content) == [.body(Array("a=3&uid=7".utf8))] && shell.state(second) == .sending)
    }

    @Test("A rival edit in the second of the confirmation, under the same tag, is no rewriting of the server")
    func rivalInSameSecond() throws {
        shell.accept(try .put("a=2&b=1", on: "a=1&b=1"))
        shell.accept(try .put("a=3&b=1", on: "a=2&b=1", etag: nil))
        try shell.answer(201, etag: "\"1800000000\"")
        shell.read(200, "a=2&b=9", etag: "\"1800000000\"")
        shell.read(200, "a=2&b=9", etag: "\"1800000000\"")
        #expect(shell.sends.map(\.content) == [.body(Array("a=3&b=9".utf8))])
    }

    @Test("A rival edit between the confirmation and its read is no rewriting of the server")
    func rivalAfterConfirmation() throws {
        shell.accept(try .put("a=2&b=1", on: "a=1&b=1"))
        shell.accept(try .put("a=3&b=1", on: "a=2&b=1", etag: nil))
        try shell.answer(201, etag: "\"2\"")
        shell.read(200, "a=2&b=9", etag: "\"3\"")
        shell.read(200, "a=2&b=9", etag: "\"3\"")
        #expect(shell.sends.map(\.content) == [.body(Array("a=3&b=9".utf8))])
    }

    @Test("A conflict told as 500 (Xandikos): the look merges and sends under the new tag")
    func conflictAs500() throws {
        shell.accept(try .put("a=2&b=1", on: "a=1&b=1"))
        try shell.answer(500)
        shell.sleep()
        shell.read(200, "a=1&b=4", etag: "\"2\"")
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=4".utf8))])
    }
}
