import Primitives
import Testing

@testable import Subscriptions

@Suite("The schedule of refreshes")
struct ScheduleTests {
    private let start = Timestamp(seconds: 1_800_000_000)

    @Test("A host gets one request at a time, and each request the gap after the one before")
    func pacing() {
        var pacer = HostPacer()
        let limits = PacingLimits()
        #expect(pacer.take("a", limits, at: start) == .go)
        #expect(pacer.take("a", limits, at: start + .milliseconds(300)) == .wait(until: start + .seconds(1)))
        #expect(pacer.take("b", limits, at: start) == .go)
        #expect(pacer.take("a", limits, at: start + .seconds(1)) == .wait(until: nil))
        pacer.ended("a")
        #expect(pacer.take("a", limits, at: start + .seconds(1)) == .go)
        #expect(pacer.take("b", PacingLimits(concurrency: 2, gap: .zero), at: start + .seconds(1)) == .go)
    }

    @Test("Retry-After pauses the host for at most a day, and a shorter one does not shorten it")
    func pauses() {
        var pacer = HostPacer()
        pacer.pause("a", for: .seconds(3600), at: start)
        pacer.pause("a", for: .seconds(60), at: start)
        #expect(pacer.pauseEnd(of: "a", at: start) == start + .seconds(3600))
        #expect(pacer.take("a", PacingLimits(), at: start + .seconds(3599)) == .wait(until: start + .seconds(3600)))
        #expect(pacer.pauses(in: "", at: start + .seconds(3599)) == ["a": start + .seconds(3600)])
        #expect(pacer.take("a", PacingLimits(), at: start + .seconds(3600)) == .go)
        let later = start + .seconds(3600)
        #expect(pacer.allPauses(at: later) == [:])
        pacer.pause("b", for: .seconds(1_000_000), at: later)
        #expect(pacer.pauseEnd(of: "b", at: later) == later + .seconds(86_400))
    }

    @Test("A clock that went back makes no gap and no pause longer, and hosts without a gap are forgotten")
    func clockBack() {
        var pacer = HostPacer()
        #expect(pacer.take("a", PacingLimits(), at: start) == .go)
        pacer.ended("a")
        let back = start - .seconds(86_400)
        #expect(pacer.take("a", PacingLimits(), at: back) == .wait(until: back + .seconds(1)))
        #expect(pacer.take("a", PacingLimits(), at: back + .seconds(1)) == .go)
        pacer.ended("a")
        pacer.pause("b", for: .seconds(3600), at: start + .seconds(86_400 * 9))
        #expect(pacer.take("b", PacingLimits(), at: back) == .wait(until: back + .seconds(3600)))
        #expect(pacer.take("b", PacingLimits(), at: back + .seconds(3600)) == .go)
        pacer.ended("b")
        pacer.forget(at: start + .seconds(2))
        #expect(pacer.count == 0)
    }

    @Test("A pause that is looked up before the turn that notices a clock gone back is no longer than its rest")
    func lookUpAfterClockBack() {
        for looksUpAll in [true, false] {
            var pacer = HostPacer()
            pacer.pause("a", for: .seconds(3600), at: start)
            let back = start - .seconds(36_000)
            let end = looksUpAll ? pacer.pauses(in: "", at: back)["a"] : pacer.pauseEnd(of: "a", at: back)
            #expect(end == back + .seconds(3600))
            pacer.forget(at: back + .seconds(5))
            #expect(pacer.pauseEnd(of: "a", at: back + .seconds(5)) == end)
        }
    }

    @Test("Pauses survive a restart, and are no longer after a clock that went back meanwhile")
    func restart() {
        var pacer = HostPacer()
        pacer.pause("a", for: .seconds(3600), at: start)
        let pauses = pacer.allPauses(at: start + .seconds(600))
        for (back, rest) in [(Duration.zero, 3000), (.seconds(86_400), 3000), (.seconds(-1000), 2000)] {
            let now = start + .seconds(600) - back
            var next = HostPacer(pauses: pauses, savedAt: start + .seconds(600), at: now)
            #expect(next.take("a", PacingLimits(), at: now) == .wait(until: now + .seconds(rest)))
        }
        var late = HostPacer(pauses: pauses, savedAt: start + .seconds(3600), at: start)
        #expect(late.allPauses(at: start).isEmpty)
    }

