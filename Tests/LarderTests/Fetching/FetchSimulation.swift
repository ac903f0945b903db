import TestSupport

@testable import Larder

/// A random sequence of events for one fetch: plays the callers, the origin and the cache of a ``FetchMachine``, and
/// checks each answer of the machine against a model without phases.
final class FetchSimulation {
    typealias Machine = FetchMachine<Int>

    enum Fate: Equatable { case waits, queued, reads, refused, left, handed }

    private enum Transfer { case none, running, ended }

    private var random: SplitMix64
    private let rules: FetchRules
    private var machine: Machine
    private(set) var problems: [String] = []

    // The model.
    private var fates: [UInt64: Fate] = [:]
    private var nextNumber: UInt64 = 1
    private var transfer = Transfer.none
    private var asks = 0
    private var ends = 0
    private var isPrepared = false
    private var isConditional: Bool
    private var hasHead = false
    private var isConfirmed = false
    private var isClearing = false
    private var isOpen = false
    private var hasPassedOn = false
    private var isCancelled = false
    private var isPatienceOver = false
    private var isRefreshing = false
    private var isStoring = false
    private var mustBreak = false
    private var isEnding = false
    private var goesOnAlone: Bool

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        let isDownload = Bool.random(using: &random)
        rules = FetchRules(
            deliversAtHead: !isDownload, isShared: isDownload || Bool.random(using: &random),
            queuesLateCallers: isDownload, outlivesCallers: isDownload || Bool.random(using: &random))
        isConditional = Bool.random(using: &random)
        goesOnAlone = isDownload && Int.random(in: 0..<4, using: &random) == 0
        machine = Machine(rules, leader: goesOnAlone ? nil : 0)
        if !goesOnAlone { fates[0] = .waits }
    }

    /// Plays a number of random steps, and then brings the fetch to its end.
    func run(steps: Int) {
        for _ in 0..<steps where problems.isEmpty { step() }
        for _ in 0..<100 where ends == 0 && problems.isEmpty { progress() }
        expect(ends == 1, "the fetch ended \(ends) times")
        let queue = machine.takeQueue()
        for number in queue.waiters.keys {
            expect(fates[number] == .queued || fates[number] == .waits, "\(number) is in the queue")
            fates[number] = .handed
        }
        expect(machine.takeQueue().isEmpty, "the queue was taken twice")
        for (number, fate) in fates where fate == .waits || fate == .queued { problems.append("\(number) still waits") }
    }

    private func step() {
        switch Int.random(in: 0..<10, using: &random) {
        case 0...1: join()
        case 2...3: leave()
        case 4: Bool.random(using: &random) ? patienceEnds() : overtake()
        case 5: if Int.random(in: 0..<4, using: &random) == 0 { cancel() }
        case 6: giveUp()
        default: progress()
        }
    }

    // MARK: - Callers

    private func join() {
        let isLate = rules.queuesLateCallers && Int.random(in: 0..<5, using: &random) == 0
        let isAsync = rules.queuesLateCallers && Int.random(in: 0..<5, using: &random) == 0
        let number = nextNumber
        nextNumber += 1
        let expected: Fate
        if isLate || isCancelled || ends > 0 {
            expected = rules.queuesLateCallers ? .queued : .refused
        } else if hasPassedOn {
            expected = rules.deliversAtHead ? (isOpen ? .reads : .refused) : .waits
        } else {
            expected = rules.isShared && !isPatienceOver && !isClearing && !isEnding ? .waits : .refused
        }
        let admission = machine.join(isAsync ? nil : Int(number), number: number, isLate: isLate)
        let fate: Fate =
            switch admission {
            case .waits: .waits
            case .queued: .queued
            case .reads: .reads
            case .refused: .refused
            }
        expect(fate == expected, "\(number) \(fate) where the model expects \(expected)")
        if isAsync {
            if fate == .waits { goesOnAlone = true }
        } else {
            fates[number] = fate
        }
    }

    private func leave() {
        guard
            let (number, fate) = fates.filter({ $0.value == .waits || $0.value == .queued })
                .min(by: { $0.key < $1.key })
        else { return }
        let givesUp = rules.deliversAtHead || Bool.random(using: &random)
        fates[number] = .left
        if fate == .waits, !givesUp { goesOnAlone = true }
        perform(machine.handle(.left(number, givesUp: givesUp)))
        // If all callers leave before the head arrives, the request is cancelled, unless its answer is kept.
        let isUnwanted = !goesOnAlone && !fates.values.contains(.waits)
        if isUnwanted, transfer == .running, !hasHead, !rules.outlivesCallers, ends == 0 {
            expect(mustBreak, "an unwanted request goes on")
        }
    }

    private func patienceEnds() {
        guard rules.deliversAtHead else { return }
        isPatienceOver = true
        perform(machine.handle(.patienceEnded))
        if !hasHead, ends == 0 {
            expect(!fates.contains { $0 > 0 && $1 == .waits }, "a follower waits although its patience is over")
        }
    }

    private func overtake() {
        guard rules.deliversAtHead else { return }
        perform(machine.handle(.overtaken))
        if !hasHead, ends == 0 {
            expect(!fates.values.contains(.waits), "a caller still waits for an overtaken fetch")
        }
    }

    private func cancel() {
        let isCancellable = ends == 0 && !isStoring && !isRefreshing
        expect(machine.isCancellable == isCancellable, "isCancellable is \(machine.isCancellable)")
        if isCancellable { (isCancelled, isOpen) = (true, false) }
        perform(machine.handle(.cancelled))
        if ends == 0, isRefreshing, rules.deliversAtHead { isEnding = true }
        if isCancellable, transfer == .running { expect(mustBreak, "the transfer of a cancelled fetch goes on") }
    }

    private func giveUp() {
        guard rules.deliversAtHead else { return }
        let closing = machine.closeIfUnwaited()
        if closing == .refused { return }
        expect(!fates.values.contains(.waits), "a fetch with callers was given up")
        expect((closing == .mayHaveReaders) == hasPassedOn, "readers are asked for although there can be none")
        let wasOpen = isOpen
        if !hasPassedOn { isPatienceOver = true }
        isOpen = false
        // Several threads may try to give up the same fetch.
        if Bool.random(using: &random) {
            expect(machine.closeIfUnwaited() == closing, "a closed fetch was closed anew")
        }
        if hasPassedOn, Bool.random(using: &random) {
            machine.reopen()
            isOpen = wasOpen
        } else {
            cancel()
        }
    }

    // MARK: - The origin and the cache

    private func progress() {
        guard ends == 0 else { return }
        if !isPrepared {
            isPrepared = true
            perform(machine.handle(Int.random(in: 0..<8, using: &random) == 0 ? .found : .prepared))
        } else if isRefreshing {
            refreshEnds()
        } else if isStoring {
            isStoring = false
            let fails = !rules.deliversAtHead && Int.random(in: 0..<4, using: &random) == 0
            perform(machine.handle(fails ? .broke(.noSpace) : .stored))
        } else if isClearing, Bool.random(using: &random) || transfer == .ended {
            begin()
        } else if transfer == .running {
            if mustBreak || Int.random(in: 0..<6, using: &random) == 0 {
                transfer = .ended
                perform(
                    machine.handle(.broke(isCancelled || mustBreak ? .cancelled : .transferFailed(code: 7, words: ""))))
            } else if !hasHead {
                headArrives()
            } else {
                transfer = .ended
                perform(machine.handle(.finished))
            }
        }
    }

    private func headArrives() {
        switch Int.random(in: 0..<6, using: &random) {
        case 0...1 where isConditional:
            (hasHead, isConfirmed) = (true, true)
            perform(machine.handle(.confirmed))
        case 2 where rules.deliversAtHead:
            hasHead = true
            perform(machine.handle(.failedOver))
        case 3 where rules.deliversAtHead:
            (hasHead, isClearing) = (true, true)
            perform(machine.handle(.invalidates))
        default:
            hasHead = true
            begin()
        }
    }

    private func begin() {
        let isKept = !rules.deliversAtHead || Bool.random(using: &random)
        (isOpen, hasPassedOn) = (isKept && !isClearing && !isCancelled && !isEnding, true)
        let hadLeader = fates[0] == .waits
        isClearing = false
        perform(machine.handle(.began(isKept: isKept, isOpen: isKept)))
        if rules.deliversAtHead, !isKept, !hadLeader, transfer == .running {
            expect(mustBreak, "an answer that is not kept goes on without its client")
        }
        if ends == 0, isKept, !isStoring, transfer == .running, Int.random(in: 0..<4, using: &random) == 0 {
            isOpen = false
            perform(machine.handle(.keepingEnded))
        }
    }

    private func refreshEnds() {
        isRefreshing = false
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            (hasHead, isConfirmed, isConditional) = (false, false, false)
            let asksBefore = asks
            perform(machine.handle(.refreshed(.changed)))
            // The machine releases waiters past their time limit, and then decides whether to ask the origin again.
            let isUnwanted = !goesOnAlone && !fates.values.contains(.waits) && !rules.outlivesCallers
            expect(
                (asks == asksBefore + 1) != (isEnding || isUnwanted),
                "the origin was asked \(asks - asksBefore) times more")
        case 1: perform(machine.handle(.refreshed(.notKept(isForAll: Bool.random(using: &random)))))
        default: perform(machine.handle(.refreshed(.stored)))
        }
    }

    // MARK: - Actions

    private func perform(_ actions: [Machine.Action]) {
        for action in actions {
            expect(ends == 0, "an action follows the end")
            switch action {
            case .ask, .askAgain:
                expect(transfer != .running, "two transfers run at once")
                asks += 1
                expect(asks <= 2, "the origin is asked \(asks) times")
                (transfer, mustBreak) = (.running, false)
            case .cancel:
                mustBreak = transfer == .running
                if ends == 0, !isCancelled { isEnding = true }
            case .cancelIfQueued: if !hasHead, Bool.random(using: &random) { mustBreak = transfer == .running }
            case .invalidate: expect(isClearing, "responses are removed without a reason")
            case .refresh:
                expect(isConfirmed && transfer == .ended, "a confirmation is stored too early")
                isRefreshing = true
            case .store:
                expect(hasPassedOn && transfer == .ended && !isStoring, "an answer is stored too early")
                isStoring = true
            case .breakOff: expect(hasPassedOn && rules.deliversAtHead, "a body without readers breaks off")
            case .deliver(let waiters, .arrived):
                expect(rules.deliversAtHead && hasHead, "an answer is delivered before its head")
                hand(waiters)
            case .deliver(let waiters, .impatient):
                expect(waiters.allSatisfy(\.isFollower) && isPatienceOver, "a leader is released")
                hand(waiters)
            case .deliver(let waiters, .overtaken):
                expect(!hasHead, "callers leave an answer that has arrived")
                hand(waiters)
            case .deliver: problems.append("an outcome is delivered before the end")
            case .end(let outcome, let waiters):
                ends += 1
                check(outcome)
                hand(waiters)
            }
        }
    }

    private func hand(_ waiters: [Machine.Waiter]) {
        expect(waiters.map(\.number) == waiters.map(\.number).sorted(), "callers get their answer out of order")
        for waiter in waiters {
            expect(fates[waiter.number] == .waits, "\(waiter.number) gets an outcome twice, or after it left")
            fates[waiter.number] = .handed
        }
    }

    private func check(_ outcome: Machine.Outcome) {
        switch outcome {
        case .found: expect(asks == 0, "an answer is found after the origin was asked")
        case .stale: expect(hasHead && !hasPassedOn, "a stale response replaces an answer that was passed on")
        case .stored: expect(hasPassedOn && transfer == .ended, "an answer ends as stored before its last byte")
        case .confirmed: expect(isConfirmed && transfer == .ended, "a response ends as confirmed without a 304")
        case .failed(let error):
            if isCancelled, !rules.deliversAtHead {
                expect(error == .cancelled, "a cancelled fetch fails with \(error)")
            }
        case .arrived, .impatient, .overtaken: problems.append("a fetch ends as \(outcome)")
        }
    }

    private func expect(_ condition: Bool, _ problem: @autoclosure () -> String) {
        if !condition { problems.append(problem()) }
    }
}
