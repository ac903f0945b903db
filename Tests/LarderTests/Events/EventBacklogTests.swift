import Testing

@testable import Larder

@Suite("The backlog of events")
struct EventBacklogTests {
    @Test("The backlog is taken in order, in pieces of limited number and a quarter of the bytes")
    func pieces() {
        var backlog = EventBacklog(byteLimit: 8 << 20)
        backlog.add(TestEvents.failures(0..<3000))
        var words: [String] = []
        var counts: [Int] = []
        while !backlog.isEmpty {
            let piece = backlog.take()
            counts.append(piece.count)
            words += piece.map(\.word)
        }
        #expect(words == (0..<3000).map { "\($0)" })
        #expect(counts == [1024, 1024, 952])
        #expect(backlog.take().isEmpty)
        let long = (0..<8).map { TestEvents.download(.downloadFailed, "\($0)", urlLength: 200_000) }
        backlog.add(long)
        let piece = backlog.take()
        #expect((1..<8).contains(piece.count))
        #expect(piece.count == 1 || piece.reduce(0) { $0 + $1.cost } <= 2 << 20)
        #expect(backlog.takeLoss() == false)
    }

    @Test("Events without room are lost with a single report, and an event alone always has room")
    func loss() {
        var backlog = EventBacklog(byteLimit: 10_000)
        backlog.add([TestEvents.download(.downloadFailed, "long", urlLength: 100_000)])
        #expect(backlog.takeLoss() == false)
        backlog.add(TestEvents.failures(0..<1))
        #expect(backlog.takeLoss() == true)
        #expect(backlog.takeLoss() == false)
        #expect(backlog.take().map(\.word) == ["long"])
        backlog.add(TestEvents.failures(0..<5))
        #expect(backlog.takeLoss() == false)
        // While the backlog is never empty, a reset marks the place of the loss.
        backlog.add([TestEvents.download(.downloadFailed, "lost", urlLength: 100_000)])
        _ = backlog.take()
        backlog.add(TestEvents.failures(5..<6))
        #expect(backlog.takeLoss() == false)
        var kinds: [Event.Kind] = []
        while !backlog.isEmpty { kinds += backlog.take().map(\.kind) }
        #expect(kinds.suffix(2) == [.reset, .downloadFailed])
        backlog.add(TestEvents.failures(0..<5))
        #expect(backlog.take().count >= 1)
    }
}
