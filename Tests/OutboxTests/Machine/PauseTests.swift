import Primitives
import Testing

@testable import Outbox

/// The pause that an origin wants, across answers, decisions and restarts.
struct PauseTests {
    private let shell = Shell()

    /// Two changes of one origin are under way when the first one gets a pause of an hour.
    private func paused(status: Int = 429) throws -> (Change.ID, Change.ID, Timestamp) {
        let first = shell.accept(try .put("a=2", on: "a=1"))
        let second = shell.accept(try .put("a=2", on: "a=1", at: "https://origin.example/b"))
        try shell.answer(status, retryAfter: .seconds(3600))
        return (first, second, shell.now + .seconds(3600))
    }

    private func isQuiet(until date: Timestamp) -> Bool {
        shell.reads.isEmpty && shell.sends.isEmpty && shell.wake == date
    }

    @Test("The answer to an older request does not lift the pause of the origin", arguments: [422, 412, 401])
    func olderAnswer(_ status: Int) throws {
        let (_, _, end) = try paused()
        try shell.answer(status)
        shell.accept(try .put("a=2", on: "a=1", at: "https://origin.example/c"))
        #expect(isQuiet(until: end))
        shell.sleep()
        #expect(shell.now == end && shell.reads.count + shell.sends.count == 1)
    }

    @Test("Answers 429 without Retry-After stop the namespace for a growing time, and no other one")
    func throttled() throws {
        let first = shell.accept(try .put("a=2", on: "a=1"))
        var pauses: [Duration] = []
        for _ in 0..<8 {
            try shell.answer(429)
            let pause = try #require(shell.pauses[["n", "https://origin.example"]])
            pauses.append(pause.end - shell.now)
            // Another change of the namespace waits, and one of another namespace does not.
            let second = shell.accept(try .put("a=2", on: "a=1", at: "https://origin.example/b"))
            #expect(shell.reads.isEmpty && shell.sends.isEmpty)
            shell.step(.cancel(second))
            let other = shell.accept(try .post("x").with { $0.namespace = "m" })
            #expect(shell.sends.map(\.flight.change) == [other])
            try shell.answer(201)
            shell.sleep()
            #expect(shell.reads.map(\.flight.change) == [first])
            // The origin limits only the writes.
            shell.read(200, "a=1")
        }
        #expect(pauses[0] == .seconds(1) && pauses == pauses.sorted() && pauses[7] > .seconds(10))
        try shell.answer(204)
        shell.read(200, "a=2")
        shell.accept(try .put("a=2", on: "a=1", at: "https://origin.example/b"))
        try shell.answer(429)
        #expect(try #require(shell.pauses[["n", "https://origin.example"]]).end - shell.now == .seconds(1))
    }

    @Test("A shorter pause does not shorten the one that runs, and a longer one takes its place")
    func twoPauses() throws {
        let (_, _, end) = try paused()
        try shell.answer(503, retryAfter: .seconds(60))
        #expect(isQuiet(until: end) && shell.pauses.values.map(\.end) == [end])
        shell.sleep()
        let look = shell.reads.removeFirst()
        let mark = ReadMark(
            etag: nil, lastModified: nil, date: nil, digest: BodyDigest(of: []), received: shell.now)
        var answer = ReadAnswer(status: 503, body: [], mark: mark)
        answer.retryAfter = .seconds(7200)
        shell.step(.readAnswered(look.flight, answer))
        #expect(isQuiet(until: end + .seconds(7200)))
    }

    @Test("The pause survives a restart, also when the change that met it has ended, is held, or is tried again")
    func restart() throws {
        for decision in [OutboxEvent.cancel(1), .retry(1)] {
            let test = PauseTests()
            let (first, _, end) = try test.paused()
            test.shell.step(decision)
            test.shell.kill()
            #expect(first == 1 && test.isQuiet(until: end), "\(decision)")
        }
        let held = Shell()
        held.accept(try .post("x"))
        try held.answer(503, retryAfter: .seconds(3600))
        held.accept(try .put("a=2", on: "a=1"))
        held.kill()
        #expect(held.reads.isEmpty && held.sends.isEmpty && held.wake == held.now + .seconds(3600))
    }

