import Primitives
import Testing

@testable import Outbox

/// The turns of namespaces at the places of the outbox and of an origin.
struct TurnTests {
    private func draft(_ namespace: String, _ host: String, _ path: Int) throws -> ChangeDraft {
        try ChangeDraft.put("a=2", on: nil, at: "https://\(host).example/\(path)").with { $0.namespace = namespace }
    }

    /// Ends the oldest request of a namespace for a host, and the change with it. Returns the requests that follow.
    private func finish(_ namespace: String, at host: String? = nil, _ shell: Shell) throws -> [SendOrder] {
        let place = try #require(
            shell.sends.firstIndex { order in
                order.namespace == namespace && (host.map { order.url.contains("//\($0).") } ?? true)
            })
        let order = shell.sends.remove(at: place)
        let before = Set(shell.sends.map(\.flight))
        shell.step(.sendAnswered(order.flight, SendAnswer(status: 422)))
        shell.step(.cancel(order.flight.change))
        return shell.sends.filter { !before.contains($0.flight) }
    }

    @Test("A namespace with hundreds of slow origins does not delay the change of another namespace")
    func manyOrigins() throws {
        let shell = Shell(flightLimit: 4)
        for number in 0..<300 { shell.accept(try draft("n", "host\(number)", 0)) }
        #expect(shell.sends.count == 4)
        let other = shell.accept(try draft("m", "other", 0))
        // Its turn comes after that of the first one.
        let next = try finish("n", shell) + finish("n", shell)
        #expect(next.count == 2 && next[1].flight.change == other)
        // Two namespaces with many changes get the same number of places.
        for number in 0..<100 { shell.accept(try draft("m", "other\(number)", 1)) }
        var starts: [String] = []
        for _ in 0..<40 {
            let oldest = try #require(shell.sends.first?.namespace)
            starts += try finish(oldest, shell).map(\.namespace)
        }
        #expect(starts.count == 40 && (19...21).contains(starts.count { $0 == "m" }), "\(starts)")
    }

    @Test("A namespace with many changes for an origin does not keep a busy one from the origin")
    func oneOrigin() throws {
        let shell = Shell()
        for number in 0..<50 { shell.accept(try draft("n", "shared", number)) }
        for number in 50..<100 { shell.accept(try draft("m", "own", number)) }
        let change = shell.accept(try draft("m", "shared", 100))
        var started = false
        for _ in 0..<3 where !started {
            // The other namespace has just started a change elsewhere.
            _ = try finish("m", at: "own", shell)
            started = try finish("n", at: "shared", shell).contains { $0.flight.change == change }
        }
        #expect(started)
    }

    @Test("Changes of all namespaces end, and none of their turns is kept")
    func end() throws {
        let shell = Shell(flightLimit: 3)
        for number in 0..<60 {
            shell.accept(try draft("n\(number % 3)", "host\(number % 7)", number))
        }
        while let order = shell.sends.first {
            #expect(shell.machine.flightCount <= 3)
            #expect(shell.machine.hosts.values.allSatisfy { $0.flights <= 2 })
            try shell.answer(201)
            #expect(shell.reads.map(\.flight) == [order.flight])
            shell.read(200, "a=2")
        }
        #expect(shell.rows.values.allSatisfy { $0.state == .done })
        #expect(shell.machine.waiting.order.isEmpty && shell.machine.hosts.isEmpty)
    }

    @Test("The turns of a namespace pass all of its origins, also when others end meanwhile")
    func origins() {
        var lanes = WaitingLanes()
        let isNew = (0..<100).map { lanes.add("n", "\($0)") } + [lanes.add("n", "7")]
        #expect(isNew == Array(repeating: true, count: 100) + [false])
        let isLast = (0..<50).map { lanes.remove("n", "\($0)") } + [lanes.remove("n", "7"), lanes.remove("n", "7")]
        #expect(isLast.count { $0 } == 50 && isLast[7] == false && isLast[50] == true && isLast[51] == false)
        let seen = Set((0..<50).compactMap { _ in lanes.nextOrigin(of: "n") })
        #expect(seen == Set((50..<100).map(String.init)) && lanes.originCount(of: "n") == 50 && lanes.order == ["n"])
        for number in 50..<100 { _ = lanes.remove("n", "\(number)") }
        #expect(lanes.order.isEmpty && lanes.originCount(of: "n") == 0)
    }
}
