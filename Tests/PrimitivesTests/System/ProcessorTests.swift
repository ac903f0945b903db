import Primitives
import TestSupport
import Testing

@Suite("The offer of the processor")
struct ProcessorTests {
    /// The number of times that the calling thread offers its processor in 20 ms of its own processor time, when it is
    /// asked continuously.
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

    @Test("A thread that may offer its processor more often does so at most every 200 µs")
    func offer() {
        let begin = Processor.nanoseconds()
        let count = offers()
        // At least every millisecond, however long the thread is kept from its processor.
        #expect(count >= 20)
        #expect(count <= (Processor.nanoseconds() - begin) / 200_000 + 1)
    }

    @Test("After keep() a thread does not offer its processor, until it calls share()")
    func keep() {
        Processor.keep()
        #expect(offers() == 0)
        Processor.share()
        #expect(offers() >= 20)
    }
}
