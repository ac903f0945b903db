import Primitives
import Testing

@testable import Outbox

/// The cases that a review of the machine has found, each named after the broken promise.
struct OverlookedCasesTests {
    private let shell = Shell()

    private func strong(_ etag: String) -> WriteGuard { .ifMatch(Validator(strong: etag)!) }

    // MARK: - POSTs

    @Test("A POST that a decision repeats keeps its Idempotency-Key and has no precondition", arguments: [404, 410])
    func repeatedPostWithKey(_ status: Int) throws {
        let id = shell.accept(try .post("x", key: "k"))
        let key = try #require(shell.sends.first?.idempotencyKey)
        try shell.answer(status)
        #expect(shell.state(id) == .conflict && shell.problem(id) == .deleted)
        shell.step(.resolve(id, .ours))
        #expect(shell.sends.map(\.guarding) == [.unguarded] && shell.sends.map(\.idempotencyKey) == [key])
        // The repetition after a lost answer needs the key.
        shell.loseAnswer()
        shell.sleep()
        #expect(shell.sends.map(\.guarding) == [.unguarded] && shell.sends.map(\.idempotencyKey) == [key])
    }

    @Test("A POST that an earlier process has stored as a creation keeps its Idempotency-Key, too")
    func storedPostWithKey() throws {
        let id = shell.accept(try .post("x", key: "k"))
        let key = try #require(shell.sends.first?.idempotencyKey)
        try shell.answer(429)
        shell.rows[id]!.draft.base = .absent
        shell.kill()
        shell.sleep()
        #expect(shell.sends.map(\.guarding) == [.unguarded] && shell.sends.map(\.idempotencyKey) == [key])
    }

    // MARK: - Fields

    @Test("A look has the fields of the change, without those of its content; the read for other readers has none")
    func fieldsOfLook() throws {
        let names = [
            "X-Tenant", "content-type", "Content-Language", "Prefer", "X-HTTP-Method-Override", "Accept",
        ]
        shell.accept(try .delete("a=1", etag: nil).with { $0.fields = names.map { ChangeField($0, "v") } })
        #expect(shell.reads.map { $0.fields.map(\.name) } == [["X-Tenant", "Accept"]])
        shell.read(200, "a=1")
        #expect(shell.sends.map { $0.fields.map(\.name) } == [names])
        try shell.answer(204)
        #expect(shell.reads.map(\.purpose) == [.confirmation] && shell.reads.map(\.fields) == [[]])
    }

    // MARK: - Tags

    @Test("A tag in the form of a digest is read again, because a rival may share it within a second")
    func digitsOfSecond() throws {
        let tag = "\"" + String(repeating: "0f", count: 20) + "\""
        shell.accept(try .put("a=2&b=1", on: "a=1&b=1", etag: nil))
        let modified = shell.now
        shell.read(200, "a=1&b=1", etag: tag, modified: modified)
        #expect(shell.sends.isEmpty)
        shell.sleep()
        shell.read(200, "a=1&b=5", etag: tag, modified: modified)
        #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=5".utf8))])
    }

    @Test("A rival's version under a tag with the form of a digest is no rewriting of the origin")
    func rivalUnderDigits() throws {
        let tag = "\"" + String(repeating: "0f", count: 20) + "\""
        shell.accept(try .put("a=2&b=1", on: "a=1&b=1"))
        shell.accept(try .put("a=3&b=1", on: "a=2&b=1", etag: nil).with { $0.onConflict = .hold })
        try shell.answer(201, etag: tag)
        for _ in 0..<2 { shell.read(200, "a=2&b=9", etag: tag) }
        #expect(shell.sends.isEmpty && shell.state(2) == .conflict)
    }

    // MARK: - Bodies in another form

    @Test("The base in another form is the base for a DELETE and for each policy", arguments: ConflictPolicy.allCases)
    func sameValue(_ policy: ConflictPolicy) throws {
        for draft in [
            try ChangeDraft.delete("b=1&a=1", etag: nil), try .put("a=2&b=1", on: "b=1&a=1", etag: nil),
        ] {
            let shell = Shell()
            shell.accept(draft.with { $0.onConflict = policy })
            shell.read(200, "a=1&b=1")
            #expect(shell.sends.map(\.guarding) == [strong("\"1\"")] && shell.sends.map(\.method) == [draft.method])
        }
        let edited = shell.accept(try .delete("b=1&a=1", etag: nil).with { $0.onConflict = policy })
        shell.read(200, "a=1&b=2")
        let states: [ConflictPolicy: ChangeState] = [.theirs: .cancelled, .ours: .sending]
        #expect(shell.state(edited) == states[policy] ?? .conflict && shell.sends.count == (policy == .ours ? 1 : 0))
    }

    // MARK: - Reads after a confirmation