    @Test("A process that ends again and again keeps the gap between the requests of its lives")
    func restarts() {
        var now = start
        var pacer = HostPacer()
        #expect(pacer.take("a", PacingLimits(), at: now) == .go)
        for _ in 0..<3 {
            pacer = HostPacer()
            pacer.restarted(at: now)
            let next = now + .seconds(1)
            #expect(pacer.take("a", PacingLimits(), at: now) == .wait(until: next))
            #expect(pacer.take("b", PacingLimits(gap: .zero), at: now) == .go)
            // A clock that goes back makes the gap no longer.
            #expect(pacer.take("a", PacingLimits(), at: now - .seconds(3600)) == .wait(until: next - .seconds(3600)))
            now = next - .seconds(3600)
            #expect(pacer.take("a", PacingLimits(), at: now) == .go)
        }
    }

    @Test("An adaptive interval halves on a change and grows by half without one, between its bounds")
    func adaptive() {
        let interval = RefreshInterval.adaptive(min: .seconds(60), max: .seconds(600))
        #expect(interval.next(after: nil, isChanged: false) == .seconds(90))
        #expect(interval.next(after: .seconds(500), isChanged: false) == .seconds(600))
        #expect(interval.next(after: .seconds(500), isChanged: true) == .seconds(250))
        #expect(interval.next(after: .seconds(70), isChanged: true) == .seconds(60))
        #expect(interval.next(after: .seconds(70), isChanged: nil) == .seconds(70))
        #expect(RefreshInterval.fixed(.seconds(60)).next(after: nil, isChanged: false) == .seconds(60))
    }

    @Test("A max-age outlasts an adaptive interval by at most a day, and leaves a fixed one as it is")
    func lifetimes() {
        let (fixed, adaptive) = (
            RefreshInterval.fixed(.seconds(60)), RefreshInterval.adaptive(min: .seconds(60), max: .seconds(600))
        )
        let long = RefreshInterval.adaptive(min: .seconds(60), max: .seconds(200_000))
        #expect(adaptive.next(after: .seconds(70), isChanged: true, least: .seconds(1000)) == .seconds(1000))
        #expect(adaptive.next(after: .seconds(70), isChanged: false, least: .seconds(31_536_000)) == .seconds(86_400))
        #expect(long.next(after: .seconds(70), isChanged: true, least: .seconds(31_536_000)) == .seconds(200_000))
        #expect(fixed.next(after: nil, isChanged: true, least: .seconds(90)) == .seconds(60))
        // A failure comes with a wish such as `Retry-After`, not with a max-age.
        #expect(fixed.next(after: nil, isChanged: nil, least: .seconds(90)) == .seconds(90))
        #expect(adaptive.next(after: .seconds(70), isChanged: nil, least: .seconds(90_000)) == .seconds(90_000))
    }

    @Test("The phases of URLs are the same at each start, and spread over the interval")
    func phases() {
        let hour: Duration = .seconds(3600)
        #expect(RefreshInterval.phase(of: "http://a/", in: hour) == RefreshInterval.phase(of: "http://a/", in: hour))
        let phases = (0..<6000).map { RefreshInterval.phase(of: "http://a/\($0)", in: hour) }
        #expect(phases.allSatisfy { $0 >= .zero && $0 < hour })
        let tenths = Dictionary(grouping: phases) { $0.milliseconds / 360_000 }
        #expect(tenths.count == 10 && tenths.values.allSatisfy { (500...700).contains($0.count) })
        #expect(RefreshInterval.phase(of: "http://a/", in: .zero) == .zero)
    }

    @Test(
        "Quiet hours delay a date to their end",
        arguments: [
            ("22:00-06:30", "21:59", 0), ("22:00-06:30", "22:00", 8 * 60 + 30), ("22:00-06:30", "00:00", 6 * 60 + 30),
            ("22:00-06:30", "06:30", 0), ("08:00-09:00", "08:59", 1), ("08:00-09:00", "07:59", 0),
        ])
    func quietHours(_ text: String, _ time: String, _ minutes: Int) throws {
        let hours = try #require(QuietHours(text))
        #expect(hours.text == text)
        let parts = time.split(separator: ":").compactMap { Int64($0) }
        let date = Timestamp(seconds: 1_800_000_000 / 86_400 * 86_400 + parts[0] * 3600 + parts[1] * 60)
        #expect(hours.next(from: date) == date + .seconds(minutes * 60))
    }

    @Test(
        "Text that is no pair of times is refused",
        arguments: [
            "", "22:00", "22:00-24:00", "22:00-06:60", "1:00-02:00", "22-06", "06:00-06:00", "+1:00-02:00",
            "22:00-06:00-07:00",
        ])
    func noQuietHours(_ text: String) {
        #expect(QuietHours(text) == nil)
    }
}
