import Testing

@testable import MicroHTTPD

@Suite("How long a body may take")
struct BodyClockTests {
    @Test("a minimum rate on average, after a grace")
    func average() {
        var clock = BodyClock(now: 1000, grace: 200, limit: 60_000, bytesPerSecond: 1000)
        #expect(clock.deadline == 1200)
        clock.receive(500, now: 1100)
        #expect(clock.deadline == 1700)
        // What is less than a millisecond is not lost.
        for _ in 0..<10 { clock.receive(1, now: 1100) }
        #expect(clock.deadline == 1710)
        var slow = BodyClock(now: 0, grace: 0, limit: 60_000, bytesPerSecond: 3000)
        for _ in 0..<3000 { slow.receive(1, now: 0) }
        #expect(slow.deadline == 1000)
    }

    @Test("who sends much at first may not hold it for hours by a byte now and then")
    func banked() {
        var clock = BodyClock(now: 0, grace: 20_000, limit: 60_000, bytesPerSecond: 1024)
        clock.receive(8 << 20, now: 100)
        #expect(clock.deadline == 60_100)
        clock.receive(1, now: 50_000)
        #expect(clock.deadline <= 60_101)
    }

    @Test("while nothing is read no time passes")
    func stopped() {
        var clock = BodyClock(now: 0, grace: 1000, limit: 60_000, bytesPerSecond: 1000)
        clock.stop(now: 400)
        clock.stop(now: 500)
        #expect(clock.deadline == .max)
        clock.resume(now: 10_400)
        #expect(clock.deadline == 11_000)
        clock.resume(now: 20_000)
        #expect(clock.deadline == 11_000)
    }
}
