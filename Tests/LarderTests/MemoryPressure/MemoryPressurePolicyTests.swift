import Testing

@testable import Larder

@Suite("The memory pressure policy")
struct MemoryPressurePolicyTests {
    private static let full = 160 << 20
    private let start = ContinuousClock.now
    private var policy = MemoryPressurePolicy(fullLimit: full)

    @Test("Without a sign of short memory, the memory limit stays as configured, and no growth is due")
    func calm() {
        var policy = policy
        #expect(policy.limit == Self.full)
        #expect(policy.nextGrowth == nil)
        #expect(policy.grow(at: start + .seconds(1000)) == nil)
    }

    @Test("A sign of short memory lowers the limit to three quarters of the held bytes")
    func quarter() {
        var policy = policy
        #expect(policy.shrink(.short, holding: 80 << 20, at: start) == 60 << 20)
        #expect(policy.shrink(.short, holding: 60 << 20, at: start + .seconds(2)) == 45 << 20)
    }

    @Test("Signs of short memory within two seconds count as a single sign")
    func burst() {
        var policy = policy
        #expect(policy.shrink(.short, holding: Self.full, at: start) == 120 << 20)
        for millisecond in [1, 500, 1999] {
            #expect(policy.shrink(.short, holding: Self.full, at: start + .milliseconds(millisecond)) == nil)
        }
        #expect(policy.shrink(.short, holding: 120 << 20, at: start + .seconds(2)) == 90 << 20)
    }

    @Test("Repeated signs lower the limit to a sixteenth of its full value; a sign of exhausted memory does so at once")
    func floor() {
        var policy = policy
        for second in 0..<100 { _ = policy.shrink(.short, holding: policy.limit, at: start + .seconds(2 * second)) }
        #expect(policy.limit == 10 << 20)
        var exhausted = self.policy
        #expect(exhausted.shrink(.short, holding: Self.full, at: start) == 120 << 20)
        #expect(exhausted.shrink(.exhausted, holding: Self.full, at: start) == 10 << 20)
        #expect(exhausted.shrink(.exhausted, holding: Self.full, at: start + .seconds(9)) == nil)
    }

    @Test("The limit grows back in steps after half a minute without a sign, and a sign delays the growth")
    func growth() throws {
        var policy = policy
        _ = policy.shrink(.exhausted, holding: Self.full, at: start)
        #expect(policy.grow(at: start + .seconds(29)) == nil)
        #expect(policy.nextGrowth == start + .seconds(30))
        #expect(policy.grow(at: start + .seconds(30)) == 20 << 20)
        #expect(policy.grow(at: start + .seconds(34)) == nil)
        // The first sign lowers the limit to its floor. The second sign only delays the growth of the limit.
        #expect(policy.shrink(.short, holding: 0, at: start + .seconds(34)) == 10 << 20)
        #expect(policy.shrink(.short, holding: 0, at: start + .seconds(60)) == nil)
        #expect(policy.nextGrowth == start + .seconds(90))
        var steps = 0
        while let next = policy.nextGrowth {
            #expect(policy.grow(at: next) != nil)
            steps += 1
        }
        #expect(policy.limit == Self.full)
        #expect(steps == 15)
    }
}
