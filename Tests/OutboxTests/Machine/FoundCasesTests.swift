import Primitives
import Testing

@testable import Outbox

/// The cases that races with real servers have found, each named after the broken promise.
struct FoundCasesTests {
    private let shell = Shell()

    private func strong(_ etag: String) -> WriteGuard { .ifMatch(Validator(strong: etag)!) }

    // MARK: - Tags

    @Test("A rival that writes every second does not starve a change when the tags are digests")
    func busyResource() throws {
        shell.accept(try .put("a=2&b=1", on: "a=1&b=1", etag: nil))
        let digestTag = FlatObject.digestTag("a=1&b=5")
        shell.read(200, "a=1&b=5", etag: digestTag, modified: shell.now)
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=5".utf8))])
        #expect(shell.sends.map(\.guarding) == [strong(digestTag)])
    }

    @Test("A body that a rival has just restored is a new version with a sound tag, not a version without one")
    func restoredBody() throws {
        shell.accept(try .put("a=2", on: "a=1", etag: nil))
        shell.read(200, "a=1", etag: "\"x\"", modified: shell.now)
        shell.sleep()
        // A rival has written another body and then this one again.
        let modified = shell.now
        shell.read(200, "a=1", etag: "\"y\"", modified: modified)
        #expect(shell.sends.isEmpty)
        shell.sleep()
        shell.read(200, "a=1", etag: "\"y\"", modified: modified)
        #expect(shell.sends.map(\.guarding) == [strong("\"y\"")])
    }

    @Test("An origin with a tag and a date of each answer delays a change by a few looks only")
    func tagOfAnswer() throws {
        let id = shell.accept(try .put("a=2", on: "a=1", etag: nil))
        for number in 0..<5 {
            #expect(shell.sends.isEmpty)
            shell.read(200, "a=1", etag: "\"\(number)\"", modified: shell.now)
            shell.sleep()
        }
        #expect(shell.sends.map(\.guarding) == [.unguarded] && shell.rows[id]!.isUnguarded)
    }

    @Test("A weak tag with a Date a little later than its evaluation is read again, and the request is guarded")
    func lateDate() throws {
        let id = shell.accept(try .put("a=2", on: "a=1", etag: nil))
        let modified = shell.now - .seconds(2)
        shell.read(200, "a=1", etag: "W/\"x\"", modified: modified)
        try #require(shell.sends.isEmpty)
        shell.sleep()
        shell.read(200, "a=1", etag: "\"x\"", modified: modified)
        #expect(shell.sends.map(\.guarding) == [strong("\"x\"")] && !shell.rows[id]!.isUnguarded)
    }

    // MARK: - Decisions about unknown outcomes

    @Test(
        "A POST that a decision repeats does not deny that the first request may have had its effect", arguments: 0..<2)
    func repeatedPost(_ number: Int) throws {
        let id = shell.accept(try .post("x"))
        try shell.answer(503)
        shell.step([.retry(id), .resolve(id, .ours)][number])
        #expect(shell.sends.count == 1 && shell.reads.isEmpty)
        try shell.answer(422)
        #expect(shell.state(id) == .rejected && shell.rows[id]!.mayBeApplied)
        shell.step(.cancel(id))
        #expect(shell.state(id) == .cancelled && shell.rows[id]!.mayBeApplied)
    }

