import Primitives
import Testing

@testable import Outbox

/// Thousands of changes that are due at one instant.
struct MassEventTests {
    /// The rows that the store has to read.
    private func loads(_ shell: Shell) -> Int { shell.storeOrders.count { if case .load = $0 { true } else { false } } }

    @Test("A thousand changes that expire at one date are loaded in small batches, and all of them expire")
    func expiries() throws {
        let shell = Shell()
        let end = shell.now + .seconds(60)
        let head = shell.accept(try .put("a=2", on: "a=1"))
        let ids = try (0..<1000).map { number in
            shell.accept(try .put("a=\(number)", on: "a=2").with { $0.expires = end })
        }
        shell.isStoreSlow = true
        shell.sleep()
        #expect(shell.now == end && loads(shell) == OutboxMachine.expiryLimit)
        var most = 0
        while shell.hasStoreWork {
            // A date that has passed would call the machine again and again.
            if let wake = shell.wake { #expect(wake > shell.now) }
            most = max(most, loads(shell) + shell.machine.decisions.values.count { !$0.rows.isEmpty })
            shell.serveStore(obeys: shell.storeReports.isEmpty)
        }
        #expect(most <= OutboxMachine.expiryLimit)
        #expect(ids.allSatisfy { shell.state($0) == .expired } && shell.state(head) == .sending)
        #expect(shell.wake == nil)
    }

    @Test("An expiry that a full disk cannot keep does not stop the expiries behind it")
    func expiriesOnFullDisk() throws {
        let shell = Shell()
        let end = shell.now + .seconds(60)
        shell.accept(try .put("a=2", on: "a=1"))
        let ids = try (0..<40).map { number in
            shell.accept(try .put("a=\(number)", on: "a=2").with { $0.expires = end })
        }
        shell.isDiskFull = true
        shell.sleep()
        #expect(ids.allSatisfy { shell.state($0) == .pending } && shell.machine.decisions.isEmpty)
        shell.isDiskFull = false
        for _ in 0..<100 where shell.wake != nil { shell.sleep() }
        #expect(ids.allSatisfy { shell.state($0) == .expired })
    }

    @Test("A thousand origins that come back at one instant have at most as many requests as the client makes")
    func flights() throws {
        let shell = Shell(flightLimit: 8)
        for number in 0..<1000 { shell.accept(try .put("a=2", on: nil, at: "https://host\(number).example/a")) }
        #expect(shell.machine.flightCount == 8 && shell.wake == nil)
        var most = 0
        while let order = shell.sends.first {
            most = max(most, shell.machine.flightCount)
            // The read after the confirmation belongs to the same flight.
            try shell.answer(201)
            #expect(shell.reads.map(\.flight) == [order.flight])
            shell.read(200, "a=2")
        }
        #expect(most == 8 && shell.rows.values.allSatisfy { $0.state == .done })
    }

    @Test("Origins take turns when there are too few places for all of them")
    func turns() throws {
        let shell = Shell(flightLimit: 2)
        for number in 0..<10 {
            for host in ["a", "b", "c"] {
                shell.accept(try .put("a=2", on: nil, at: "https://\(host).example/\(number)"))
            }
        }
        var first: [String] = []
        while let order = shell.sends.first {
            first.append(order.target.origin)
            try shell.answer(201)
            shell.read(200, "a=2")
        }
        #expect(first.count == 30 && Set(first.prefix(6)).count == 3)
        #expect(shell.rows.values.allSatisfy { $0.state == .done })
    }

    @Test("After a kill with more requests under way than places, the others start when there is a place")
    func restart() throws {
        let shell = Shell(flightLimit: 2)
        for number in 0..<6 {
            var change = Change(
                id: Change.ID(number + 1), draft: try .put("a=2", on: "a=1", at: "https://host\(number).example/a"),
                created: shell.now)
            change.state = .sending
            change.attempts = 1
            shell.rows[change.id] = change
        }
        shell.kill()
        #expect(shell.machine.flightCount == 2)
        while !shell.reads.isEmpty { shell.read(200, "a=2") }
        #expect(shell.rows.values.allSatisfy { $0.state == .done })
    }
}
