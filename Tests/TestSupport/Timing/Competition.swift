import Foundation
import Synchronization

/// A thread that wants the processor of the calling one, and never waits. Both are kept on one processor meanwhile, so
/// that it is wanted however the kernel spreads threads.
public enum Competition {
    private final class End: Sendable {
        let hasCome = Atomic<Bool>(false)
    }

    /// How often the calling thread had to leave its processor while `step` was done again and again, until that many
    /// nanoseconds of its own were used.
    public static func timesTaken(in nanoseconds: Int, _ step: () -> Void) -> Int {
        let everywhere = Affinity.ofCaller
        let here = everywhere.first
        here.apply()
        let competition = End()
        Thread.detachNewThread {
            here.apply()
            while !competition.hasCome.load(ordering: .relaxed) {}
        }
        defer {
            competition.hasCome.store(true, ordering: .relaxed)
            everywhere.apply()
        }
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
