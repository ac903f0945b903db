import Testing

@testable import MicroHTTPD

@Suite("The time limit of a request body")
struct BodyClockTests {
    @Test("The time limit of a body is a grace period plus the time that the received bytes take at the minimum rate")
    func average() {
        var clock = BodyClock(now: 1000, grace: 200, limit: 60_000, bytesPerSecond: 1000)
        #expect(clock.deadline == 1200)
        clock.receive(500, now: 1100)
        #expect(clock.deadline == 1700)
        // Fractions of a millisecond add up.
        for _ in 0..<10 { clock.receive(1, now: 1100) }
        #expect(clock.deadline == 1710)
        var slow = BodyClock(now: 0, grace: 0, limit: 60_000, bytesPerSecond: 3000)
        for _ in 0..<3000 { slow.receive(1, now: 0) }
        #expect(slow.deadline == 1000)
    }

    @Test("A client that sends a body fast at first, and then single bytes, cannot keep its connection for hours")
    func banked() {
        var clock = BodyClock(now: 0, grace: 20_000, limit: 60_000, bytesPerSecond: 1024)
        clock.receive(8 << 20, now: 100)
        #expect(clock.deadline == 60_100)
        clock.receive(1, now: 50_000)
        #expect(clock.deadline <= 60_101)
    }

    @Test("A body's deadline is suspended while the server does not read the body")
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
