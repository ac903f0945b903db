import Primitives
import Testing

@testable import Larder
@testable import Subscriptions

@Suite("The pauses of hosts")
struct HostPausesTests {
    private let start = Timestamp(seconds: 1_800_000_000)

    @Test("A pause holds for its host until its end, and a shorter one does not end it earlier")
    func holds() {
        let pauses = HostPauses()
        pauses.pause("http://a:80", for: .seconds(60), at: start)
        pauses.pause("http://a:80", for: .seconds(5), at: start + .seconds(1))
        #expect(pauses.end(of: "http://a:80", at: start + .seconds(59)) == start + .seconds(60))
        #expect(pauses.end(of: "http://a:80", at: start + .seconds(60)) == nil)
        #expect(pauses.end(of: "http://b:80", at: start + .seconds(1)) == nil)
    }

    @Test("A pause lasts at most a day, and a pause of no time is none")
    func bounds() {
        let pauses = HostPauses()
        pauses.pause("a", for: .seconds(Int64.max), at: start)
        pauses.pause("b", for: .zero, at: start)
        #expect(pauses.end(of: "a", at: start) == start + .seconds(86_400))
        #expect(pauses.end(of: "b", at: start) == nil)
    }

    @Test("After a step of the clock back by a day, a pause lasts for the rest that it had")
    func clockBack() {
        let pauses = HostPauses()
        pauses.pause("a", for: .seconds(3600), at: start)
        #expect(pauses.end(of: "a", at: start + .seconds(600)) == start + .seconds(3600))
        let back = start + .seconds(600) - .seconds(86_400)
        #expect(pauses.end(of: "a", at: back) == back + .seconds(3000))
        #expect(pauses.end(of: "a", at: back + .seconds(2999)) == back + .seconds(3000))
        #expect(pauses.end(of: "a", at: back + .seconds(3000)) == nil)
    }

    @Test("At the limit of hosts, a new host is not remembered until another pause has ended")
    func limit() {
        let pauses = HostPauses()
        pauses.pause("first", for: .seconds(10), at: start)
        for number in 1..<HostPacer.pauseLimit { pauses.pause("\(number)", for: .seconds(100), at: start) }
        pauses.pause("late", for: .seconds(100), at: start)
        #expect(pauses.end(of: "late", at: start) == nil)
        pauses.pause("1", for: .seconds(200), at: start)
        #expect(pauses.end(of: "1", at: start) == start + .seconds(200))
        let later = start + .seconds(10)
        pauses.pause("late", for: .seconds(100), at: later)
        #expect(pauses.end(of: "late", at: later) == later + .seconds(100))
        #expect(pauses.end(of: "2", at: later) == start + .seconds(100))
    }
}
