import TestSupport
import Testing

@testable import Larder

@Suite("the line of those who list")
struct ListingLineTests {
    @Test("only so many may wait; who comes later is refused at once, and let in when there is room again")
    func limit() async throws {
        let line = ListingLine()
        let gate = Gate("the first of the line")
        let done = Counter("listings")
        for _ in 0..<ListingLine.limit {
            let isInLine = line.enter {
                try? gate.waitBlocking()
                done.add()
            }
            #expect(isInLine)
        }
        #expect(!line.enter { done.add() })
        gate.open()
        try await done.wait(for: ListingLine.limit)
        try await poll("room in the line") { line.enter {} }
    }
}
