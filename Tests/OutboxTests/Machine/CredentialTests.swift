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