    @Test("A pause that met the read after a confirmation survives a restart")
    func confirmed() throws {
        shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(204)
        let order = shell.reads.removeFirst()
        let mark = ReadMark(
            etag: nil, lastModified: nil, date: nil, digest: BodyDigest(of: []), received: shell.now)
        var answer = ReadAnswer(status: 429, body: [], mark: mark)
        answer.retryAfter = .seconds(3600)
        shell.step(.readAnswered(order.flight, answer))
        shell.kill()
        #expect(isQuiet(until: shell.now + .seconds(3600)))
    }

    @Test("The wait of an origin has its end and its cause, and ends with the later of a pause and an open circuit")
    func wait() throws {
        let (_, _, end) = try paused()
        let origin = "https://origin.example"
        #expect(shell.machine.wait(for: origin, in: "n", shell.now) == OriginWait(cause: .throttled, end: end))
        #expect(shell.machine.wait(for: origin, in: "n", end) == nil)
        #expect(shell.machine.wait(for: "https://other.example", in: "n", shell.now) == nil)
        // After a step of the clock back, the whole pause is left.
        let past = shell.now - .seconds(86_400)
        #expect(shell.machine.wait(for: origin, in: "n", past)?.end == past + .seconds(3600))
        let other = Shell()
        for number in 0..<3 { other.accept(try .post("x", at: "https://origin.example/\(number)")) }
        for _ in 0..<3 { other.step(.sendFailed(other.sends.removeFirst().flight, .notSent)) }
        let wait = try #require(other.machine.wait(for: origin, in: "n", other.now))
        #expect(wait.cause == .unreachable && wait.end > other.now)
    }

    @Test("A pause stops only the namespace that got the answer, also after a restart, and the circuit stops all")
    func otherNamespace() throws {
        let (_, _, end) = try paused()
        let other = shell.accept(try .put("a=2", on: "a=1").with { $0.namespace = "m" })
        #expect(shell.sends.map(\.flight.change).contains(other))
        let origin = "https://origin.example"
        #expect(shell.machine.wait(for: origin, in: "m", shell.now) == nil)
        #expect(shell.machine.wait(for: origin, in: "n", shell.now)?.end == end)
        // The paused namespace has waited longer, and takes no place of the other one.
        for path in ["b", "c", "d"] {
            shell.accept(try .put("a=2", on: "a=1", at: "\(origin)/\(path)").with { $0.namespace = "m" })
        }
        while !shell.sends.isEmpty { try shell.answer(422) }
        #expect(shell.rows.values.count { $0.state == .rejected } == 5)
        let next = shell.accept(try .put("a=2", on: "a=1", at: "\(origin)/e").with { $0.namespace = "m" })
        shell.kill()
        #expect(shell.machine.wait(for: origin, in: "n", shell.now)?.end == end)
        #expect(shell.state(next) == .pending && shell.reads.map(\.flight.change) == [next])
        shell.step(.discarded(namespace: "n"))
        #expect(shell.machine.wait(for: origin, in: "n", shell.now) == nil)

        let failing = Shell()
        for number in 0..<3 { failing.accept(try .post("x", at: "\(origin)/\(number)")) }
        for _ in 0..<3 { failing.step(.sendFailed(failing.sends.removeFirst().flight, .notSent)) }
        #expect(failing.machine.wait(for: origin, in: "m", failing.now)?.cause == .unreachable)
    }

    @Test("After a pause a single request of the namespace goes out, and other namespaces keep their places")
    func probe() throws {
        let (_, _, end) = try paused()
        try shell.answer(422)
        let origin = "https://origin.example"
        shell.accept(try .put("a=2", on: "a=1", at: "\(origin)/c"))
        shell.now = end
        shell.step(.timer)
        #expect(shell.reads.count + shell.sends.count == 1)
        let other = shell.accept(try .put("a=2", on: "a=1").with { $0.namespace = "m" })
        #expect(shell.sends.map(\.flight.change) == [other] && shell.machine.flightCount == 2)
        shell.read(200, "a=1")
        try shell.answer(422)
        try shell.answer(422)
        #expect(shell.machine.flightCount == 1)
    }

    @Test("Clock back a day: a pause begins again, and does not become longer")
    func clockBack() throws {
        for restarts in [false, true] {
            let test = PauseTests()
            _ = try test.paused()
            try test.shell.answer(422)
            test.shell.now = test.shell.now - .seconds(86_400)
            restarts ? test.shell.kill() : test.shell.step(.timer)
            #expect(test.isQuiet(until: test.shell.now + .seconds(3600)))
        }
    }
}
