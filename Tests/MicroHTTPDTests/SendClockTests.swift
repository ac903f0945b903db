import Testing

@testable import MicroHTTPD

@Suite("How slowly an answer may be taken")
struct SendClockTests {
    /// A minute at 1,000 bytes a second, of an answer of which the kernel has this much at first. With the time of one
    /// step, 131 seconds, the window has 191 seconds.
    private static func clock(taken: Int64 = 500, waiting: Int64 = 1_000_000) -> SendClock {
        SendClock(
            now: 0, SendProgress(taken: taken, waiting: waiting), period: 60_000, bytesPerSecond: 1000)
    }

    /// At a time in seconds.
    private static func look(_ clock: inout SendClock, at seconds: Int64, taken: Int64, waiting: Int64) -> Bool {
        clock.isTooSlow(now: seconds * 1000, SendProgress(taken: taken, waiting: waiting))
    }

    @Test("A client that takes a byte now and then is too slow after a whole window, and not before")
    func trickle() {
        var clock = Self.clock()
        for second in Int64(1)...191 {
            #expect(!Self.look(&clock, at: second, taken: 500 + second, waiting: 1_000_000))
        }
        #expect(Self.look(&clock, at: 192, taken: 692, waiting: 1_000_000))
    }

    @Test("The minimum of a period is enough, and must be taken in every window")
    func rate() {
        var clock = Self.clock()
        #expect(!Self.look(&clock, at: 30, taken: 500, waiting: 1_000_000))
        #expect(!Self.look(&clock, at: 192, taken: 60_500, waiting: 1_000_000))
        #expect(!Self.look(&clock, at: 383, taken: 120_499, waiting: 1_000_000))
        #expect(Self.look(&clock, at: 384, taken: 120_499, waiting: 1_000_000))
    }

    @Test("A client that reads at the minimum rate is never too slow, however large the steps of its kernel are")
    func steps() {
        for step in [Int64(1), 12_288, 95_232, SendClock.step] {
            var clock = Self.clock()
            for second in stride(from: Int64(5), through: 5000, by: 5) {
                // What it has read, up to the last step that its kernel has made room for.
                let taken = 500 + second * 1000 / step * step
                #expect(!Self.look(&clock, at: second, taken: taken, waiting: 1_000_000), "\(step) at \(second)")
            }
        }
    }

    @Test("what was taken fast at first buys no time later")
    func banked() {
        var clock = Self.clock()
        #expect(!Self.look(&clock, at: 192, taken: 900_000, waiting: 1_000_000))
        #expect(Self.look(&clock, at: 384, taken: 900_001, waiting: 1_000_000))
    }

    @Test("While nothing waits for a client it is not too slow, and has a whole window when something does again")
    func nothing() {
        var clock = Self.clock(waiting: 0)
        for second in Int64(1)...600 { #expect(!Self.look(&clock, at: second, taken: 500, waiting: 0)) }
        #expect(!Self.look(&clock, at: 659, taken: 500, waiting: 1000))
        #expect(!Self.look(&clock, at: 850, taken: 500, waiting: 1000))
        #expect(Self.look(&clock, at: 851, taken: 500, waiting: 1000))
    }

    @Test("who always takes what waited at the last look keeps up with a slow answer, however far away it is")
    func keepsUp() {
        var clock = Self.clock(waiting: 10)
        // Ten bytes a look, and the next ten are on their way by then.
        for look in Int64(1)...100 {
            #expect(!Self.look(&clock, at: look * 5, taken: 500 + look * 10, waiting: 10))
        }
    }

    @Test("a little that waits for a whole period is not taken either")
    func little() {
        var clock = Self.clock(waiting: 10)
        #expect(!Self.look(&clock, at: 30, taken: 505, waiting: 5))
        #expect(Self.look(&clock, at: 192, taken: 509, waiting: 1))
    }
}
