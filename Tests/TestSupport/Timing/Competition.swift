import Foundation
import Synchronization

/// Threads that want every processor, two for each, so that somebody wants the caller's however the kernel spreads
/// them.
public enum Competition {
    private final class End: Sendable {
        let hasCome = Atomic<Bool>(false)
    }

    /// How often the calling thread had to leave its processor to them while `step` was done again and again, until
    /// that many nanoseconds of its own were used.
    public static func timesTaken(in nanoseconds: Int, _ step: () -> Void) -> Int {
        let competition = End()
        for _ in 0..<2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)) {
            Thread.detachNewThread {
                while !competition.hasCome.load(ordering: .relaxed) {}
            }
        }
        defer { competition.hasCome.store(true, ordering: .relaxed) }
        let before = timesTaken()
        let end = processorTime() + nanoseconds
        while processorTime() < end { step() }
        return timesTaken() - before
    }

    private static func timesTaken() -> Int {
        var usage = rusage()
        // It is RUSAGE_THREAD.
        getrusage(__rusage_who_t(1), &usage)
        return usage.ru_nivcsw
    }
}
