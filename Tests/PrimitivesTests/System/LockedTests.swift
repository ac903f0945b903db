import Dispatch
import Primitives
import Testing

@Suite("The `Locked` state")
struct LockedTests {
    private struct Failure: Error {}

    /// Shares a `Locked` between the closures of several threads, because a `Locked` cannot be copied.
    private final class Counter: Sendable {
        let state = Locked((value: 0, inside: 0, most: 0))
    }

    @Test("Only one of many threads is inside the lock at a time, and no change is lost")
    func exclusion() async {
        let counter = Counter()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                DispatchQueue.concurrentPerform(iterations: 8) { _ in
                    for _ in 0..<20_000 {
                        counter.state.withLock { state in
                            state.inside += 1
                            state.most = max(state.most, state.inside)
                            state.value += 1
                            state.inside -= 1
                        }
                    }
                }
                continuation.resume()
            }
        }
        let (value, most) = counter.state.withLock { ($0.value, $0.most) }
        #expect(value == 160_000)
        #expect(most == 1)
    }

    @Test("An error thrown inside the lock is rethrown, and the lock is released")
    func throwing() {
        let locked = Locked(1)
        #expect(throws: Failure.self) {
            try locked.withLock { (value) throws(Failure) in
                value = 2
                throw Failure()
            }
        }
        #expect(locked.withLock { $0 } == 2)
    }
}
