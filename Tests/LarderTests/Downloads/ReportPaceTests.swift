import Testing

@testable import Larder

@Suite("The pace of progress reports")
struct ReportPaceTests {
    @Test("Progress is reported at once, then four times a second, and the last piece in its turn")
    func pace() {
        var pace = ReportPace()
        let start = ContinuousClock.now
        func turn(after milliseconds: Int) -> ReportPace.Turn? { pace.turn(at: start + .milliseconds(milliseconds)) }
        #expect(turn(after: 0) == .now)
        #expect(turn(after: 50) == .later(.milliseconds(200)))
        // The promised report includes the pieces that arrive meanwhile.
        #expect(turn(after: 100) == nil)
        #expect(turn(after: 249) == nil)
        pace.keepPromise(at: start + .milliseconds(250))
        #expect(turn(after: 300) == .later(.milliseconds(200)))
        pace.keepPromise(at: start + .milliseconds(500))
        #expect(turn(after: 1000) == .now)
    }
}
