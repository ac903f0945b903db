import Foundation
import Primitives

/// How many connections each of libmicrohttpd's threads serves, and to which one a new connection comes.
///
/// `MHD_add_connection` of 0.9.75 gives a connection to the thread whose index is its descriptor's number modulo the
/// count of threads. A new descriptor has the lowest number that is free, so what else the process has open decides:
/// where a file, or a connection to an origin, was opened between every two clients, all of them come to one thread,
/// and the others have nothing to do. So a socket whose number leads to another thread than it should gets another
/// number. Were the library to choose otherwise, all of this would be of no use, but do no harm.
///
/// The threads have their turn, one after the other, but for those that have an eighth more connections than the one
/// with the fewest. Strictly the one with the fewest would have all of a burst after many idle ones of it had left.
///
/// Invariant: the lock guards who has how many. The acceptor counts a connection before the library has it, and it is
/// counted no more while its descriptor is open still, or when the library refused it.
final class ThreadLoads: Sendable {
    private struct Loads {
        var counts: [Int]
        /// Whose turn it was.
        var last = 0

        /// Whose turn it is.
        mutating func next() -> Int {
            let fewest = counts.min() ?? 0
            repeat { last = (last + 1) % counts.count } while counts[last] > fewest + fewest / 8
            return last
        }
    }

    private let loads: Locked<Loads>
    private let threadCount: Int32

    /// - Parameter threads: how many serve connections; 1 at least.
    init(threads: Int) {
        threadCount = Int32(clamping: max(1, threads))
        loads = Locked(Loads(counts: Array(repeating: 0, count: Int(threadCount))))
    }

    /// How many connections each thread has.
    var connectionCounts: [Int] { loads.withLock { $0.counts } }

    /// Counts a connection that was accepted, for the thread whose turn it is. Its descriptor is what is returned:
    /// `descriptor` itself, or another one of the same socket, and `descriptor` is closed. Where the process has no
    /// number to give it that leads to that thread it is `descriptor`, and the connection comes to that one's.
    func place(_ descriptor: Int32) -> Int32 {
        let wanted = loads.withLock { $0.next() }
        var placed = descriptor
        if index(of: descriptor) != wanted, let other = duplicate(descriptor, for: Int32(wanted)) {
            close(descriptor)
            placed = other
        }
        loads.withLock { $0.counts[index(of: placed)] += 1 }
        return placed
    }

    /// Takes ``place(_:)`` back, given what it returned.
    func leave(_ descriptor: Int32) {
        loads.withLock { $0.counts[index(of: descriptor)] -= 1 }
    }

    private func index(of descriptor: Int32) -> Int { Int(descriptor % threadCount) }

    /// Another descriptor of the socket, one that leads to the thread `index`. `nil`: none was found.
    private func duplicate(_ descriptor: Int32, for index: Int32) -> Int32? {
        // The kernel gives the first free number from a least one on. Where that leads to another thread, as it does
        // when the others are in use, it is asked again from further on, and further each time.
        var (least, step) = (descriptor + 1, Int32(1))
        for _ in 0..<16 {
            let ahead = (index - least % threadCount + threadCount) % threadCount
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, least + ahead)
            guard copy >= 0 else { return nil }
            if copy % threadCount == index { return copy }
            close(copy)
            least = copy + step
            step *= 2
        }
        return nil
    }
}
