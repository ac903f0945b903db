import Primitives
import Testing

@testable import Outbox

/// Changes that become one, named after the rule or the fault.
struct SquashTests {
    private let now = Timestamp(seconds: 1_800_000_000)

    private func change(_ id: Change.ID, _ draft: ChangeDraft, _ state: ChangeState = .pending) -> Change {
        var change = Change(id: id, draft: draft, created: now)
        change.state = state
        return change
    }

    private func squash(
        _ changes: [Change], _ limits: OutboxLimits = OutboxLimits()
    ) throws -> (survivor: Change, cancelled: [Change]) {
        var squash = try Squash(changes)
        while let order = try squash.nextMerge(1) { try squash.take(FlatObject.merge(order), limits) }
        return squash.result
    }

    /// The reason of a refusal; `nil`: the changes become one.
    private func refusal(_ drafts: [ChangeDraft], _ limits: OutboxLimits = OutboxLimits()) throws -> String? {
        do {
            _ = try squash(drafts.enumerated().map { change(Change.ID($0.offset + 1), $0.element) }, limits)
            return nil
        } catch let error as OutboxError {
            guard case .invalid(.squash(let reason)) = error else { throw error }
            return reason
        }
    }

    // MARK: - Edits of several authors

    @Test("Squash keeps the edit of a change that the last one does not contain")
    func earlierEdit() throws {
        let shell = Shell()
        // The change at the head keeps the others from being sent.
        shell.accept(try .post("x", at: "https://origin.example/a"))
        let ids = [
            shell.accept(try .put("a=2&b=1&c=1", on: "a=1&b=1&c=1")),
            shell.accept(try .put("a=1&b=2&c=1", on: "a=1&b=1&c=1")),
            shell.accept(try .put("a=1&b=1&c=2", on: "a=1&b=1&c=1")),
        ]
        shell.step(.squash(ids))
        #expect(ids.map(shell.state) == [.cancelled, .cancelled, .pending] && shell.refusals.isEmpty)
        let survivor = shell.rows[ids[2]]!
        #expect(survivor.draft.ours == Array("a=2&b=2&c=2".utf8))
        #expect(survivor.draft.base.version?.body == Array("a=1&b=1&c=1".utf8))
        try shell.answer(201)
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=2&c=2".utf8))])
        // A rival has written meanwhile.
        try shell.answer(412)
        shell.read(200, "a=1&b=1&c=1&d=9", etag: "\"2\"")
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=2&c=2&d=9".utf8))])
    }

    @Test("Squash of changes that clash is refused, and leaves them as they are")
    func clash() throws {
        let shell = Shell()
        shell.accept(try .post("x", at: "https://origin.example/a"))
        let ids = [
            shell.accept(try .put("a=2", on: "a=1")),
            shell.accept(try .put("a=3", on: "a=1").with { $0.onConflict = .ours }),
        ]
        shell.step(.squash(ids))
        #expect(shell.refusals == [.invalid(.squash("change 3 clashes with the changes before"))])
        #expect(ids.map(shell.state) == [.pending, .pending] && shell.machine.decisions.isEmpty)
        #expect(shell.rows[ids[1]]!.draft.ours == Array("a=3".utf8))
        // The lane goes on.
        try shell.answer(201)
        #expect(shell.sends.map(\.flight.change) == [ids[0]])
    }

    @Test("Squash makes no merge that the later change does not permit, or that its base does not allow")
    func impossibleMerges() throws {
        let first = try ChangeDraft.put("a=2&b=1", on: "a=1&b=1")
        let second = try ChangeDraft.put("a=1&b=2", on: "a=1&b=1")
        #expect(try refusal([first, second]) == nil)
        #expect(try refusal([first, second.with { $0.onConflict = .hold }])?.contains("permits no merge") == true)
        let unknown = second.with { draft in
            let digest = BodyDigest(of: Array("a=1&b=1".utf8))
            draft.base = .version(ResourceVersion(body: nil, digest: digest, validator: nil))
        }
        #expect(try refusal([first, unknown])?.contains("was not kept") == true)
        var limits = OutboxLimits()
        limits.changeBytes = 6
        #expect(try refusal([first, second], limits)?.contains("longer than 6 bytes") == true)
        #expect(try refusal([.put("one", on: "base"), .put("two", on: "base")])?.contains("clashes") == true)
    }