    @Test("A blind change that a decision repeats does not deny that the first request may have had its effect")
    func repeatedBlindChange() throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.base = .blind })
        shell.loseAnswer()
        shell.sleep()
        shell.read(400)
        #expect(shell.state(id) == .uncertain)
        shell.step(.resolve(id, .ours))
        // No GET can tell, so none looks again, not even after a pause or in the next process.
        try shell.answer(429)
        shell.kill()
        shell.sleep()
        #expect(shell.sends.map(\.guarding) == [.unguarded] && shell.reads.isEmpty)
        try shell.answer(422)
        #expect(shell.state(id) == .rejected && shell.rows[id]!.mayBeApplied)
    }

    @Test("A blind change that a decision repeats is looked at again after one more lost answer")
    func blindChangeLostAgain() throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.base = .blind })
        shell.loseAnswer()
        shell.sleep()
        shell.read(400)
        shell.step(.resolve(id, .ours))
        shell.loseAnswer()
        shell.sleep()
        #expect(shell.sends.isEmpty && shell.reads.map(\.purpose) == [.look])
    }

    @Test("A decision for ours about an outcome that a redirect to another origin hides sends the change again")
    func hiddenOutcome() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        shell.loseAnswer()
        shell.sleep()
        shell.read(307, location: "https://evil.example/a")
        #expect(shell.state(id) == .uncertain && shell.problem(id) == .redirected)
        shell.step(.resolve(id, .ours))
        #expect(shell.reads.isEmpty && shell.sends.map(\.guarding) == [.unguarded])
        #expect(shell.rows[id]!.mayBeApplied)
        // A redirected request itself has had no effect, so the next one keeps its precondition.
        let other = Shell()
        let rejected = other.accept(try .put("a=2", on: "a=1"))
        try other.answer(307, location: "https://evil.example/a")
        #expect(other.state(rejected) == .rejected && other.problem(rejected) == .redirected)
        other.step(.resolve(rejected, .ours))
        other.read(200, "a=1")
        #expect(other.sends.map(\.guarding) == [strong("\"1\"")])
    }

    // MARK: - Ours

    @Test("The policy ours takes back no edit of a rival that does not clash")
    func policyOurs() throws {
        shell.accept(try .put("a=2&b=1", on: "a=1&b=1").with { $0.onConflict = .ours })
        try shell.answer(412)
        shell.read(200, "a=7&b=5", etag: "\"2\"")
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=5".utf8))])
        #expect(shell.sends.map(\.guarding) == [strong("\"2\"")])
    }

    /// Leaves a change of `a` and a rival's version in conflict.
    private func conflict(_ draft: ChangeDraft, theirs: String = "a=7&b=5") throws -> Change.ID {
        let id = shell.accept(draft)
        try shell.answer(412)
        shell.read(200, theirs, etag: "\"2\"")
        #expect(shell.state(id) == .conflict)
        return id
    }

    @Test(
        "A decision for ours takes back no edit of a rival that does not clash",
        arguments: [ConflictPolicy.merge, .hold])
    func decisionOurs(_ policy: ConflictPolicy) throws {
        let id = try conflict(.put("a=2&b=1", on: "a=1&b=1").with { $0.onConflict = policy })
        shell.step(.resolve(id, .ours))
        #expect(shell.rows[id]!.draft.ours == Array("a=2&b=5".utf8))
        #expect(shell.rows[id]!.draft.base.version?.body == Array("a=7&b=5".utf8))
        shell.read(200, "a=7&b=5", etag: "\"2\"")
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=5".utf8))])
    }

    @Test("A decision for ours over an edit that does not clash sends both edits")
    func decisionWithoutClash() throws {
        let id = try conflict(.put("a=2&b=1", on: "a=1&b=1").with { $0.onConflict = .hold }, theirs: "a=1&b=5")
        shell.step(.resolve(id, .ours))
        shell.read(200, "a=1&b=5", etag: "\"2\"")
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=5".utf8))])
    }

    @Test("A decision for ours sends a body that is no JSON whole")
    func decisionOursOfText() throws {
        let id = try conflict(.put("ours", on: "base"), theirs: "theirs")
        shell.step(.resolve(id, .ours))
        shell.read(200, "theirs", etag: "\"2\"")
        #expect(shell.sends.map(\.content) == [.body(Array("ours".utf8))])
    }

    @Test("A decision for ours does not merge the rival's edit of an earlier conflict, which the rival took back")
    func earlierConflict() throws {
        let id = try conflict(.put("x=1&y=2", on: "x=1&y=1"), theirs: "x=2&y=7")
        #expect(shell.rows[id]!.theirs != nil)
        shell.step(.retry(id))
        #expect(shell.rows[id]!.theirs == nil)
        shell.read(200, "x=1&y=1", etag: "\"3\"")
        try shell.answer(422)
        #expect(shell.state(id) == .rejected && shell.rows[id]!.theirs == nil)
        // The row of an earlier version of Larder.
        shell.rows[id]!.theirs = ResourceVersion(body: Array("x=2&y=7".utf8), validator: nil)
        shell.step(.resolve(id, .ours))
        #expect(shell.rows[id]!.draft.ours == Array("x=1&y=2".utf8) && shell.rows[id]!.theirs == nil)
        shell.read(200, "x=1&y=1", etag: "\"3\"")
        #expect(shell.sends.map(\.content) == [.body(Array("x=1&y=2".utf8))])
    }

    @Test("Only a conflict has the origin's version", arguments: [422, 401, 204])
    func versionOfConflict(_ status: Int) throws {
        let id = try conflict(.put("a=2&b=1", on: "a=1&b=1"))
        // The row of an earlier version of Larder.
        shell.rows[id]!.state = .pending
        shell.kill()
        shell.sleep()
        shell.read(200, "a=1&b=1", etag: "\"3\"")
        try shell.answer(status)
        if status == 204 { shell.read(200, "a=2&b=1", etag: "\"4\"") }
        #expect(shell.rows[id]!.theirs == nil)
    }

    @Test("A decision with a body keeps this body whole")
    func decisionBody() throws {
        let id = try conflict(.put("a=2&b=1", on: "a=1&b=1"))
        shell.step(.resolve(id, .body(Array("a=3&b=1".utf8))))
        shell.read(200, "a=7&b=5", etag: "\"2\"")
        #expect(shell.sends.map(\.content) == [.body(Array("a=3&b=1".utf8))])
    }

    // MARK: - Rewritten bases

    /// Makes a change on the body of an earlier change, which the origin has rewritten while it stored it.
    private func changeOnRewritten(_ ours: String, base: String, rewritten: String, _ policy: ConflictPolicy) throws {
        shell.accept(try .put(base, on: "a=1"))
        shell.accept(try .put(ours, on: base, etag: nil).with { $0.onConflict = policy })
        let digestTag = FlatObject.digestTag(rewritten)
        try shell.answer(201, etag: digestTag)
        for _ in 0..<2 { shell.read(200, rewritten, etag: digestTag) }
        #expect(shell.sends.map(\.guarding) == [strong(digestTag)])
    }

    @Test(
        "A change keeps the members that the origin has rewritten",
        arguments: [ConflictPolicy.merge, .ours, .theirs])
    func rewrittenMembers(_ policy: ConflictPolicy) throws {
        try changeOnRewritten("a=3&r=1", base: "a=2&r=1", rewritten: "a=2&r=8&uid=7", policy)
        #expect(shell.sends.map(\.content) == [.body(Array("a=3&r=8&uid=7".utf8))])
    }

    @Test(
        "A member that the origin has rewritten and the author has changed is no clash with a rival",
        arguments: [ConflictPolicy.merge, .ours, .theirs])
    func rewrittenAndChanged(_ policy: ConflictPolicy) throws {
        try changeOnRewritten("a=3&r=1", base: "a=2&r=1", rewritten: "a=20&r=8", policy)
        #expect(shell.sends.map(\.content) == [.body(Array("a=3&r=8".utf8))])
    }

    @Test("A rewritten base that is no JSON, or with the policy hold, is replaced")
    func rewrittenText() throws {
        try changeOnRewritten("three", base: "two", rewritten: "TWO", .merge)
        #expect(shell.sends.map(\.content) == [.body(Array("three".utf8))])
        let other = FoundCasesTests()
        try other.changeOnRewritten("a=3&r=1", base: "a=2&r=1", rewritten: "a=2&r=8", .hold)
        #expect(other.shell.sends.map(\.content) == [.body(Array("a=3&r=1".utf8))])
    }
}
