import Testing

@testable import MicroHTTPD

@Suite("The memory of all request bodies")
struct BodyMemoryTests {
    @Test("Large bodies leave a quarter of the memory to small bodies, and released memory is available again")
    func small() {
        let memory = BodyMemory(limit: 4 << 20)
        let large = BodyMemory.Share(memory)
        #expect(large.take(3 << 20))
        #expect(!large.take(1))
        var small = BodyMemory.Share(memory)
        #expect(small.take(64 << 10))
        // With one more byte, the body counts as large.
        #expect(!small.take(1))
        let others = (0..<15).map { _ in BodyMemory.Share(memory) }
        #expect(others.allSatisfy { $0.take(64 << 10) })
        small = BodyMemory.Share(memory)
        #expect(small.take(64 << 10))
        #expect(!BodyMemory.Share(memory).take(1))
        large.release()
        #expect(BodyMemory.Share(memory).take(1 << 20))
    }
}
