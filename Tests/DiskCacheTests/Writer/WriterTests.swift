import Foundation
import Primitives
import TestSupport
import Testing

@testable import DiskCache

@Suite("The writer's thread")
struct WriterTests {
    // In a process of its own, which does not survive it.
    @Test("a completion that waits for the writer is told so, instead of waiting for itself for ever")
    func waitingForItself() async throws {
        let waits = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await WriterTests.inCompletion { _ = try? $0.writer.perform { _ in } }
        }
        let closes = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await WriterTests.inCompletion { $0.close() }
        }
        for result in [waits, closes] {
            let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            #expect(text.contains("a completion must not wait for the writer"))
        }
    }

    private static func inCompletion(_ body: @escaping @Sendable (DiskCache) -> Void) async throws {
        let fixture = try CacheFixture()
        let cache = try fixture.open()
        // Nobody will be there to do it.
        try FileManager.default.removeItem(atPath: fixture.temporary.path)
        let done = Gate("done")
        cache.flush { _ in
            body(cache)
            done.open()
        }
        try await done.wait()
    }
}
