import Primitives
import TestSupport
import Testing

@Suite("The processor")
struct ProcessorTests {
    /// How often the calling thread offers its processor in 20 ms of its own, asked again and again.
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

    @Test("is offered every 200 µs by who is asked more often, not more often and not less")
    func offer() {
        let begin = Processor.nanoseconds()
        let count = offers()
        // At least every millisecond, however much the thread is kept from its processor.
        #expect(count >= 20)
        #expect(count <= (Processor.nanoseconds() - begin) / 200_000 + 1)
    }

    @Test("is kept by who says so, until it is shared again")
    func keep() {
        Processor.keep()
        #expect(offers() == 0)
        Processor.share()
        #expect(offers() >= 20)
    }
}
