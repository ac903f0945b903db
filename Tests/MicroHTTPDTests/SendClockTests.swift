import Testing

@testable import MicroHTTPD

@Suite("The minimum rate at which a client takes an answer")
struct SendClockTests {
    /// A clock with a period of one minute at 1,000 bytes a second. At first the client has acknowledged `taken` bytes,
    /// and `waiting` bytes are in the kernel. The window lasts 191 seconds: the period, and 131 seconds for one
    /// ``SendClock/step``.
    private static func clock(taken: Int64 = 500, waiting: Int64 = 1_000_000) -> SendClock {
        SendClock(
            now: 0, SendProgress(taken: taken, waiting: waiting), period: 60_000, bytesPerSecond: 1000)
    }

    /// Whether the client is too slow at a time in seconds.
    private static func look(_ clock: inout SendClock, at seconds: Int64, taken: Int64, waiting: Int64) -> Bool {
        clock.isTooSlow(now: seconds * 1000, SendProgress(taken: taken, waiting: waiting))
    }

    @Test("A client that takes a byte each second is too slow once a whole window has passed, and not before")
    func trickle() {
        var clock = Self.clock()
        for second in Int64(1)...191 {
            #expect(!Self.look(&clock, at: second, taken: 500 + second, waiting: 1_000_000))
        }
        #expect(Self.look(&clock, at: 192, taken: 692, waiting: 1_000_000))
    }

    @Test("In each window of 191 s, a client must take 60,000 bytes (a minute at the minimum rate); 59,999 are too few")
    func rate() {
        var clock = Self.clock()
        #expect(!Self.look(&clock, at: 30, taken: 500, waiting: 1_000_000))
        #expect(!Self.look(&clock, at: 192, taken: 60_500, waiting: 1_000_000))
        #expect(!Self.look(&clock, at: 383, taken: 120_499, waiting: 1_000_000))
        #expect(Self.look(&clock, at: 384, taken: 120_499, waiting: 1_000_000))
    }

    @Test("A client that reads at the minimum rate is never too slow, even if its kernel acknowledges in large steps")
    func steps() {
        for step in [Int64(1), 12_288, 95_232, SendClock.step] {
            var clock = Self.clock()
            for second in stride(from: Int64(5), through: 5000, by: 5) {
                // The kernel acknowledges whole steps, so the read bytes are rounded down to a multiple of `step`.
                let taken = 500 + second * 1000 / step * step
                #expect(!Self.look(&clock, at: second, taken: taken, waiting: 1_000_000), "\(step) at \(second)")
            }
        }
    }

    @Test("A client that starts fast and then takes a single byte in a window is too slow")
    func banked() {
        var clock = Self.clock()
        #expect(!Self.look(&clock, at: 192, taken: 900_000, waiting: 1_000_000))
        #expect(Self.look(&clock, at: 384, taken: 900_001, waiting: 1_000_000))
    }

    @Test("A client is not too slow while no bytes wait for it, and has a whole window when bytes wait again")
    func nothing() {
        var clock = Self.clock(waiting: 0)
        for second in Int64(1)...600 { #expect(!Self.look(&clock, at: second, taken: 500, waiting: 0)) }
        #expect(!Self.look(&clock, at: 659, taken: 500, waiting: 1000))
        #expect(!Self.look(&clock, at: 850, taken: 500, waiting: 1000))
        #expect(Self.look(&clock, at: 851, taken: 500, waiting: 1000))
    }

    @Test("A client that has taken all earlier bytes at each check is never too slow, even if the server sends slowly")
    func keepsUp() {
        var clock = Self.clock(waiting: 10)
        // The client has taken the ten waiting bytes before each look, and ten new bytes wait.
        for look in Int64(1)...100 {
            #expect(!Self.look(&clock, at: look * 5, taken: 500 + look * 10, waiting: 10))
        }
    }

    @Test("A client that leaves some bytes waiting during a whole window is too slow, even if only few bytes wait")
    func little() {
        var clock = Self.clock(waiting: 10)
        #expect(!Self.look(&clock, at: 30, taken: 505, waiting: 5))
        #expect(Self.look(&clock, at: 192, taken: 509, waiting: 1))
    }
}
