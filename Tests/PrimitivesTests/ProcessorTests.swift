import Foundation
import Primitives
import Synchronization
import Testing

@Suite("The processor")
struct ProcessorTests {
    @Test("is given away many times between two ticks by who offers it, when there are others who want it")
    func offer() {
        // Two for each processor, so that somebody wants ours, however the kernel spreads them.
        final class Competition: Sendable {
            let isOver = Atomic<Bool>(false)
        }
        let competition = Competition()
        for _ in 0..<2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)) {
            Thread.detachNewThread {
                while !competition.isOver.load(ordering: .relaxed) {}
            }
        }
        defer { competition.isOver.store(true, ordering: .relaxed) }
        // 80 ms of our own are 20 ticks of 4 ms, and 400 turns.
        let before = Self.timesTaken()
        let end = Self.processorTime() + 80_000_000
        while Self.processorTime() < end { Processor.offer() }
        #expect(Self.timesTaken() - before > 60)
    }

    /// In nanoseconds, of the calling thread.
    private static func processorTime() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// How often the calling thread had to leave its processor while it had something to do.
    private static func timesTaken() -> Int {
        var usage = rusage()
        // It is RUSAGE_THREAD.
        getrusage(__rusage_who_t(1), &usage)
        return usage.ru_nivcsw
    }
}
