import Dispatch
import Primitives

/// The only thread that changes the index and the published files, and that makes checkpoints. Invariants:
/// - The lock guards `queue`. The thread alone uses all other state that changes.
/// - Up to ``groupLimit`` waiting operations, with up to ``groupBodyBytes`` of bodies, share a transaction. If one
///   fails after a change, all are undone and run again, each in a savepoint; if the transaction fails, each runs again
///   in its own. So an operation may run more than once and must have no effect outside its ``WriteContext``.
/// - Completions run on this thread after the commit and must not wait for this thread.
final class Writer: Sendable {
    private struct Queue {
        var jobs: [WriterLoop.Job] = []
        var flushDeadline: DispatchTime?
        var isClosed = false
        /// Whether the thread waits on `wake`, or is about to.
        var isSleeping = false

        var groupCount: Int {
            var bytes: Int64 = 0
            let group = jobs.prefix(groupLimit)
            let end = group.firstIndex { job in
                bytes += job.bodyBytes
                return bytes > groupBodyBytes
            }
            // A single job may exceed the limit.
            return end.map { max($0, 1) } ?? group.count
        }
    }

    private static let groupLimit = 256
    private static let groupBodyBytes: Int64 = 8 << 20
    private static let flushInterval: DispatchTimeInterval = .milliseconds(800)
    private let hits: HitLog
    private let index: EntryIndex
    private let queue = Locked(Queue())
    private let wake = DispatchSemaphore(value: 0)
    private let thread = Locked<NamedThread?>(nil)

    /// Starts the thread. Only that thread uses `loop` from then on.
    init(_ loop: WriterLoop, hits: HitLog, index: EntryIndex) {
        self.hits = hits
        self.index = index
        let thread = NamedThread("larder-writer", stackSize: 2 << 20) { [self] in run(loop) }
        self.thread.withLock { $0 = thread }
    }

    /// Runs `work` in a transaction, then calls `completion` on the writer's thread. After ``close()`` `work` does not
    /// run, and `completion` gets ``DiskCacheError/closed`` on the caller's thread. Work that `makesRoom` by removing
    /// entries may use the ballast on a full disk.
    func submit<Value: Sendable>(
        makesRoom: Bool = false, bodyBytes: Int64 = 0,
        _ work: @escaping @Sendable (WriteContext) throws -> Value,
        completion: @escaping Completion<Value>
    ) {
        let value = Locked<Value?>(nil)
        let job = WriterLoop.Job(
            work: { context in
                let new = try work(context)
                value.withLock { $0 = new }
            },
            finish: { error in
                if let error { return completion(.failure(error)) }
                completion(value.withLock { $0.take() }.map { .success($0) } ?? .failure(.closed))
            }, makesRoom: makesRoom, bodyBytes: bodyBytes)
        let isOpen = wakeUnlessClosed { $0.jobs.append(job) }
        if !isOpen { completion(.failure(.closed)) }
    }

    /// Wakes the thread if it sleeps. Returns `false`, without a change, when the queue is closed.
    @discardableResult
    private func wakeUnlessClosed(_ change: (inout Queue) -> Void) -> Bool {
        let (isOpen, mustWake) = queue.withLock { queue in
            if queue.isClosed { return (false, false) }
            change(&queue)
            return (true, exchange(&queue.isSleeping, with: false))
        }
        if mustWake { wake.signal() }
        return isOpen
    }

    /// Waits for the outcome. Must not be called from the writer's own thread.
    func perform<Value: Sendable>(
        makesRoom: Bool = false, _ work: @escaping @Sendable (WriteContext) throws -> Value
    ) throws(DiskCacheError) -> Value {
        checkMayWait()
        let outcome = Locked<Result<Value, DiskCacheError>>(.failure(.closed))
        let done = DispatchSemaphore(value: 0)
        submit(makesRoom: makesRoom, work) { result in
            outcome.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        return try outcome.withLock { $0 }.get()
    }

    /// Schedules a flush of the log of hits; `atOnce`: in the next transaction, because much is pending.
    func flushSoon(atOnce: Bool = false) {
        let mustWake = queue.withLock { queue in
            if queue.isClosed || (queue.flushDeadline != nil && !atOnce) { return false }
            queue.flushDeadline = atOnce ? .now() : .now() + Self.flushInterval
            return exchange(&queue.isSleeping, with: false)
        }
        if mustWake { wake.signal() }
    }

    /// Finishes the waiting operations, writes hits and expiry dates, closes the index, and waits until this is done.
    func close() {
        checkMayWait()
        stop()
        thread.withLock { $0 }?.join()
    }

    /// Traps on the writer's own thread, because it would wait for itself for ever.
    private func checkMayWait() {
        precondition(
            thread.withLock { $0 }?.isCurrent != true,
            "a completion must not wait for the writer: it runs on the writer's own thread")
    }

    func stop() { wakeUnlessClosed { $0.isClosed = true } }

    private func run(_ loop: WriterLoop) {
        while true {
            var (jobs, mustFlush, isLast) = next(orSleep: !loop.hasUpkeep)
            if mustFlush || isLast {
                let flush = WriterLoop.Job(
                    work: { try $0.flushHits(limit: isLast ? .all : .periodic) },
                    finish: { [self] error in
                        guard error != nil || !hits.isEmpty else { return }
                        // ``HitLog`` drops no renewed expiry date, so the dates must not pile up.
                        flushSoon(atOnce: error == nil && hits.hasMoreSlides(than: .periodic))
                    })
                // The flush comes first, so that an update in the same transaction overrides it.
                jobs.insert(flush, at: 0)
            }
            if !jobs.isEmpty { loop.run(jobs) }
            if isLast || loop.isCrashed { break }
            loop.upkeep()
        }
        queue.withLock { $0.isClosed = true }
        index.close(checkpoint: !loop.isCrashed)
        for job in queue.withLock({ exchange(&$0.jobs, with: []) }) { job.finish(.closed) }
    }

    /// Returns the next group. The writer stops after the group with `isLast`. With `maySleep`, waits for work.
    private func next(orSleep maySleep: Bool) -> (jobs: [WriterLoop.Job], mustFlush: Bool, isLast: Bool) {
        while true {
            let (found, deadline) = queue.withLock { queue in
                let mustFlush = queue.flushDeadline.map { $0 <= .now() } ?? false
                let groupCount = queue.groupCount
                let isLast = queue.isClosed && queue.jobs.count == groupCount
                if queue.jobs.isEmpty && !mustFlush && !isLast && maySleep {
                    queue.isSleeping = true
                    return (Optional<([WriterLoop.Job], Bool, Bool)>.none, queue.flushDeadline)
                }
                let group = Array(queue.jobs.prefix(groupCount))
                queue.jobs.removeFirst(groupCount)
                if mustFlush { queue.flushDeadline = nil }
                return ((group, mustFlush, isLast), nil)
            }
            if let found { return found }
            if wake.wait(timeout: deadline ?? .distantFuture) == .timedOut {
                let wasWoken = queue.withLock { !exchange(&$0.isSleeping, with: false) }
                // A signal came just after the timeout. It is taken here, because it would end a later wait too early.
                if wasWoken { wake.wait() }
            }
        }
    }
}