    @Test("A POST ends with its 2xx, because no GET shows its effect", arguments: [200, 201, 204])
    func confirmedPost(_ status: Int) throws {
        let id = shell.accept(try .post("x"))
        try shell.answer(status)
        #expect(shell.state(id) == .done && shell.reads.isEmpty && !shell.rows[id]!.mayBeApplied)
    }

    @Test("A POST that an earlier process has left confirmed ends without a GET")
    func storedConfirmedPost() throws {
        let id = shell.accept(try .post("x"))
        shell.rows[id]!.state = .confirmed
        shell.kill()
        #expect(shell.state(id) == .done && shell.reads.isEmpty && shell.sends.isEmpty)
    }

    /// Fails every GET after the confirmation until the change ends, for at most three days. Returns the time.
    private func failReads(of id: Change.ID, isAnswered: Bool) -> Duration {
        let start = shell.now
        while shell.state(id) == .confirmed, shell.now - start < .seconds(3 * 86_400) {
            guard let order = shell.reads.first else {
                shell.sleep()
                continue
            }
            if isAnswered {
                shell.read(503)
            } else {
                shell.reads.removeFirst()
                shell.step(.readFailed(order.flight))
            }
        }
        return shell.now - start
    }

    @Test("A confirmed change that no GET shows stops its lane for some minutes only", arguments: [true, false])
    func unreadableHead(_ isAnswered: Bool) throws {
        let first = shell.accept(try .put("a=2", on: "a=1"))
        let second = shell.accept(try .put("a=3", on: "a=2", etag: nil))
        try shell.answer(204)
        let time = failReads(of: first, isAnswered: isAnswered)
        #expect(time >= .seconds(600) && time <= .seconds(1800), "\(time)")
        #expect(shell.state(first) == .done && shell.dropped == [first])
        for _ in 0..<9 where shell.reads.isEmpty { shell.sleep() }
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.sends.map(\.guarding) == [strong("\"2\"")] && shell.state(second) == .sending)
    }

    @Test("A confirmed change that no GET shows and no change waits for stays in the view for a day")
    func unreadableChange() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(204)
        let time = failReads(of: id, isAnswered: true)
        #expect(time >= .seconds(86_400) && time <= .seconds(86_400 + 1800), "\(time)")
        #expect(shell.state(id) == .done && shell.dropped == [id])
    }

    @Test("An older version leaves the cache before its change is done", arguments: [true, false])
    func unstored(_ isStored: Bool) throws {
        let confirmed = shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(204)
        shell.read(200, "a=2", etag: "\"2\"", isStored: isStored)
        let lost = shell.accept(try .put("a=2", on: "a=1", at: "https://origin.example/b"))
        shell.loseAnswer()
        shell.sleep()
        shell.read(200, "a=2", etag: "\"2\"", isStored: isStored)
        let merged = shell.accept(try .put("a=2", on: "a=1", at: "https://origin.example/c"))
        try shell.answer(412)
        shell.read(200, "a=2&b=1", etag: "\"2\"", isStored: isStored)
        #expect(shell.dropped == [confirmed, lost, merged])
        #expect(shell.removals.map(\.flight.change) == (isStored ? [] : [confirmed, lost, merged]))
    }

    @Test("A DELETE that finds the resource absent, and a change that no GET shows, are not shown by the cache")
    func unshown() throws {
        let absent = shell.accept(try .delete("a=1", etag: nil))
        shell.read(404)
        let unreadable = shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(204)
        shell.read(405)
        #expect(shell.dropped == [absent, unreadable])
        #expect(shell.removals.map(\.flight.change) == [absent, unreadable])
        #expect(shell.removals.map(\.isDeletion) == [true, false])
    }

    @Test("After a look that its fields keep out of the cache, a read without fields follows", arguments: 0..<2)
    func lookWithFields(_ isMerged: Int) throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.fields = [ChangeField("X-Tenant", "ada")] })
        shell.loseAnswer()
        shell.sleep()
        shell.read(200, ["a=2", "a=2&b=1"][isMerged], etag: "\"2\"", isStored: false)
        #expect(shell.state(id) == .confirmed && shell.reads.map(\.purpose) == [.confirmation])
        #expect(shell.reads.map(\.fields) == [[]] && shell.removals.isEmpty && shell.rows[id]!.mayBeApplied)
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(id) == .done && shell.removals.isEmpty && shell.sends.isEmpty)
    }

    // MARK: - Starts

    @Test("A start knows requests under way as unknown outcomes, also while the origin wants no requests")
    func startInPause() throws {
        let put = shell.accept(try .put("a=2", on: "a=1"))
        let post = shell.accept(try .post("x"))
        let third = shell.accept(try .put("a=2", on: "a=1", at: "https://origin.example/c"))
        #expect(shell.sends.count == 2)
        shell.pauses[["n", "https://origin.example"]] = HostPause(
            namespace: "n", origin: "https://origin.example", start: shell.now, end: shell.now + .seconds(3600))
        shell.kill()
        #expect(shell.state(put) == .pending && shell.rows[put]!.mayBeApplied && shell.state(post) == .uncertain)
        #expect(shell.reads.isEmpty && shell.sends.isEmpty && shell.machine.flightCount == 0)
        shell.step(.cancel(put))
        shell.step(.resolve(post, .theirs))
        #expect(shell.state(put) == .cancelled && shell.state(post) == .cancelled && shell.refusals.isEmpty)
        shell.sleep()
        #expect(shell.reads.map(\.flight.change) == [third])
    }

    @Test("A request under way at the end of a process keeps its place before a change that was reported late")
    func startAfterLateReport() throws {
        let second = Change(id: 2, draft: try .put("a=3", on: "a=2"), created: shell.now)
        let first = Change(id: 1, draft: try .put("a=2", on: "a=1"), created: shell.now)
        (shell.rows[1], shell.rows[2]) = (first, second)
        shell.step(.accepted(second.summary))
        shell.step(.accepted(first.summary))
        #expect(shell.state(2) == .sending)
        shell.kill()
        #expect(shell.state(2) == .pending && shell.reads.map(\.flight.change) == [2] && shell.sends.isEmpty)
    }

    // MARK: - Redirects

    @Test("The redirects of a look do not count as redirects of the request")
    func hops() throws {
        let id = shell.accept(try .put("a=2", on: "a=1", etag: nil))
        for number in 0..<4 { shell.read(307, location: "https://origin.example/\(number)") }
        shell.read(200, "a=1")
        for number in 0..<4 { try shell.answer(307, location: "https://origin.example/\(number)") }
        #expect(shell.state(id) == .sending)
        // The look after a refusal begins anew, too.
        try shell.answer(412)
        for number in 0..<4 { shell.read(307, location: "https://origin.example/\(number)") }
        shell.read(200, "a=1&b=2")
        #expect(shell.sends.count == 1 && shell.state(id) == .sending)
    }

    @Test("A redirected request and a redirected read name the resource of the change")
    func targetOfRedirect() throws {
        shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(307, location: "https://origin.example/b")
        #expect(shell.sends.map(\.url) == ["https://origin.example/b"])
        #expect(shell.sends.map(\.target.url) == ["https://origin.example/a"])
        try shell.answer(204)
        shell.read(307, location: "https://origin.example/b")
        #expect(shell.reads.map(\.url) == ["https://origin.example/b"])
        #expect(shell.reads.map(\.target.url) == ["https://origin.example/a"])
    }

    // MARK: - Clocks and queues

    @Test("Clock back a day: a version that has to settle settles by the new clock")
    func settlingAfterClockBack() throws {
        shell.accept(try .put("a=2", on: "a=1", etag: nil))
        shell.read(200, "a=1", modified: shell.now)
        shell.now = shell.now - .seconds(86_400)
        shell.step(.timer)
        shell.read(200, "a=1", modified: shell.now)
        #expect(shell.sends.isEmpty)
        shell.sleep()
        shell.read(200, "a=1", modified: shell.now)
        #expect(shell.sends.map(\.guarding) == [strong("\"1\"")])
    }

    @Test("New credentials and repeated decisions do not let the queues of dates grow")
    func queues() throws {
        let end = shell.now + .seconds(86_400)
        let id = shell.accept(try .put("a=2", on: "a=1").with { ($0.credential, $0.expires) = ("work", end) })
        try shell.answer(429, retryAfter: .seconds(3600))
        for _ in 0..<1000 {
            shell.setCredential()
            shell.step(.retry(id))
        }
        for number in 0..<1000 {
            let other = shell.accept(
                try .put("a=2", on: "a=1", at: "https://origin.example/\(number)").with { $0.expires = end })
            shell.step(.cancel(other))
        }
        #expect(shell.machine.waiting.count("n", "https://origin.example") <= 70 && shell.machine.expiries.count <= 70)
        // The dates that have a meaning are kept.
        shell.now = end
        shell.step(.timer)
        #expect(shell.state(id) == .expired)
    }

    // MARK: - Types of bodies

    @Test("A patch that a decision turns into a whole body has the type of a body, not that of the patch")
    func typeOfResolvedPatch() throws {
        let fields = [ChangeField("content-type", "application/merge-patch+json"), ChangeField("X-1", "a")]
        let draft = try ChangeDraft.put("a=2", on: "a=1").with { draft in
            (draft.method, draft.edit, draft.fields) = ("PATCH", .mergePatch(Array("a=2".utf8)), fields)
        }
        let id = shell.accept(draft)
        try shell.answer(412)
        shell.read(200, "a=9", etag: "\"2\"")
        #expect(shell.state(id) == .conflict)
        shell.step(.resolve(id, .body(Array("a=3".utf8))))
        shell.read(200, "a=9", etag: "\"2\"")
        #expect(shell.sends.map(\.method) == ["PUT"])
        #expect(
            shell.sends.map(\.fields) == [[ChangeField("Content-Type", "application/json"), ChangeField("X-1", "a")]])
    }
}