    @Test("A change on the body of the change before needs no merge, also if the bodies are no JSON")
    func chain() throws {
        let first = try ChangeDraft.put("one", on: "base")
        let second = try ChangeDraft.put("two", on: "one").with { $0.onConflict = .hold }
        let unknown = second.with { draft in
            draft.base = .version(
                ResourceVersion(body: nil, digest: BodyDigest(of: Array("one".utf8)), validator: nil))
        }
        // A rival's version of a text is never merged, so a missing base makes no difference.
        for last in [second, unknown] {
            let result = try squash([change(1, first), change(2, last)])
            #expect(result.survivor.draft.ours == Array("two".utf8))
            #expect(result.survivor.draft.base.version?.body == Array("base".utf8))
        }
    }

    @Test("Squash of a blind change and another one is refused, because one has a precondition")
    func blind() throws {
        let blind = try ChangeDraft.put("a=3", on: "a=1").with { $0.base = .blind }
        let other = try ChangeDraft.put("a=2", on: "a=1")
        #expect(try refusal([blind, other])?.contains("blind") == true)
        #expect(try refusal([other, blind])?.contains("blind") == true)
        let result = try squash([change(1, blind), change(2, blind.with { $0.ours = Array("a=4".utf8) })])
        #expect(result.survivor.draft.base == .blind && result.survivor.draft.ours == Array("a=4".utf8))
    }

    // MARK: - Deletions

    @Test("Squash of an edit and a deletion is a deletion of the first base, if the author has seen the edit")
    func deletion() throws {
        let result = try squash([change(1, .put("a=2", on: "a=1")), change(2, .delete("a=2"))])
        #expect(result.survivor.id == 2 && result.survivor.draft.method == "DELETE")
        #expect(result.survivor.draft.base.version?.body == Array("a=1".utf8) && result.survivor.draft.ours == nil)
        #expect(result.cancelled.map(\.problem?.kind) == [.squashed])
        #expect(try refusal([.put("a=2", on: "a=1"), .delete("a=1")])?.contains("clashes") == true)
        // The same value in another form.
        #expect(try refusal([.put("a=2&b=1", on: "a=1"), .delete("b=1&a=2")]) == nil)
    }

    @Test("Squash of a deletion and a creation is refused, because a merge would keep members of the deleted resource")
    func recreation() throws {
        #expect(try refusal([.delete("a=1"), .put("a=3", on: nil)])?.contains("deletes the resource") == true)
        #expect(try refusal([.delete("a=1"), .put("a=3", on: "a=1")])?.contains("deletes the resource") == true)
        #expect(try refusal([.put("a=2", on: nil), .delete("a=2")])?.contains("created and deleted") == true)
    }

    // MARK: - Edits that one change cannot tell

    @Test("Squash does not lose an edit that takes back an edit or a version outside of the squash")
    func takenBack() throws {
        // Readers see `b` and another `n` because of a change before the squash, or in the cache.
        let first = try ChangeDraft.put("a=1&n=1", on: "a=0&n=1")
        let reason = "change 2 sets a value back"
        #expect(try refusal([first, .put("a=1&n=1", on: "a=1&b=1&n=1")])?.contains(reason) == true)
        #expect(try refusal([first, .put("a=1&n=1", on: "a=1&n=5")])?.contains(reason) == true)
        #expect(try refusal([first, .put("a=0&n=1", on: "a=1&n=1")])?.contains(reason) == true)
        #expect(try refusal([first, .put("a=2&b=1&n=1", on: "a=1&b=1&n=1")]) == nil)
        #expect(try refusal([.put("one", on: "base"), .put("base", on: "one")])?.contains(reason) == true)
        // The second change replaces any version whole, and the merge of the squash would not.
        let unknown = try ChangeDraft.put("a=2&n=1", on: "a=1&n=1").with { draft in
            let digest = BodyDigest(of: Array("a=1&n=1".utf8))
            draft.base = .version(ResourceVersion(body: nil, digest: digest, validator: nil))
        }
        #expect(try refusal([first, unknown])?.contains(reason) == true)
    }

