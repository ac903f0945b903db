import Testing

@testable import Larder

@Suite("The state machine of a fetch")
struct FetchMachineTests {
    private typealias Machine = FetchMachine<Int>

    @Test("100,000 random lives of a fetch agree with a model", arguments: UInt64(0)..<10)
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

    @Test("After a 304 that confirms no stored response, the origin is asked again, without impatient followers")
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

    @Test("A transfer that ends before invalidated responses are removed is handled after the removal")
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

    @Test("A caller that joins an abandoned download before its cancellation waits for a new download")
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

    @Test("A download that was cancelled on purpose fails all its callers")
    func cancelled() {
        var machine = machine(isDownload: true)
        _ = machine.handle(.left(0, givesUp: true))
        _ = machine.join(1, number: 1)
        #expect(words(machine.handle(.cancelled)) == ["cancel"])
        #expect(words(machine.handle(.broke(.cancelled))) == ["end [1] failed(\(DownloadError.cancelled))"])
        #expect(machine.takeQueue().isEmpty)
    }

    @Test(
        "A request without clients is cancelled if its answer will not be kept, and otherwise goes on",
        arguments: [false, true])
    func abandoned(outlivesCallers: Bool) {
        var machine = machine(isDownload: false, outlivesCallers: outlivesCallers)
        _ = machine.join(1, number: 1)
        #expect(words(machine.handle(.left(0, givesUp: true))) == [])
        #expect(words(machine.handle(.left(1, givesUp: true))) == [outlivesCallers ? "cancelIfQueued" : "cancel"])
    }

    @Test("A fetch that two threads try to give up can still be joined when its body has readers")
    func closedTwice() {
        var machine = machine(isDownload: false)
        _ = machine.handle(.began(isKept: true, isOpen: true))
        #expect(machine.closeIfUnwaited() == .mayHaveReaders)
        #expect(machine.closeIfUnwaited() == .mayHaveReaders)
        machine.reopen()
        machine.reopen()
        #expect(machine.join(1, number: 1) == .reads)
    }

    @Test("A fetch that was cancelled because its clients left takes no other client")
    func ending() {
        var machine = machine(isDownload: false, outlivesCallers: false)
        #expect(words(machine.handle(.left(0, givesUp: true))) == ["cancel"])
        #expect(machine.join(1, number: 1) == .refused)
        _ = machine.handle(.began(isKept: true, isOpen: true))
        #expect(machine.join(2, number: 2) == .refused)
    }

    @Test("A cancellation during storing has no effect")
    func cancelledTooLate() {
        var machine = machine(isDownload: true)
        _ = machine.handle(.began(isKept: true, isOpen: true))
        _ = machine.handle(.finished)
        #expect(!machine.isCancellable)
        #expect(words(machine.handle(.cancelled)) == [])
        #expect(machine.join(1, number: 1) == .waits(isFirst: true))
        #expect(words(machine.handle(.broke(.noSpace))) == ["end [0, 1] failed(\(DownloadError.noSpace))"])
    }

    @Test("A follower that joins after the head of a 304 is marked as late until the second request")
    func afterHead() {
        var machine = machine(isDownload: false)
        _ = machine.join(1, number: 1)
        _ = machine.handle(.confirmed)
        _ = machine.join(2, number: 2)
        #expect(machine.callers.values.filter(\.isAfterHead).map(\.number) == [2])
        _ = machine.handle(.finished)
        // The second request is sent after all of them have asked.
        #expect(words(machine.handle(.refreshed(.changed))) == ["askAgain"])
        #expect(machine.callers.values.allSatisfy { !$0.isAfterHead })
    }
}
