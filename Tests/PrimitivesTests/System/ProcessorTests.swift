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

    @Test("A thread that is asked more often offers its processor every 200 µs")
    func offer() {
        let begin = Processor.nanoseconds()
        let count = offers()
        // At least every millisecond, however long the thread is kept from its processor.
        #expect(count >= 20)
        #expect(count <= (Processor.nanoseconds() - begin) / 200_000 + 1)
    }

    @Test("A thread that keeps its processor does not offer it until it shares it again")
    func keep() {
        Processor.keep()
        #expect(offers() == 0)
        Processor.share()
        #expect(offers() >= 20)
    }
}
