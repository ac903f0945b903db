import Foundation
import Primitives

/// How many connections each of libmicrohttpd's threads serves, and how a new one comes to a thread with the fewest.
///
/// `MHD_add_connection` of 0.9.75 gives a connection to the thread whose index is its descriptor's number modulo the
/// count of threads. A new descriptor has the lowest number that is free, so what else the process has open decides:
/// where a file, or a connection to an origin, was opened between every two clients, all of them come to one thread, and
/// the others have nothing to do. So a socket whose number leads to a busier thread gets another number.
final class ThreadLoads: Sendable {
    private let counts: Locked<[Int]>
    private let threadCount: Int32

    /// - Parameter threads: how many serve connections; 1 at least.
    init(threads: Int) {
        let count = max(1, threads)
        counts = Locked(Array(repeating: 0, count: count))
        threadCount = Int32(clamping: count)
    }

    /// How many connections each thread has.
    var connectionCounts: [Int] { counts.withLock { $0 } }

    /// Counts a connection that was accepted, for a thread that has the fewest. Its descriptor is what is returned:
    /// `descriptor` itself, or another one of the same socket, and `descriptor` is closed. Where the process has no
    /// other number to give it is `descriptor`, and its thread may have more than the fewest.
    ///
    /// For one thread at a time.
    func place(_ descriptor: Int32) -> Int32 {
        let own = index(of: descriptor)
        let wanted: Int? = counts.withLock { counts in
            guard let fewest = counts.min(), counts[own] > fewest else { return nil }
            return counts.firstIndex(of: fewest)
        }
        var placed = descriptor
        if let wanted, let other = duplicate(descriptor, for: Int32(wanted)) {
            close(descriptor)
            placed = other
        }
        counts.withLock { $0[index(of: placed)] += 1 }
        return placed
    }

    /// Takes ``place(_:)`` back, given what it returned: the connection is about to be closed, or is already.
    func leave(_ descriptor: Int32) {
        counts.withLock { $0[index(of: descriptor)] -= 1 }
    }

    private func index(of descriptor: Int32) -> Int { Int(descriptor % threadCount) }

    /// Another descriptor of the socket, one that leads to the thread `index`. `nil`: none was found.
    private func duplicate(_ descriptor: Int32, for index: Int32) -> Int32? {
        // The kernel gives the first free number from a least one on. Where that leads to another thread, as it does
        // when the others are all in use, the next least one is twice as far away: soon it is beyond all that are used.
        var distance: Int32 = 1
        for _ in 0..<16 {
            let least = descriptor + distance
            let ahead = (index - least % threadCount + threadCount) % threadCount
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, least + ahead)
            guard copy >= 0 else { return nil }
            if copy % threadCount == index { return copy }
            close(copy)
            distance = (copy - descriptor) * 2
        }
        return nil
    }
}
