import TestSupport
import Testing

@testable import Larder

@Suite("The queue of listings")
struct ListingLineTests {
    @Test("A full queue refuses a listing at once, and admits listings again when it has room")
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
