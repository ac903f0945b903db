import Primitives
import TestSupport
import Testing

@testable import Subscriptions

@Suite("The pacing of several subscriptions with one host")
struct HostPacerTests {
    private let start = Timestamp(seconds: 1_800_000_000)
    private let slow = PacingLimits(gap: .seconds(3600))
    private let quick = PacingLimits(gap: .seconds(1))
    private let wide = PacingLimits(concurrency: 16, gap: .zero)
    private let narrow = PacingLimits(concurrency: 1, gap: .zero)

    @Test("A subscription with a gap of an hour does not keep one with a gap of a second from the host")
    func longGap() {
        var pacer = HostPacer()
        #expect(pacer.take("a", slow, by: 1, at: start) == .go)
        pacer.ended("a")
        #expect(pacer.take("a", quick, by: 2, at: start) == .wait(until: start + .seconds(1)))
        #expect(pacer.take("a", quick, by: 2, at: start + .seconds(1)) == .go)
        pacer.ended("a")
        #expect(pacer.take("a", slow, by: 1, at: start + .seconds(2)) == .wait(until: start + .seconds(3601)))
    }

    @Test("A subscription that waits for its long gap does not wait longer because others send requests meanwhile")
    func othersInTheGap() {
        var (pacer, slowDates, quickCount) = (HostPacer(), [Timestamp](), 0)
        for step in 0...108_000 {
            let now = start + .milliseconds(100 * step)
            // This one always asks first.
            if pacer.take("a", quick, by: 2, at: now) == .go {
                quickCount += 1
                pacer.ended("a")
            }
            if pacer.take("a", slow, by: 1, at: now) == .go {
                slowDates.append(now)
                pacer.ended("a")
            }
            _ = pacer.endTurn(at: now)
        }
        #expect(slowDates.count == 3 && quickCount > 10_700)
        #expect(zip(slowDates, slowDates.dropFirst()).allSatisfy { $1 - $0 >= .seconds(3600) })
    }

    @Test("Subscriptions begin in the order in which their gaps end, and one that asks no more keeps out no other one")
    func overdueAbsence() {
        var pacer = HostPacer()
        #expect(pacer.take("a", quick, by: 2, at: start) == .go)
        pacer.ended("a")
        #expect(pacer.take("a", quick, by: 1, at: start) == .wait(until: start + .seconds(1)))
        #expect(pacer.endTurn(at: start).isEmpty)
        let end = start + .seconds(1)
        #expect(pacer.take("a", quick, by: 2, at: end) == .wait(until: nil))
        #expect(pacer.endTurn(at: end) == ["a"])
        #expect(pacer.take("a", quick, by: 2, at: end) == .go)
    }

    @Test("Subscriptions that wait for a long gap cost no further turns, and keep out no other one")
    func manyLongGaps() {
        var (pacer, count) = (HostPacer(), 0)
        for step in 0...20 {
            let now = start + .milliseconds(100 * step)
            for caller in 1...100 as ClosedRange<Int64> where step == 0 {
                if pacer.take("a", slow, by: caller, at: now) == .go { pacer.ended("a") }
            }
            while pacer.take("a", narrow, by: 0, at: now) == .go {
                pacer.ended("a")
                count += 1
                if count % 5 == 0 { break }
            }
            #expect(pacer.endTurn(at: now).isEmpty)
        }
        #expect(count == 105)
    }

    @Test("A subscription with one request at a time has its turn beside one with sixteen that always asks first")
    func concurrency() {
        var pacer = HostPacer()
        func fill() -> Int {
            var count = 0
            while pacer.take("a", wide, by: 1, at: start) == .go { count += 1 }
            return count
        }
        #expect(fill() == 16)
        #expect(pacer.take("a", narrow, by: 2, at: start) == .wait(until: nil))
        #expect(pacer.endTurn(at: start).isEmpty)
        // The first one has waited for longer.
        pacer.ended("a")
        #expect(fill() == 1)
        #expect(pacer.take("a", narrow, by: 2, at: start) == .wait(until: nil))
        #expect(pacer.endTurn(at: start) == ["a"])
        for rest in (0..<16).reversed() {
            pacer.ended("a")
            #expect(fill() == 0)
            #expect(pacer.take("a", narrow, by: 2, at: start) == (rest == 0 ? .go : .wait(until: nil)))
            #expect(pacer.endTurn(at: start) == (rest == 0 ? ["a"] : []))
        }
        #expect(fill() == 15)
    }

