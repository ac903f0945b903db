import Testing

@testable import Larder

@Suite("The state machine of a fetch")
struct FetchMachineTests {
    private typealias Machine = FetchMachine<Int>

    @Test("The state machine acts as a model expects in 100,000 random sequences", arguments: UInt64(0)..<10)
    func randomLives(part: UInt64) {
        for seed in part * 10_000..<(part + 1) * 10_000 {
            let simulation = FetchSimulation(seed: seed)
            simulation.run(steps: Int(5 + seed % 30))
            guard simulation.problems.isEmpty else {
                Issue.record("seed \(seed): \(simulation.problems)")
                return
            }
        }
    }

    private func machine(isDownload: Bool, outlivesCallers: Bool = true) -> Machine {
        var machine = Machine(
            FetchRules(
                deliversAtHead: !isDownload, isShared: true, queuesLateCallers: isDownload,
                outlivesCallers: outlivesCallers),
            leader: 0)
        _ = machine.handle(.prepared)
        return machine
    }

    private func words(_ actions: [Machine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .deliver(let waiters, let outcome): "deliver \(waiters.map(\.number)) \(outcome)"
            case .end(let outcome, let waiters): "end \(waiters.map(\.number)) \(outcome)"
            default: "\(action)"
            }
        }
    }

    @Test(
        "If a 304 confirms no stored response, followers past the time limit wait no longer; the origin is asked again")
    func changed() {
        var machine = machine(isDownload: false)
        #expect(machine.join(1, number: 1) == .waits(isFirst: true))
        #expect(machine.join(2, number: 2) == .waits(isFirst: false))
        #expect(words(machine.handle(.confirmed)) == [])
        #expect(words(machine.handle(.patienceEnded)) == [])
        #expect(words(machine.handle(.finished)) == ["refresh"])
        #expect(words(machine.handle(.refreshed(.changed))) == ["deliver [1, 2] impatient", "askAgain"])
        #expect(machine.join(3, number: 3) == .refused)
        #expect(words(machine.handle(.began(isKept: true, isOpen: true))) == ["deliver [0] arrived"])
    }

    @Test("A fetch handles the end of its transfer only after it has removed the responses that the answer invalidates")
    func earlyEnd() {
        for (end, after) in [
            (Machine.Event.finished, ["store"]),
            (.broke(.noSpace), ["breakOff", "end [] failed(\(DownloadError.noSpace))"]),
        ] {
            var machine = machine(isDownload: false)
            #expect(words(machine.handle(.invalidates)) == ["invalidate"])
            #expect(machine.join(1, number: 1) == .refused)
            #expect(words(machine.handle(end)) == [])
            #expect(words(machine.handle(.began(isKept: true, isOpen: true))) == ["deliver [0] arrived"] + after)
            #expect(machine.join(2, number: 2) == .refused)
        }
    }

    @Test(
        "If a download is cancelled because all callers left, a caller that joined meanwhile waits for a new download")
    func heir() {
        var machine = machine(isDownload: true)
        #expect(words(machine.handle(.left(0, givesUp: true))) == ["cancelIfQueued"])
        #expect(machine.join(1, number: 1) == .waits(isFirst: true))
        #expect(machine.join(nil, number: 2) == .waits(isFirst: false))
        #expect(words(machine.handle(.broke(.cancelled))) == ["end [] failed(\(DownloadError.cancelled))"])
        let queue = machine.takeQueue()
        #expect(queue.waiters.keys.sorted() == [1])
        #expect(queue.goesOnAlone)
    }

    @Test("An explicit cancellation of a download fails all its callers")
    func cancelled() {
        var machine = machine(isDownload: true)
        _ = machine.handle(.left(0, givesUp: true))
        _ = machine.join(1, number: 1)
        #expect(words(machine.handle(.cancelled)) == ["cancel"])
        #expect(words(machine.handle(.broke(.cancelled))) == ["end [1] failed(\(DownloadError.cancelled))"])
        #expect(machine.takeQueue().isEmpty)
    }

    @Test(
        "If all clients leave, the origin request is cancelled, unless it was sent and its answer will be stored",
        arguments: [false, true])
    func abandoned(outlivesCallers: Bool) {
        var machine = machine(isDownload: false, outlivesCallers: outlivesCallers)
        _ = machine.join(1, number: 1)
        #expect(words(machine.handle(.left(0, givesUp: true))) == [])
        #expect(words(machine.handle(.left(1, givesUp: true))) == [outlivesCallers ? "cancelIfQueued" : "cancel"])
    }

    @Test("A fetch that two threads close and reopen for its readers' sake still accepts a new client")
    func closedTwice() {
        var machine = machine(isDownload: false)
        _ = machine.handle(.began(isKept: true, isOpen: true))
        #expect(machine.closeIfUnwaited() == .mayHaveReaders)
        #expect(machine.closeIfUnwaited() == .mayHaveReaders)
        machine.reopen()
        machine.reopen()
        #expect(machine.join(1, number: 1) == .reads)
    }

    @Test("A fetch that was cancelled because its clients left refuses new clients")
    func ending() {
        var machine = machine(isDownload: false, outlivesCallers: false)
        #expect(words(machine.handle(.left(0, givesUp: true))) == ["cancel"])
        #expect(machine.join(1, number: 1) == .refused)
        _ = machine.handle(.began(isKept: true, isOpen: true))
        #expect(machine.join(2, number: 2) == .refused)
    }

    @Test("The cancellation of a download has no effect while its body is being stored")
    func cancelledTooLate() {
        var machine = machine(isDownload: true)
        _ = machine.handle(.began(isKept: true, isOpen: true))
        _ = machine.handle(.finished)
        #expect(!machine.isCancellable)
        #expect(words(machine.handle(.cancelled)) == [])
        #expect(machine.join(1, number: 1) == .waits(isFirst: true))
        #expect(words(machine.handle(.broke(.noSpace))) == ["end [0, 1] failed(\(DownloadError.noSpace))"])
    }

    @Test("Callers that join after the head of a 304 have isAfterHead = true until the fetch asks the origin again")
    func afterHead() {
        var machine = machine(isDownload: false)
        _ = machine.join(1, number: 1)
        _ = machine.handle(.confirmed)
        _ = machine.join(2, number: 2)
        #expect(machine.callers.values.filter(\.isAfterHead).map(\.number) == [2])
        _ = machine.handle(.finished)
        // No caller is late for the second request, because all callers joined before the second request is sent.
        #expect(words(machine.handle(.refreshed(.changed))) == ["askAgain"])
        #expect(machine.callers.values.allSatisfy { !$0.isAfterHead })
    }
}
