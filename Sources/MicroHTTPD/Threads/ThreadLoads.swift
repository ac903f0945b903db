import Primitives

/// Counts the connections of each serving thread, and chooses the thread for the next connection. Each thread gets one
/// in turn, but a thread with over an eighth more connections than the thread with the fewest is skipped. Without this
/// tolerance, a thread that loses a few of many idle connections would get a whole burst. A connection counts from the
/// choice of its thread until its socket is about to be closed, or libmicrohttpd has refused it.
final class ThreadLoads: Sendable {
    struct Loads {
        var counts: [Int]
        var last: Int
    }

    let loads: Locked<Loads>
    let threadCount: Int

    /// `threads` is at least 1.
    init(threads: Int) {
        threadCount = threads
        loads = Locked(Loads(counts: Array(repeating: 0, count: threads), last: threads - 1))
    }

    /// Counts a new connection, and returns the index of the thread that gets it.
    func join() -> Int {
        loads.withLock { loads in
            let fewest = loads.counts.min() ?? 0
            repeat {
                loads.last = (loads.last + 1) % loads.counts.count
            } while loads.counts[loads.last] > fewest + fewest / 8
            loads.counts[loads.last] += 1
            return loads.last
        }
    }

    /// Takes back the ``join()`` that returned `thread`.
    func leave(_ thread: Int) {
        loads.withLock { $0.counts[thread] -= 1 }
    }
}
