import TestSupport
import Testing

/// Runs a mixed load for the time that `scripts/soak` sets. `scripts/test` runs this suite alone, for a minute.
@Suite(
    "The soak", .serialized, .enabled(if: SoakPlan.asked != nil, "scripts/soak asks for it"))
struct SoakTests {
    @Test("Under load and kills, no pinned entry is lost, no body is wrong, no purge is undone, and no resource leaks")
    func soak() async throws {
        let run = try SoakRun(try #require(SoakPlan.asked))
        try await run.work()
        #expect(run.problems.elements == [])
        #expect(run.tally.figures.hits > 0)
    }
}
