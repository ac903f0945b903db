import Testing

@testable import Larder

@Suite("How often listeners are told how far a download is")
struct ReportPaceTests {
    @Test("at once, then four times a second, and of the last piece when its time has come")
    func pace() {
        var pace = ReportPace()
        let start = ContinuousClock.now
        func turn(after milliseconds: Int) -> ReportPace.Turn? { pace.turn(at: start + .milliseconds(milliseconds)) }
        #expect(turn(after: 0) == .now)
        #expect(turn(after: 50) == .later(.milliseconds(200)))
        // What comes meanwhile is told of with it.
        #expect(turn(after: 100) == nil)
        #expect(turn(after: 249) == nil)
        pace.keepPromise(at: start + .milliseconds(250))
        #expect(turn(after: 300) == .later(.milliseconds(200)))
        pace.keepPromise(at: start + .milliseconds(500))
        #expect(turn(after: 1000) == .now)
    }
}
