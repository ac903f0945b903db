import Primitives

/// How many connections each thread that serves some has, and to which one the next comes.
///
/// The threads have their turn, one after the other, but for those that have more connections than the one with the
/// fewest, and that by more than an eighth. Strictly the one with the fewest would have all of a burst after many idle
/// ones of it had left.
///
/// Invariant: the lock guards who has how many. A connection counts from before its thread has it until its socket is
/// about to be closed, or libmicrohttpd has refused it.
final class ThreadLoads: Sendable {
    private struct Loads {
        var counts: [Int]
        /// Whose turn it was.
        var last: Int
    }

    private let loads: Locked<Loads>
    /// How many threads there are.
    let threadCount: Int

    /// - Parameter threads: how many there are; 1 at least.
    init(threads: Int) {
        threadCount = threads
        loads = Locked(Loads(counts: Array(repeating: 0, count: threads), last: threads - 1))
    }

    /// How many connections each thread has.
    var connectionCounts: [Int] { loads.withLock { $0.counts } }

    /// Counts a connection, and says whose it is: the index of a thread.
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

    /// Takes ``join()`` back, given what it returned.
    func leave(_ thread: Int) {
        loads.withLock { $0.counts[thread] -= 1 }
    }
}
