import Primitives
import TestSupport
import Testing

@Suite("The processor")
struct ProcessorTests {
    @Test("is given away many times between two ticks by who offers it, when there are others who want it")
    func offer() {
        // 80 ms of our own are 20 ticks of 4 ms (80 of 1 ms), and 400 turns.
        #expect(Competition.timesTaken(in: 80_000_000) { Processor.offer() } > 120)
    }

    @Test("is kept by who says so, until it is shared again")
    func keep() {
        Processor.keep()
        let kept = Competition.timesTaken(in: 80_000_000) { Processor.offer() }
        Processor.share()
        let shared = Competition.timesTaken(in: 80_000_000) { Processor.offer() }
        #expect(shared > 120 && kept < 120)
    }
}
