import Primitives
import TestSupport
import Testing

@Suite("Yielding the processor")
struct ProcessorTests {
    /// The number of yields of the calling thread in 20 ms of its processor time, while it calls `offer()` without a
    /// pause.
    private func offers() -> Int {
        var count = 0
        let end = processorTime() + 20_000_000
        while processorTime() < end {
            let before = Processor.turnStart
            Processor.offer()
            if Processor.turnStart != before { count += 1 }
        }
        return count
    }

    @Test("A thread that calls offer() again and again yields the processor at most every 200 µs")
    func offer() {
        let begin = Processor.nanoseconds()
        let count = offers()
        // The thread yields at least once in each millisecond of its processor time.
        #expect(count >= 20)
        #expect(count <= (Processor.nanoseconds() - begin) / 200_000 + 1)
    }

    @Test("After keep(), offer() does not yield the processor until the thread calls share()")
    func keep() {
        Processor.keep()
        #expect(offers() == 0)
        Processor.share()
        #expect(offers() >= 20)
    }
}
