import TestSupport
import Testing

/// Promises 1 to 5 of the design under mixed load, for as long as `scripts/soak` is told. `scripts/test` runs a minute
/// of it, with nothing beside it.
@Suite(
    "a soak", .serialized, .enabled(if: SoakPlan.asked != nil, "scripts/soak asks for it"))
struct SoakTests {
    @Test("nothing acknowledged is lost or mixed, nothing purged comes back, and all that is taken is given back")
    func soak() async throws {
        let run = try SoakRun(try #require(SoakPlan.asked))
        try await run.work()
        #expect(run.problems.elements == [])
        #expect(run.tally.figures.hits > 0)
    }
}
