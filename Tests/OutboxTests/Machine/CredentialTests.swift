import Primitives
import Testing

@testable import Outbox

/// A new credential in each moment of a request with the earlier one.
struct CredentialTests {
    private let shell = Shell()

    private func sent() throws -> Change.ID {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.credential = "work" })
        shell.isStoreSlow = true
        try shell.answer(401)
        #expect(shell.storeOrders.count == 1)
        return id
    }

    @Test("A credential that arrives before the state blocked is written does not leave the change blocked")
    func beforeCommit() throws {
        let id = try sent()
        shell.setCredential()
        shell.serveStore(obeys: false)
        shell.drainStore()
        #expect(shell.state(id) == .sending && shell.sends.count == 1)
    }

    @Test("A credential that arrives between the state blocked and its report does not leave the change blocked")
    func beforeReport() throws {
        let id = try sent()
        shell.serveStore()
        #expect(shell.state(id) == .blocked)
        shell.setCredential()
        shell.drainStore()
        #expect(shell.state(id) == .sending && shell.sends.count == 1)
    }

    @Test("A full disk after the new credential does not leave the change blocked")
    func diskFull() throws {
        let id = try sent()
        shell.setCredential()
        shell.serveStore(obeys: false)
        shell.serveStore()
        shell.isDiskFull = true
        shell.drainStore()
        shell.isDiskFull = false
        shell.sleep()
        shell.drainStore()
        #expect(shell.state(id) == .sending && shell.sends.count == 1)
    }

    @Test("A database error while a credential is read is no 401: the change is neither blocked nor counted")
    func unreadable() throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.credential = "work" })
        shell.step(.credentialUnreadable(shell.sends.removeFirst().flight))
        #expect(shell.state(id) == .pending && shell.problem(id) == nil && shell.rows[id]!.attempts == 0)
        #expect(shell.machine.flightCount == 0)
        shell.sleep()
        #expect(shell.state(id) == .sending && shell.sends.count == 1)
    }

    @Test("A database error during a look or a read leaves the row as it is, and the next read decides")
    func unreadableLook() throws {
        let id = shell.accept(try .put("a=2", on: "a=1", etag: nil).with { $0.credential = "work" })
        for _ in 0..<5 {
            shell.step(.credentialUnreadable(shell.reads.removeFirst().flight))
            #expect(shell.state(id) == .pending && shell.problem(id) == nil && shell.machine.flightCount == 0)
            shell.sleep()
        }
        shell.read(200, "a=1")
        try shell.answer(204)
        shell.step(.credentialUnreadable(shell.reads.removeFirst().flight))
        #expect(shell.state(id) == .confirmed)
        shell.sleep()
        shell.read(200, "a=2", etag: "\"2\"")
        #expect(shell.state(id) == .done && shell.removals.isEmpty)
    }

    @Test("A missing credential blocks the change without an answer of the origin, until there is one")
    func missing() throws {
        let id = shell.accept(try .put("a=2", on: "a=1").with { $0.credential = "work" })
        shell.step(.credentialMissing(shell.sends.removeFirst().flight))
        #expect(shell.state(id) == .blocked && shell.rows[id]!.problem == ChangeProblem(.credential))
        #expect(shell.rows[id]!.attempts == 0)
        shell.setCredential()
        #expect(shell.state(id) == .sending)
        shell.loseAnswer()
        shell.now = shell.now + .seconds(60)
        shell.step(.timer)
        shell.step(.credentialMissing(shell.reads.removeFirst().flight))
        #expect(shell.state(id) == .blocked && shell.rows[id]!.mayBeApplied)
    }

    @Test("A kill between the new credential and the state that follows leaves no change blocked")
    func kill() throws {
        let id = try sent()
        shell.setCredential()
        shell.serveStore()
        #expect(shell.state(id) == .blocked)
        shell.kill()
        shell.drainStore()
        #expect(shell.state(id) == .sending && shell.sends.count == 1)
    }
}
