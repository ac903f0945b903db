import Primitives
import Testing

@testable import Outbox

struct ChangeTests {
    private let now = Timestamp(seconds: 1_800_000_000)

    private func change(_ id: Change.ID, _ draft: ChangeDraft, _ state: ChangeState = .pending) -> Change {
        var change = Change(id: id, draft: draft, created: now)
        change.state = state
        return change
    }

    // MARK: - Drafts

    @Test(
        "Fields that the outbox writes or that carry a secret are refused, in any case",
        arguments: ["Authorization", "cookie", "PROXY-AUTHORIZATION", "If-Match", "if-none-match", "Idempotency-Key"])
    func reservedFields(_ name: String) throws {
        let draft = try ChangeDraft.put("a=1", on: nil).with { $0.fields = [ChangeField(name, "x")] }
        #expect(throws: OutboxError.invalid(.reservedField(name))) { try draft.check(OutboxLimits()) }
    }

    @Test("A field with a line break, and a name that is no token, are refused")
    func malformedFields() throws {
        for field in [ChangeField("X", "a\r\nCookie: b"), ChangeField("X Y", "a"), ChangeField("", "a")] {
            let draft = try ChangeDraft.put("a=1", on: nil).with { $0.fields = [field] }
            #expect(throws: OutboxError.invalid(.malformedField(field.name))) { try draft.check(OutboxLimits()) }
        }
        try ChangeDraft.put("a=1", on: nil).with { $0.fields = [ChangeField("X-1", "ä\tb")] }.check(OutboxLimits())
    }

    @Test("Method, body and base must fit the kind of edit")
    func shapes() throws {
        let faults: [(ChangeDraft, DraftFault)] = [
            (try .put("", on: nil).with { $0.method = "PATCH" }, .method("PATCH", expected: ["PUT"])),
            (try .put("", on: nil).with { $0.ours = nil }, .missingBody),
            (try .put("", on: nil).with { $0.fields = [ChangeField("content-encoding", "gzip")] }, .codedBody),
            (try .delete("a=1").with { $0.ours = [] }, .unexpectedBody),
            (try .delete("a=1").with { $0.base = .absent }, .deletesAbsent),
            (try .post("x").with { $0.base = .absent }, .postWithBase),
        ]
        for (draft, fault) in faults {
            #expect(throws: OutboxError.invalid(fault)) { try draft.check(OutboxLimits()) }
        }
        try ChangeDraft.post("x").with { $0.fields = [ChangeField("Content-Encoding", "gzip")] }.check(OutboxLimits())
    }

    @Test("The key for the origin differs between callers and between bodies, and is the same for a repetition")
    func originKey() throws {
        let draft = try ChangeDraft.post("x", key: "k")
        let key = try #require(change(1, draft).originKey(for: [1]))
        #expect(change(2, draft).originKey(for: [1]) == key)
        #expect(change(1, draft).originKey(for: [2]) != key)
        #expect(change(1, draft.with { $0.caller = "d" }).originKey(for: [1]) != key)
        #expect(try change(1, .post("x")).originKey(for: [1]) == nil)
    }

    // MARK: - Squash and revert

    @Test("Squash refuses changes under way or perhaps applied, a POST, and another resource, caller or credential")
    func squashRefusals() throws {
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
        for other in others { #expect(throws: OutboxError.self) { try Change.squash([first, other]) } }
        #expect(throws: OutboxError.self) { try Change.squash([first]) }
        let created = change(1, try .put("a=2", on: nil))
        #expect(throws: OutboxError.self) { try Change.squash([created, change(2, try .delete("a=2"))]) }
    }

    @Test("Squash of an edit and a deletion is a deletion of the first base")
    func squashDeletion() throws {
        let result = try Change.squash([change(1, .put("a=2", on: "a=1")), change(2, .delete("a=2"))])
        #expect(result.survivor.id == 2 && result.survivor.draft.method == "DELETE")
        #expect(result.survivor.draft.base.version?.body == Array("a=1".utf8) && result.survivor.draft.ours == nil)
        #expect(result.cancelled.map(\.problem?.kind) == [.squashed])
    }

    @Test("Squash of an edit and a patch has the type of a body, not that of the patch")
    func squashedPatch() throws {
        let patch = try ChangeDraft.put("a=3", on: "a=2").with { draft in
            (draft.method, draft.edit) = ("PATCH", .jsonPatch(Array("a=3".utf8)))
            draft.fields = [ChangeField("Content-Type", "application/json-patch+json; charset=utf-8")]
        }
        let result = try Change.squash([change(1, .put("a=2", on: "a=1")), change(2, patch)])
        #expect(result.survivor.draft.method == "PUT")
        #expect(result.survivor.draft.fields == [ChangeField("Content-Type", "application/json")])
    }

    @Test("The bytes of a change include its lane, its caller's key and the tag of its base")
    func byteCount() throws {
        let draft = try ChangeDraft.put("a=1", on: "a=0", etag: nil)
        let long = String(repeating: "x", count: 200)
        #expect(draft.with { $0.lane = long }.byteCount == draft.byteCount + 200)
        let keyed = draft.with { $0.callerKey = CallerKey(long, payload: BodyDigest(of: [])) }
        #expect(keyed.byteCount == draft.byteCount + 200)
        #expect(try ChangeDraft.put("a=1", on: "a=0", etag: "\"1234\"").byteCount == draft.byteCount + 6)
    }

    @Test("Revert of an edit, a creation and a deletion is the opposite, on the version that the change made")
    func reverts() throws {
        let edit = try change(1, .put("a=2", on: "a=1"), .done).reverted(by: "d")
        #expect(edit.ours == Array("a=1".utf8) && edit.base.version?.body == Array("a=2".utf8) && edit.caller == "d")
        let creation = try change(1, .put("a=2", on: nil), .done).reverted(by: "d")
        #expect(creation.method == "DELETE" && creation.base.version?.body == Array("a=2".utf8))
        let deletion = try change(1, .delete("a=1"), .done).reverted(by: "d")
        #expect(deletion.method == "PUT" && deletion.base == .absent && deletion.ours == Array("a=1".utf8))
        for draft in [edit, creation, deletion] { try draft.check(OutboxLimits()) }
        #expect(throws: OutboxError.self) { try change(1, .post("x"), .done).reverted(by: "d") }
        #expect(throws: OutboxError.self) { try change(1, .put("a=2", on: "a=1"), .pending).reverted(by: "d") }
    }

    @Test("A revert has the media type of the body that it restores, and no other field of the change's content")
    func revertedType() throws {
        func fields(_ draft: ChangeDraft) throws -> [String] {
            try change(1, draft, .done).reverted(by: "d").fields.map { "\($0.name): \($0.value)" }
        }
        let names = [ChangeField("Content-Type", "text/b"), ChangeField("Content-Encoding", "gzip")]
        let edit = try ChangeDraft.put("a=2", on: "a=1").with { draft in
            draft.fields = names + [ChangeField("X-1", "v")]
            draft.baseType = "text/a"
        }
        #expect(try fields(edit) == ["X-1: v", "Content-Type: text/a"])
        #expect(try fields(edit.with { $0.baseType = nil }) == ["X-1: v", "Content-Type: text/b"])
        #expect(try change(1, edit, .done).reverted(by: "d").baseType == "text/b")
        let creation = try ChangeDraft.put("a=2", on: nil).with { $0.fields = names }
        #expect(try fields(creation) == [])
        #expect(try fields(.delete("a=1").with { $0.baseType = "text/a" }) == ["Content-Type: text/a"])
    }
}