    @Test("Squash gives no edit the date of expiry or the easier policy of another change")
    func policies() throws {
        let (first, second) = (try ChangeDraft.put("a=2", on: "a=1"), try ChangeDraft.put("a=3", on: "a=2"))
        let mortal = second.with { $0.expires = now + .seconds(60) }
        #expect(try refusal([first, mortal])?.contains("expires at another date") == true)
        #expect(try refusal([first, second.with { $0.onConflict = .theirs }])?.contains("theirs") == true)
        #expect(try refusal([first.with { $0.onConflict = .theirs }, second])?.contains("theirs") == true)
        let policies: [(ConflictPolicy, ConflictPolicy, ConflictPolicy)] = [
            (.merge, .ours, .merge), (.ours, .merge, .merge), (.hold, .ours, .hold), (.ours, .hold, .hold),
            (.ours, .ours, .ours),
        ]
        for (one, other, expected) in policies {
            let changes = [
                change(1, first.with { $0.onConflict = one }), change(2, second.with { $0.onConflict = other }),
            ]
            #expect(try squash(changes).survivor.draft.onConflict == expected)
        }
    }

    @Test("Squash is refused if another lane edits the resource between the changes, because it would come first")
    func otherLane() throws {
        let shell = Shell()
        shell.accept(try .post("x", at: "https://origin.example/a"))
        let first = shell.accept(try .put("a=2&b=1", on: "a=1&b=1"))
        let other = shell.accept(try .put("a=3&b=1", on: "a=2&b=1").with { $0.lane = "other" })
        let last = shell.accept(try .put("a=3&b=2", on: "a=3&b=1"))
        shell.step(.squash([first, last]))
        let reason = "change \(other) of another lane edits the resource between the changes"
        #expect(shell.refusals == [.invalid(.squash(reason))])
        #expect(shell.state(first) == .pending && shell.rows[last]!.draft.ours == Array("a=3&b=2".utf8))
    }

    // MARK: - Other rules

    @Test("Squash refuses changes under way or perhaps applied, a POST, and another resource, caller or credential")
    func refusals() throws {
        let first = change(1, try .put("a=2", on: "a=1"))
        var applied = change(2, try .put("a=3", on: "a=2"))
        applied.mayBeApplied = true
        let others = [
            applied, change(2, try .put("a=3", on: "a=2"), .sending), change(2, try .post("x")),
            change(2, try .put("a=3", on: "a=2", at: "https://origin.example/b")),
            change(2, try .put("a=3", on: "a=2").with { $0.caller = "d" }),
            change(2, try .put("a=3", on: "a=2").with { $0.credential = "work" }),
            change(0, try .put("a=3", on: "a=2")),
        ]
        for other in others { #expect(throws: OutboxError.self) { try squash([first, other]) } }
        #expect(throws: OutboxError.self) { try squash([first]) }
    }

    @Test("Squash of an edit and a patch has the type of a body, not that of the patch")
    func typeOfPatch() throws {
        let patch = try ChangeDraft.put("a=3", on: "a=2").with { draft in
            (draft.method, draft.edit) = ("PATCH", .jsonPatch(Array("a=3".utf8)))
            draft.fields = [ChangeField("Content-Type", "application/json-patch+json; charset=utf-8")]
        }
        let result = try squash([change(1, .put("a=2", on: "a=1")), change(2, patch)])
        #expect(result.survivor.draft.method == "PUT")
        #expect(result.survivor.draft.fields == [ChangeField("Content-Type", "application/json")])
    }

    @Test("Squash with a PATCH as its first change is refused, because the origin may take no PUT")
    func firstPatch() throws {
        let patch = try ChangeDraft.put("a=2", on: "a=1").with { draft in
            (draft.method, draft.edit) = ("PATCH", .mergePatch(Array("a=2".utf8)))
        }
        let refused = "change 1 is a PATCH, and a squash sends a PUT"
        #expect(try refusal([patch, .put("a=3", on: "a=2")]) == refused)
        #expect(try refusal([patch, .delete("a=2")]) == refused)
        #expect(try refusal([.put("a=1", on: "a=0"), patch]) == nil)
    }

    @Test("A namespace that is discarded during the merge of a squash ends the squash")
    func discarded() throws {
        let shell = Shell()
        shell.accept(try .post("x", at: "https://origin.example/a"))
        let ids = try ["a=2&b=1", "a=1&b=2"].map { shell.accept(try .put($0, on: "a=1&b=1")) }
        shell.holdsMerges = true
        shell.step(.squash(ids))
        #expect(shell.machine.decisions.count == 1 && shell.refusals.isEmpty)
        shell.step(.discarded(namespace: "n"))
        #expect(shell.refusals == [.ended])
        shell.releaseMerges()
        #expect(shell.machine.decisions.isEmpty && shell.machine.lanes.isEmpty && shell.refusals.count == 1)
    }
}