    @Test("A subscription that asks no more keeps no other one from the host")
    func absence() {
        for leaves in [true, false] {
            var pacer = HostPacer()
            #expect(pacer.take("a", narrow, by: 1, at: start) == .go)
            #expect(pacer.take("a", narrow, by: 2, at: start) == .wait(until: nil))
            #expect(pacer.take("a", narrow, by: 1, at: start) == .wait(until: nil))
            #expect(pacer.endTurn(at: start).isEmpty)
            if leaves { pacer.leave(2) }
            pacer.ended("a")
            #expect(pacer.take("a", narrow, by: 1, at: start) == (leaves ? .go : .wait(until: nil)))
            #expect(pacer.endTurn(at: start) == (leaves ? [] : ["a"]))
            if !leaves { #expect(pacer.take("a", narrow, by: 1, at: start) == .go) }
        }
    }

    @Test("A subscription that has to wait for a pause lets the others ask, and all go on after the pause")
    func otherWaits() {
        var pacer = HostPacer()
        #expect(pacer.take("a", narrow, by: 1, at: start) == .go)
        for caller in [2, 3] as [Int64] { #expect(pacer.take("a", narrow, by: caller, at: start) == .wait(until: nil)) }
        pacer.ended("a")
        pacer.pause("a", for: .seconds(60), at: start)
        let end = start + .seconds(60)
        for caller in [2, 3] as [Int64] { #expect(pacer.take("a", narrow, by: caller, at: start) == .wait(until: end)) }
        #expect(pacer.endTurn(at: start).isEmpty)
        #expect(pacer.take("a", narrow, by: 3, at: end) == .go)
        #expect(pacer.take("a", narrow, by: 2, at: end) == .wait(until: nil))
        pacer.abandoned("a")
        #expect(pacer.endTurn(at: end) == ["a"])
        #expect(pacer.take("a", narrow, by: 2, at: end) == .go)
    }

    @Test("The pause of a host stops only the namespace that learned of it, and its callers keep out no other one")
    func namespaces() {
        var pacer = HostPacer()
        #expect(pacer.take("a", narrow, by: 1, in: "one", at: start) == .go)
        #expect(pacer.take("a", narrow, by: 2, in: "one", at: start) == .wait(until: nil))
        #expect(pacer.take("a", narrow, by: 3, in: "two", at: start) == .wait(until: nil))
        #expect(pacer.endTurn(at: start).isEmpty)
        pacer.pause("a", in: "one", for: .seconds(60), at: start)
        pacer.ended("a")
        let end = start + .seconds(60)
        // The first in the order gives its place away.
        #expect(pacer.take("a", narrow, by: 3, in: "two", at: start) == .wait(until: nil))
        #expect(pacer.take("a", narrow, by: 2, in: "one", at: start) == .wait(until: end))
        #expect(pacer.endTurn(at: start) == ["a"])
        #expect(pacer.take("a", narrow, by: 3, in: "two", at: start) == .go)
        // Requests at a time and gaps concern the host.
        #expect(pacer.take("a", narrow, by: 4, in: "three", at: start) == .wait(until: nil))
        #expect(pacer.take("a", quick, by: 5, in: "three", at: start) == .wait(until: start + .seconds(1)))
        #expect(pacer.pauses(in: "one", at: start) == ["a": end] && pacer.pauses(in: "two", at: start).isEmpty)
        #expect(pacer.allPauses(at: start) == [HostPacer.PausedHost("a", in: "one"): end])
        pacer.pause("a", in: "two", for: .seconds(5), at: start)
        pacer.forgetPauses(in: "one")
        #expect(pacer.allPauses(at: start) == [HostPacer.PausedHost("a", in: "two"): start + .seconds(5)])
        pacer.forget(at: start + .seconds(5))
        #expect(pacer.pauses.isEmpty)
    }

    @Test("A namespace with as many paused hosts as it may have takes no pause from another one")
    func pauseLimit() {
        var pacer = HostPacer()
        for number in 0...HostPacer.pauseLimit { pacer.pause("\(number)", in: "one", for: .seconds(60), at: start) }
        pacer.pause("last", in: "two", for: .seconds(60), at: start)
        #expect(pacer.pauses(in: "one", at: start).count == HostPacer.pauseLimit)
        #expect(pacer.pauseEnd(of: "last", in: "two", at: start) == start + .seconds(60))
        // An ended pause makes room.
        pacer.pause("late", in: "one", for: .seconds(60), at: start + .seconds(60))
        #expect(pacer.pauses(in: "one", at: start + .seconds(60)) == ["late": start + .seconds(120)])
    }

    @Test("With callers in any order, each one goes on, no limit is exceeded, and no caller waits without a wake-up")
    func histories() {
        for seed in Seeds.range(1..<7) {
            var random = SplitMix64(seed: seed)
            var (pacer, now) = (HostPacer(), start)
            let limits = (0..<4).map { _ in
                PacingLimits(
                    concurrency: [1, 1, 2, 16].randomElement(using: &random)!,
                    gap: .milliseconds([0, 0, 200, 5000].randomElement(using: &random)!))
            }
            var counts = [0, 0, 0, 0]
            var wakes: [Timestamp?] = [now, now, now, now]
            var running: [(caller: Int, end: Timestamp)] = []
            var lastOf: [Timestamp?] = [nil, nil, nil, nil]
            while counts.min()! < 20, now < start + .seconds(3000) {
                for _ in running.filter({ $0.end <= now }) {
                    pacer.ended("a")
                    wakes = [now, now, now, now]
                }
                running.removeAll { $0.end <= now }
                var isAgain = true
                while isAgain {
                    for caller in limits.indices.shuffled(using: &random) {
                        while let wake = wakes[caller], wake <= now {
                            guard case .wait(let date) = pacer.take("a", limits[caller], by: Int64(caller), at: now)
                            else {
                                #expect(running.count < limits[caller].concurrency)
                                if let last = lastOf[caller] { #expect(now >= last + limits[caller].gap) }
                                lastOf[caller] = now
                                counts[caller] += 1
                                let time = Int.random(in: 1...3000, using: &random)
                                running.append((caller, now + .milliseconds(time)))
                                continue
                            }
                            wakes[caller] = date
                        }
                    }
                    isAgain = !pacer.endTurn(at: now).isEmpty
                    if isAgain { wakes = [now, now, now, now] }
                }
                guard let next = (wakes.compactMap(\.self) + running.map(\.end)).min() else {
                    Issue.record("no caller wakes up: seed \(seed)")
                    break
                }
                now = max(next, now + .milliseconds(1))
            }
            #expect(counts.min()! >= 20, "seed \(seed): \(counts) with \(limits)")
        }
    }
}
