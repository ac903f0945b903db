import Testing

@testable import Subscriptions

@Suite("The phases of a stored subscription")
struct RecordLifeTests {
    /// A subscription after some events.
    private static func life(_ events: RecordLife.Event...) -> RecordLife {
        var life = RecordLife()
        for event in events { _ = life.handle(event) }
        return life
    }

    @Test("A subscription is looked up once, begins, and ends")
    func whole() {
        var life = RecordLife()
        #expect(life.handle(.turn(space: nil)).isEmpty && life.phase == .closed)
        #expect(life.handle(.turn(space: 1)) == [.lookUp] && life.isOpening)
        #expect(life.handle(.turn(space: 1)).isEmpty)
        #expect(life.handle(.lookedUp(isFound: true)) == [.begin, .answerCalls] && life.phase == .open(space: 1))
        #expect(life.handle(.turn(space: 1)).isEmpty)
        #expect(life.handle(.endRequested) == [.breakOff, .release] && life.phase == .ending)
        #expect(life.handle(.released(isDone: true)).isEmpty && life.phase == .ended)
        #expect(life.handle(.turn(space: 1)).isEmpty && life.handle(.lookedUp(isFound: true)).isEmpty)
    }

    @Test("An end during the lookup begins when the lookup ends, also when the lookup fails", arguments: [true, false])
    func endWhileOpening(isFound: Bool) {
        var life = Self.life(.turn(space: 1))
        #expect(life.handle(.endRequested).isEmpty)
        #expect(life.handle(.lookedUp(isFound: isFound)) == [.answerCalls, .release] && life.phase == .ending)
    }

    @Test("A new definition during the lookup causes no second lookup; one of a running set does")
    func redefinition() {
        var life = Self.life(.turn(space: 1))
        #expect(life.handle(.redefined).isEmpty)
        #expect(life.handle(.lookedUp(isFound: true)) == [.begin, .answerCalls])
        #expect(life.handle(.redefined) == [.breakOff, .lookUp] && life.isOpening)
    }

    @Test("A new version of the namespace breaks the set off, and discards the result of a lookup in the old version")
    func newVersion() {
        var life = Self.life(.turn(space: 1), .lookedUp(isFound: true))
        #expect(life.handle(.turn(space: 2)) == [.breakOff, .lookUp])
        #expect(life.handle(.turn(space: 3)).isEmpty)
        #expect(life.handle(.lookedUp(isFound: true)) == [.lookUp] && life.phase == .opening(space: 3))
        #expect(life.handle(.turn(space: nil)).isEmpty)
        #expect(life.handle(.lookedUp(isFound: true)) == [.answerCalls] && life.phase == .closed)
        #expect(life.handle(.turn(space: 4)) == [.lookUp])
    }

    @Test("A lookup or a release that fails is tried again at the next turn")
    func failures() {
        var life = Self.life(.turn(space: 1))
        #expect(life.handle(.lookedUp(isFound: false)) == [.answerCalls] && life.phase == .closed)
        #expect(life.handle(.turn(space: 1)) == [.lookUp])
        life = RecordLife(isEnding: true)
        #expect(life.handle(.turn(space: 1)) == [.release])
        #expect(life.handle(.redefined).isEmpty && life.handle(.endRequested).isEmpty)
        #expect(life.handle(.released(isDone: false)).isEmpty && life.handle(.turn(space: 1)) == [.release])
    }

    @Test("The removal of the namespace ends each phase, and answers the calls that wait")
    func discarded() {
        var life = Self.life(.turn(space: 1))
        #expect(life.handle(.discarded) == [.answerCalls] && life.phase == .ended)
        #expect(life.handle(.lookedUp(isFound: true)).isEmpty)
        life = Self.life(.turn(space: 1), .lookedUp(isFound: true))
        #expect(life.handle(.discarded) == [.breakOff])
        life = Self.life(.turn(space: 1), .endRequested, .lookedUp(isFound: true))
        #expect(life.handle(.discarded).isEmpty && life.handle(.released(isDone: true)).isEmpty)
    }
}
