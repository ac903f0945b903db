import Foundation
import Primitives

/// Some threads that may wait for the disk, on behalf of those that serve and may not.
///
/// They are started with the first work and end with this object's ``stop()``; what is handed in later runs at once, on
/// the caller's thread.
final class DiskThreads: Sendable {
    private let count: Int
    private struct State {
        var works: [@Sendable () -> Void] = []
        var next = 0
        var isStarted = false
        var isStopped = false
    }

    private let state = Locked(State())
    private let ready = DispatchSemaphore(value: 0)

    /// - Parameter count: how many threads there will be.
    init(count: Int = 8) {
        self.count = count
    }

    /// Runs `work` soon.
    func run(_ work: @escaping @Sendable () -> Void) {
        let (isStopped, isFirst) = state.withLock { state in
            if state.isStopped { return (true, false) }
            state.works.append(work)
            defer { state.isStarted = true }
            return (false, !state.isStarted)
        }
        if isStopped { return work() }
        if isFirst { start() }
        ready.signal()
    }

    /// ``run(_:)`` for what nobody waits for, and what can be left out: when so much waits already that it would have
    /// to, too.
    func runUnlessBusy(_ work: @escaping @Sendable () -> Void) {
        if state.withLock({ !$0.isStopped && $0.works.count - $0.next < count }) { run(work) }
    }

    /// Ends the threads once all works have been done.
    func stop() {
        state.withLock { $0.isStopped = true }
        for _ in 0..<count { ready.signal() }
    }

    private func start() {
        for _ in 0..<count {
            let thread = Thread { [self] in
                ThreadName.set("larder-disk")
                while let work = next() { work() }
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
    }

    /// The next work; `nil` when there will be none.
    private func next() -> (@Sendable () -> Void)? {
        ready.wait()
        return state.withLock { state in
            guard state.next < state.works.count else { return nil }
            defer {
                state.next += 1
                // Those that are done go when they are half of all: each is moved once at the most.
                if state.next * 2 >= state.works.count {
                    state.works.removeFirst(state.next)
                    state.next = 0
                }
            }
            return state.works[state.next]
        }
    }
}
