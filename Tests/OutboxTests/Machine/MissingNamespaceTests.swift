import Primitives
import Testing

@testable import Outbox

/// Changes of a namespace that the cache has lost.
struct MissingNamespaceTests {
    private let shell = Shell()

    /// Reports all requests that have been ordered as those of a missing namespace. Returns their number.
    @discardableResult
    private func refuseAll() -> Int {
        var count = 0
        while let flight = shell.reads.first?.flight ?? shell.sends.first?.flight {
            shell.reads.removeAll { $0.flight == flight }
            shell.sends.removeAll { $0.flight == flight }
            shell.step(.namespaceMissing(flight))
            count += 1
        }
        return count
    }

    @Test("A missing namespace rejects no change: the heads wait, and start when the namespace is there")
    func heads() throws {
        let sent = shell.accept(try .put("a=2", on: "a=1"))
        let behind = shell.accept(try .put("a=3", on: "a=2"))
        let looking = shell.accept(try .put("a=2", on: "a=1", at: "https://origin.example/b", etag: nil))
        let post = shell.accept(try .post("x", at: "https://other.example/p"))
        refuseAll()
        for id in [sent, behind, looking, post] {
            #expect(shell.state(id) == .pending && shell.problem(id) == nil && shell.rows[id]!.attempts == 0)
            #expect(!shell.rows[id]!.mayBeApplied && shell.rows[id]!.nextAttempt == nil)
        }
        #expect(shell.machine.flightCount == 0 && !shell.published.contains { $0.state.stopsLane })
        shell.step(.namespaceFound("n"))
        #expect(Set((shell.reads.map(\.flight) + shell.sends.map(\.flight)).map(\.change)) == [sent, looking, post])
    }

    @Test("A missing namespace is looked for by one head at a time, at least every quarter of an hour")
    func probes() throws {
        for number in 0..<100 {
            shell.accept(try .put("a=2", on: nil, at: "https://host\(number % 10).example/\(number)"))
        }
        refuseAll()
        let start = shell.now
        var attempts = 0
        var longest = Duration.zero
        while shell.now - start < .seconds(86_400) {
            let before = shell.now
            shell.sleep()
            longest = max(longest, shell.now - before)
            let count = refuseAll()
            #expect(count <= 1)
            attempts += count
        }
        #expect(longest <= .seconds(900) && (90...400).contains(attempts), "\(longest), \(attempts)")
        // The namespace is there, although no event has told so.
        while shell.reads.isEmpty, shell.sends.isEmpty { shell.sleep() }
        if shell.reads.isEmpty { try shell.answer(201) } else { shell.read(404) }
        #expect(Set((shell.reads.map(\.flight) + shell.sends.map(\.flight)).map(\.change)).count > 10)
        #expect(shell.rows.values.allSatisfy { !$0.state.stopsLane })
    }

    @Test("A request under way at a kill is an unknown outcome in a missing namespace, not a rejection")
    func unknownOutcome() throws {
        let put = shell.accept(try .put("a=2", on: "a=1"))
        let post = shell.accept(try .post("x"))
        shell.kill()
        refuseAll()
        #expect(shell.state(put) == .pending && shell.rows[put]!.mayBeApplied && shell.state(post) == .uncertain)
        shell.step(.namespaceFound("n"))
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(put) == .done && shell.sends.isEmpty)
    }

    @Test("A confirmed change of a missing namespace waits for its read")
    func confirmed() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        try shell.answer(204)
        refuseAll()
        #expect(shell.state(id) == .confirmed && shell.removals.isEmpty)
        shell.step(.namespaceFound("n"))
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(id) == .done)
    }

    @Test("The return of a namespace does not shorten the pause of a change or of its origin")
    func pauses() throws {
        shell.accept(try .post("x", key: "k"))
        try shell.answer(409, retryAfter: .seconds(3600))
        shell.accept(try .put("a=2", on: nil, at: "https://other.example/b"))
        refuseAll()
        shell.step(.namespaceFound("n"))
        #expect(shell.sends.map(\.target.origin) == ["https://other.example"])
    }

    @Test("The changes of other namespaces go on, and a discarded namespace is forgotten")
    func otherNamespaces() throws {
        shell.accept(try .put("a=2", on: "a=1"))
        refuseAll()
        let other = shell.accept(try .put("a=2", on: "a=1").with { $0.namespace = "m" })
        #expect(shell.sends.map(\.flight.change) == [other])
        shell.step(.discarded(namespace: "n"))
        #expect(shell.machine.missing.isEmpty)
    }

    @Test("An origin that the policy refuses after a lost answer leaves the change uncertain, not rejected")
    func refusedLook() throws {
        let id = shell.accept(try .put("a=2", on: "a=1"))
        shell.loseAnswer()
        shell.sleep()
        shell.step(.originRefused(shell.reads.removeFirst().flight))
        #expect(shell.state(id) == .uncertain && shell.problem(id) == .originPolicy && shell.rows[id]!.mayBeApplied)
    }
}
