import Primitives
import Testing

@testable import Outbox

/// The hard cases of clocks, disks, absent origins, policies and decisions, each named after its case.
struct HardTimesTests {
    private let shell = Shell()

    @Test("Disk full while sending is recorded: no request goes out, and the change is sent later")
    func diskFullBeforeSending() throws {
        shell.isDiskFull = true
        let id = shell.accept(try .put("a=2", on: "a=1"))
        #expect(shell.sends.isEmpty && shell.state(id) == .pending)
        shell.isDiskFull = false
        shell.sleep()
        #expect(shell.sends.count == 1)
    }

    @Test("Disk full while the confirmation is recorded: it is recorded later, and the read shows the effect")
    func diskFullAfterSending() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        shell.isDiskFull = true
        try shell.answer(204)
        #expect(shell.state(id) == .sending)
        shell.isDiskFull = false
        shell.sleep()
        #expect(shell.state(id) == .confirmed && shell.reads.map(\.purpose) == [.confirmation])
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(id) == .done && shell.sends.isEmpty)
    }

    @Test("Clock back a day: a waiting change starts at the next timer")
    func clockBack() throws {
        shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(503)
        shell.now = shell.now - .seconds(86_400)
        shell.step(.timer)
        #expect(shell.reads.count == 1)
    }

    @Test("Clock back by five minutes: no back-off, settling or wish of the origin waits five minutes longer")
    func clockBackByMinutes() throws {
        let unsettled = Shell()
        unsettled.accept(try .put("a=2", on: "a=1", etag: nil))
        unsettled.read(200, "a=1", modified: unsettled.now)
        let failed = Shell()
        failed.accept(try .put("a=2", on: "a=1"))
        failed.loseAnswer()
        let throttled = Shell()
        throttled.accept(try .post("x", key: "k"))
        try throttled.answer(409, retryAfter: .seconds(60))
        for shell in [unsettled, failed, throttled] {
            #expect(shell.reads.isEmpty && shell.sends.isEmpty)
            shell.now = shell.now - .seconds(300)
            shell.step(.timer)
            #expect(shell.reads.count + shell.sends.count == 1)
        }
    }

    @Test("Clock back by five minutes: a short back-off does not wait behind a long one of the same origin")
    func shortBehindLong() throws {
        shell.accept(try .post("x", key: "k"))
        try shell.answer(409, retryAfter: .seconds(600))
        shell.now = shell.now + .seconds(599)
        let short = shell.accept(try .put("a=2", on: "a=1", etag: nil))
        shell.read(200, "a=1", modified: shell.now)
        shell.now = shell.now - .seconds(300)
        shell.step(.timer)
        #expect(shell.reads.map(\.flight.change) == [short] && shell.sends.isEmpty)
    }

    @Test("Clock back a day after a confirmation: the read ends the change nevertheless")
    func clockBackAfterConfirmation() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(204)
        shell.now = shell.now - .seconds(86_400)
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(id) == .done)
    }

    @Test("Origin gone a week: one probe at a time, at least every quarter of an hour, and no change is given up")
    func originGone() throws {
        for number in 0..<20 { shell.accept(try .put("a=2", on: "a=1", at: "https://origin.example/\(number)")) }
        let start = shell.now
        var requests = 0
        var longest = Duration.zero
        while shell.now - start < .seconds(7 * 86_400) {
            while let order = shell.reads.popLast() {
                requests += 1
                shell.step(.readFailed(order.flight))
            }
            while let order = shell.sends.popLast() {
                requests += 1
                shell.step(.sendFailed(order.flight, .notSent))
            }
            let before = shell.now
            shell.sleep()
            longest = max(longest, shell.now - before)
        }
        #expect(longest <= .seconds(15 * 60) && requests < 3000)
        #expect(shell.rows.values.allSatisfy { $0.state == .pending })
    }

    @Test("Retry-After: 3600 across a restart: no request before its date, in any lane of the origin")
    func retryAfterRestart() throws {
        shell.accept(try .put("a=2", on: "a=1"))
        let date = shell.now + .seconds(3600)
        try shell.answer(503, retryAfter: .seconds(3600))
        shell.accept(try .put("a=2", on: "a=1", at: "https://origin.example/b"))
        shell.kill()
        #expect(shell.reads.isEmpty && shell.sends.isEmpty && shell.wake == date)
        shell.sleep()
        #expect(shell.reads.count == 1 && shell.now == date)
    }

    @Test("Retry-After of a week counts as a day")
    func longRetryAfter() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(429, retryAfter: .seconds(7 * 86_400))
        #expect(shell.rows[id]!.nextAttempt == shell.now + .seconds(86_400))
    }

    @Test("6,000 overdue: at most two requests an origin at a time, and all are sent")
    func overdue() throws {
        for number in 0..<6000 {
            let url = "https://host\(number % 30).example/\(number)"
            let change = Change(
                id: Change.ID(number + 1), draft: try .put("a=2", on: "a=1", at: url),
                created: shell.now - .seconds(86_400))
            shell.rows[change.id] = change
        }
        shell.kill()
        var most = 0
        while !(shell.reads.isEmpty && shell.sends.isEmpty) {
            most = max(most, shell.machine.flightCount)
            if let order = shell.reads.first {
                order.purpose == .look ? shell.read(200, "a=1") : shell.read(200, "a=2", etag: "\"2\"")
            } else {
                try shell.answer(204)
            }
        }
        #expect(most == 60 && shell.rows.values.allSatisfy { $0.state == .done })
    }

    @Test("Origin policy tightened after acceptance: the change is rejected before any byte goes out")
    func policyTightened() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        shell.step(.originRefused(shell.sends.removeFirst().flight))
        #expect(shell.state(id) == .rejected && shell.problem(id) == .originPolicy && shell.rows[id]!.attempts == 0)
    }

    @Test("Expiry is an event, also behind a stopped change and not before an answer")
    func expiry() throws {
        let end = shell.now + .seconds(60)
        let first = shell.accept(try .put("a=2", on: "a=1").with { $0.expires = end })
        let second = shell.accept(try .put("a=3", on: "a=2").with { $0.expires = end })
        shell.sleep()
        #expect(shell.state(first) == .sending && shell.state(second) == .expired)
        #expect(shell.published.contains { $0.id == second && $0.state == .expired })
        // A change that was surely not applied needs no look.
        try shell.answer(429)
        #expect(shell.state(first) == .expired && !shell.rows[first]!.mayBeApplied && shell.wake == nil)
    }

    @Test(
        "A change that expires while it may have been applied is looked at first, and says so",
        arguments: [("a=2", .done), ("a=1", .expired), ("a=9", .expired), (nil, .expired)]
            as [(String?, ChangeState)])
    func expiryAfterLoss(_ body: String?, _ state: ChangeState) throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.expires = shell.now + .seconds(60) })
        shell.loseAnswer()
        shell.now = shell.now + .seconds(61)
        shell.step(.timer)
        #expect(shell.state(id) == .pending && shell.reads.map(\.purpose) == [.look])
        if let body {
            shell.read(200, body, etag: "\"2\"")
        } else {
            shell.step(.readFailed(shell.reads.removeFirst().flight))
        }
        #expect(shell.state(id) == state && shell.rows[id]!.mayBeApplied && shell.sends.isEmpty)
        #expect(shell.dropped == [id] && shell.wake == nil)
    }

    @Test("A kill during sending and the date of expiry: the next process looks before the change expires")
    func expiryAfterKill() throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.expires = shell.now + .seconds(60) })
        shell.now = shell.now + .seconds(61)
        shell.kill()
        shell.read(200, "a=1")
        #expect(shell.state(id) == .expired && shell.rows[id]!.mayBeApplied && shell.sends.isEmpty)
    }

    @Test("A POST that is tried again after a lost answer and then expires says that it may have been applied")
    func expiryOfPost() throws {
        let id = shell.accept(try .post("x").with { $0.expires = shell.now + .seconds(60) })
        shell.loseAnswer()
        #expect(shell.state(id) == .uncertain)
        shell.isStoreSlow = true
        shell.step(.retry(id))
        shell.now = shell.now + .seconds(61)
        shell.drainStore()
        #expect(shell.state(id) == .expired && shell.rows[id]!.mayBeApplied)
    }

    @Test("An origin without changes is forgotten, but not before its pause has ended")
    func forgottenOrigins() throws {
        for number in 0..<3 { shell.accept(try .put("a=2", on: "a=1", at: "https://host\(number).example/a")) }
        #expect(shell.machine.hosts.count == 3 && shell.machine.waiting.originCount(of: "n") == 3)
        shell.step(.sendFailed(shell.sends.removeFirst().flight, .notSent))
        shell.step(.cancel(1))
        #expect(shell.machine.hosts.count == 2 && shell.machine.waiting.originCount(of: "n") == 2)
        try shell.answer(429, retryAfter: .seconds(60))
        shell.step(.cancel(2))
        #expect(shell.machine.hosts.count == 2)
        shell.step(.discarded(namespace: "n"))
        shell.now = shell.now + .seconds(60)
        shell.step(.timer)
        #expect(shell.machine.hosts.isEmpty && shell.machine.waiting.order.isEmpty)
    }

    @Test("A decision that is under way when its namespace is discarded is refused, so that its caller gets an answer")
    func discardedDecision() throws {
        shell.accept(try .put("a=2", on: "a=1"))
        let ids = try ["a=3", "a=4"].map { shell.accept(try .put($0, on: "a=2")) }
        shell.isStoreSlow = true
        shell.step(.squash(ids))
        #expect(!shell.storeOrders.isEmpty && shell.refusals.isEmpty)
        shell.step(.discarded(namespace: "n"))
        #expect(shell.refusals == [.ended])
        shell.drainStore()
        #expect(shell.refusals.count == 1 && shell.machine.lanes.isEmpty && shell.machine.decisions.isEmpty)
    }

    @Test("Squash sends the base and the last body, and the lane keeps its order")
    func squash() throws {
        let first = shell.accept(try .put("a=0", on: nil, at: "https://origin.example/a").with { $0.lane = "l" })
        let ids = try [("a=2", "a=1"), ("a=3", "a=2"), ("a=4", "a=3")].map { ours, base in
            shell.accept(try .put(ours, on: base, at: "https://origin.example/b").with { $0.lane = "l" })
        }
        shell.step(.squash([ids[0], ids[2]]))
        #expect(shell.refusals == [.invalid(.squash("expected neighbours in one lane"))])
        shell.step(.squash(ids))
        #expect(ids.map(shell.state) == [.cancelled, .cancelled, .pending])
        #expect(shell.rows[ids[2]]!.draft.base.version?.body == Array("a=1".utf8))
        try shell.answer(201)
        shell.read(200, "a=0", etag: "\"2\"")
        #expect(shell.state(first) == .done)
        #expect(shell.sends.map(\.content) == [.body(Array("a=4".utf8))])
    }

    @Test("The author's policies: hold never merges, theirs gives up, ours replaces under the present tag")
    func policies() throws {
        for policy in ConflictPolicy.allCases {
            let shell = Shell()
            let id = shell.accept(try .put("a=2&b=1", on: "a=1&b=1").with { $0.onConflict = policy })
            try shell.answer(412)
            shell.read(200, "a=1&b=5", etag: "\"2\"")
            #expect(shell.state(id) == (policy == .hold ? .conflict : .sending))
            let clashing = Shell()
            let other = clashing.accept(try .put("a=2&b=1", on: "a=1&b=1").with { $0.onConflict = policy })
            try clashing.answer(412)
            clashing.read(200, "a=7&b=1", etag: "\"2\"")
            let expected: [ConflictPolicy: ChangeState] = [
                .hold: .conflict, .merge: .conflict, .theirs: .cancelled, .ours: .sending,
            ]
            #expect(clashing.state(other) == expected[policy])
        }
    }

    @Test("Resolve with ours, but the store had no room for theirs: the next look merges it, and a newer one may clash")
    func resolveWithoutTheirs() throws {
        for (body, tag, state) in [("a=9&b=5", "\"2\"", ChangeState.sending), ("a=8&b=5", "\"3\"", .conflict)] {
            let shell = Shell()
            shell.dropsTheirs = true
            let id = shell.accept(try .put("a=2&b=1", on: "a=1&b=1"))
            try shell.answer(412)
            shell.read(200, "a=9&b=5", etag: "\"2\"")
            #expect(shell.state(id) == .conflict && shell.rows[id]!.theirs?.body == nil)
            shell.step(.resolve(id, .ours))
            shell.read(200, body, etag: tag)
            #expect(shell.state(id) == state)
            guard state == .sending else { continue }
            #expect(shell.sends.map(\.content) == [.body(Array("a=2&b=5".utf8))])
            #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: tag)!)])
        }
    }

    @Test("Resolve with a body: the body is sent over the version that the caller has seen, and a newer one is merged")
    func resolveBody() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(412)
        shell.read(200, "a=9", etag: "\"2\"")
        shell.step(.resolve(id, .body(Array("a=10".utf8))))
        shell.read(200, "a=9&b=1", etag: "\"3\"")
        #expect(shell.sends.map(\.content) == [.body(Array("a=10&b=1".utf8))])
        #expect(shell.sends.map(\.guarding) == [.ifMatch(Validator(strong: "\"3\"")!)])
    }
}
