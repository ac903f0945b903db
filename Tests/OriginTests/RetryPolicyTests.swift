import Primitives
import Testing

@testable import Origin

@Suite struct RetryPolicyTests {
    @Test("The pauses between tries double up to the maximum, and half of each pause is random")
    func delays() {
        var policy = RetryPolicy()
        policy.maximumTries = 6
        policy.random = { 1 }
        #expect((1...5).map { policy.delay(afterFailures: $0)?.milliseconds } == [200, 400, 800, 1600, 2000])
        policy.random = { 0 }
        #expect((1...5).map { policy.delay(afterFailures: $0)?.milliseconds } == [100, 200, 400, 800, 1000])
    }

    @Test("No pause follows the last try")
    func end() {
        #expect(RetryPolicy().delay(afterFailures: 2) != nil)
        #expect(RetryPolicy().delay(afterFailures: 3) == nil)
        #expect(RetryPolicy.never.delay(afterFailures: 1) == nil)
    }
}
