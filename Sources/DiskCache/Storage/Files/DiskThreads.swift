import Foundation
import Primitives

/// Threads that may wait for the disk. The first work starts them. After ``stop()`` work runs on the caller's thread.
final class DiskThreads: Sendable {
    private struct State {
        var works: [@Sendable () -> Void] = []
        var next = 0
        var isStarted = false
        var isStopped = false
    }

    private let count: Int
    private let state = Locked(State())
    private let ready = DispatchSemaphore(value: 0)

    init(count: Int = 8) { self.count = count }

    func run(_ work: @escaping @Sendable () -> Void) {
        let (isStopped, isFirst) = state.withLock { state in
            if state.isStopped { return (true, false) }
            state.works.append(work)
            return (false, !exchange(&state.isStarted, with: true))
        }
        if isStopped { return work() }
        if isFirst {
            for _ in 0..<count {
                _ = NamedThread("larder-disk", stackSize: 512 << 10) { [self] in
                    while let work = next() { work() }
                }
            }
        }
        ready.signal()
    }

    /// For work that no caller waits for: drops `work` if as many works as there are threads are already queued.
    func runUnlessBusy(_ work: @escaping @Sendable () -> Void) {
        if state.withLock({ !$0.isStopped && $0.works.count - $0.next < count }) { run(work) }
    }

    /// Ends the threads once all handed-in work is done.
    func stop() {
        state.withLock { $0.isStopped = true }
        for _ in 0..<count { ready.signal() }
    }

    /// `nil` after ``stop()``, when all work is done.
    private func next() -> (@Sendable () -> Void)? {
        ready.wait()
        return state.withLock { state in
            guard state.next < state.works.count else { return nil }
            defer {
                state.next += 1
                // Removes finished works once they are half of the array, so that a work moves at most once on average.
                if state.next * 2 >= state.works.count {
                    state.works.removeFirst(state.next)
                    state.next = 0
                }
            }
            return state.works[state.next]
        }
    }
}

package enum Lookup<Value: Sendable>: Sendable {
    case found(Value)
    /// The data is on the disk, and the caller may not wait: repeat the call with ``DiskCache/onDiskThread(_:)``.
    case onDisk
}
