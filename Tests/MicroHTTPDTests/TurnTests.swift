import CMicroHTTPD
import Foundation
import Testing

@testable import MicroHTTPD

@Suite("The time that a thread keeps its processor")
struct TurnTests {
    /// A turn that begins at 0, of a thread that has waited once and has given an answer since.
    private static func turn() -> Turn {
        var turn = Turn()
        turn.hasAnswered = true
        _ = turn.isOver(now: Turn.shortest, waits: { 1 })
        turn.resume(left: 0, now: 0)
        turn.hasAnswered = true
        return turn
    }

    private static func isOver(_ turn: inout Turn, at now: Int64, waits: Int = 1) -> Bool {
        turn.isOver(now: now, waits: { waits })
    }

    @Test("A thread that never waits yields its processor after the minimum time, and not earlier")
    func neverWaits() {
        var turn = Self.turn()
        #expect(!Self.isOver(&turn, at: Turn.shortest - 1))
        #expect(Self.isOver(&turn, at: Turn.shortest))
    }

    @Test("The minimum time until a thread yields its processor starts anew after the thread has waited")
    func hasWaited() {
        var turn = Self.turn()
        #expect(!Self.isOver(&turn, at: 1_000_000_000, waits: 2))
        turn.hasAnswered = true
        #expect(!Self.isOver(&turn, at: 1_000_000_000 + Turn.shortest - 1, waits: 2))
        #expect(Self.isOver(&turn, at: 1_000_000_000 + Turn.shortest, waits: 2))
    }

    @Test("A thread that gives no ready answer does not yield its processor, and does not read its count of waits")
    func answersNothing() {
        var turn = Turn()
        let isOver = turn.isOver(now: .max) {
            Issue.record("counted")
            return 0
        }
        #expect(!isOver)
    }

    @Test("The time until a thread yields doubles, up to a limit, each time another program takes the processor")
    func stranger() {
        var turn = Self.turn()
        var now: Int64 = 0
        func lasts(_ length: Int64) -> Bool {
            turn.hasAnswered = true
            return !Self.isOver(&turn, at: now + length - 1) && Self.isOver(&turn, at: now + length)
        }
        var length = Turn.shortest
        while length < Turn.longest {
            #expect(lasts(length))
            turn.resume(left: now, now: now + Turn.stranger + 1)
            now += Turn.stranger + 1
            length *= 2
        }
        for _ in 0..<2 {
            #expect(lasts(Turn.longest))
            turn.resume(left: now, now: now + Turn.stranger + 1)
            now += Turn.stranger + 1
        }
        turn.resume(left: now, now: now + Turn.stranger)
        now += Turn.stranger
        #expect(lasts(Turn.shortest))
    }

    @Test("A thread that waits after another program had its processor yields after the minimum time again")
    func strangerIsGone() {
        var turn = Self.turn()
        turn.resume(left: 0, now: Turn.longest)
        turn.hasAnswered = true
        #expect(!Self.isOver(&turn, at: 2 * Turn.longest, waits: 2))
        turn.hasAnswered = true
        #expect(Self.isOver(&turn, at: 2 * Turn.longest + Turn.shortest, waits: 2))
    }

    @Test("The kernel's count of a thread's waits includes polls that wait, but not polls that return at once")
    func waits() throws {
        let epoll = epoll_create1(0)
        defer { close(epoll) }
        var event = epoll_event()
        let before = cmhd_thread_waits()
        #expect(epoll_wait(epoll, &event, 1, 1) == 0)
        #expect(cmhd_thread_waits() > before)
        for _ in 0..<100 { #expect(epoll_wait(epoll, &event, 1, 0) == 0) }
        #expect(cmhd_thread_waits() < before + 100)
    }
}
