import TestSupport
import Testing

/// Promises 1 to 5 of the design under mixed load, for the time that `scripts/soak` sets. `scripts/test` runs this
/// suite alone, for a minute.
@Suite(
    "The soak", .serialized, .enabled(if: SoakPlan.asked != nil, "scripts/soak asks for it"))
struct SoakTests {
    @Test("No acknowledged entry is lost or mixed, no purged entry comes back, and all resources are freed")
    func soak() async throws {
        let run = try SoakRun(try #require(SoakPlan.asked))
        try await run.work()
        #expect(run.problems.elements == [])
        #expect(run.tally.figures.hits > 0)
    }
}
