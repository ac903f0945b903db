import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The event hub")
struct EventHubTests {
    private func limits(_ change: (inout EventHub.Limits) -> Void) -> EventHub.Limits {
        var limits = EventHub.Limits()
        change(&limits)
        return limits
    }

    /// Listens, and waits until the listening has begun.
    private func listen(
        _ hub: EventHub, _ sink: TestSink, to filter: EventFilter = EventFilter(), after lastID: EventID? = nil
    ) async throws {
        try hub.listen(sink, from: "192.0.2.1", to: filter, after: lastID?.text)
        try await poll("the beginning") { !sink.marks.isEmpty }
    }

    @Test("A listener gets all later events in order, and no earlier event")
    func live() async throws {
        let hub = EventHub()
        hub.publish(TestEvents.failures(0..<3))
        #expect(!hub.isWanted && !hub.isHeard)
        let (all, some) = (TestSink(), TestSink())
        try await listen(hub, all)
        try await listen(hub, some, to: EventFilter(key: "7"))
        #expect(hub.isWanted && hub.isHeard && hub.listenerCount == 2)
        for number in 3..<10 { hub.publish(TestEvents.failures(number..<number + 1)) }
        try await all.wait(for: 7)
        #expect(all.words == (3..<10).map { "\($0)" })
        #expect(all.events.map(\.id.number) == Array(1...7))
        try await some.wait(for: 1)
        #expect(some.words == ["7"])
        #expect(hub.sent.value == 8)
    }

    @Test("An event that is published right after a listener has begun to listen is delivered")
    func atOnce() async throws {
        for _ in 0..<50 {
            let (hub, sink) = (EventHub(), TestSink())
            try hub.listen(sink, from: "", to: EventFilter())
            hub.publish(TestEvents.failures(0..<1))
            try await sink.wait(for: 1)
        }
    }

    @Test("The hub makes the text of an event once for all listeners")
    func sharedBytes() async throws {
        let hub = EventHub()
        let sinks = [TestSink(), TestSink(), TestSink()]
        for sink in sinks { try await listen(hub, sink) }
        hub.publish(TestEvents.failures(0..<1))
        let count = Locked(0)
        var texts: [SharedBytes] = []
        for sink in sinks {
            try await sink.wait(for: 1)
            texts.append(
                sink.events[0].bytes { _ in
                    count.withLock { $0 += 1 }
                    return SharedBytes("text".utf8)
                })
        }
        #expect(count.withLock { $0 } == 1)
        #expect(texts.allSatisfy { $0 === texts[0] })
    }

    @Test("A listener that reconnects with the id of its last event misses no event and gets no event twice")
    func comingBack() async throws {
        let hub = EventHub()
        let (steady, first, again) = (TestSink(), TestSink(), TestSink())
        try await listen(hub, steady)
        try await listen(hub, first)
        // The listener has an id even before the first event.
        let start = try #require(first.marks.first)
        hub.publish(TestEvents.failures(0..<5))
        try await first.wait(for: 5)
        first.leave()
        try await poll("one listener less") { hub.listenerCount == 1 }
        hub.publish(TestEvents.failures(5..<300))
        try await steady.wait(for: 300)
        try await listen(hub, again, after: first.events[4].id)
        hub.publish(TestEvents.failures(300..<301))
        try await again.wait(for: 296)
        #expect(again.words == (5..<301).map { "\($0)" })
        let fromStart = TestSink()
        try await listen(hub, fromStart, after: start)
        try await fromStart.wait(for: 301)
        #expect(fromStart.words == (0..<301).map { "\($0)" })
    }

    @Test("A listener that has missed events gets a reset event, and then the later events")
    func missed() async throws {
        let hub = EventHub(limits { $0.windowCount = 10 })
        let (steady, early, other) = (TestSink(), TestSink(), TestSink())
        try await listen(hub, steady)
        for start in stride(from: 0, to: 30, by: 5) {
            hub.publish(TestEvents.failures(start..<start + 5))
            try await steady.wait(for: start + 5)
        }
        try await listen(hub, early, after: steady.events[3].id)
        try await listen(hub, other, after: EventIDSeal().id(of: 25))
        hub.publish(TestEvents.failures(30..<31))
        try await early.wait(for: 2)
        try await other.wait(for: 2)
        #expect(early.words == ["gap", "30"])
        #expect(other.words == ["restart", "30"])
        // The listener can resume after the id of the reset event.
        #expect(early.events[0].id == steady.events[29].id)
    }

    @Test("A stalled listener delays no other, and is disconnected once the hub no longer keeps its next event")
    func stalled() async throws {
        let hub = EventHub(limits { $0.windowCount = 100 })
        let (steady, slow) = (TestSink(), TestSink(room: 1))
        try await listen(hub, steady)
        try await listen(hub, slow)
        for start in stride(from: 0, to: 300, by: 20) {
            hub.publish(TestEvents.failures(start..<start + 20))
            try await steady.wait(for: start + 20)
        }
        try await poll("the end of the slow listener") { slow.isAborted }
        #expect(!steady.isAborted)
        #expect(slow.events.count < 100)
        #expect(hub.dropped.value == 1)
        #expect(hub.listenerCount == 1)
    }

    @Test("A listener with a full buffer gets the remaining events in order as soon as it has room again")
    func paused() async throws {
        let hub = EventHub()
        let (steady, slow) = (TestSink(), TestSink(room: 1))
        try await listen(hub, steady)
        try await listen(hub, slow)
        hub.publish(TestEvents.failures(0..<1000))
        try await steady.wait(for: 1000)
        let held = slow.events.count
        #expect(held < 1000)
        slow.makeRoom(.max)
        try await slow.wait(for: 1000)
        #expect(slow.words == steady.words)
        #expect(hub.dropped.value == 0)
    }

    @Test("When more events are published at once than the backlog may hold, every listener gets a reset event")
    func overflow() async throws {
        let (hub, sink) = (EventHub(limits { $0.windowBytes = 1 << 20 }), TestSink())
        try await listen(hub, sink)
        hub.publish(TestEvents.failures(0..<10_000))
        try await poll("the reset") { sink.words.last == "gap" }
        let told = sink.words.dropLast()
        #expect((100..<10_000).contains(told.count))
        #expect(Array(told) == (0..<told.count).map { "\($0)" })
        hub.publish(TestEvents.failures(0..<1))
        try await poll("the event after the reset") { sink.words.last == "0" }
        #expect(!sink.isAborted)
    }

    @Test("A minute after the last listener left, the hub keeps no events; a returning listener gets a reset event")
    func patience() async throws {
        let clock = ManualClock()
        let hub = EventHub(limits { $0.patience = .seconds(60) }, now: { clock.monotonicNow() })
        let first = TestSink()
        try await listen(hub, first)
        hub.publish(TestEvents.failures(0..<1))
        try await first.wait(for: 1)
        first.leave()
        try await poll("no listener") { !hub.isHeard }
        let id = first.events[0].id
        clock.advance(by: .seconds(59))
        hub.publish(TestEvents.failures(1..<2))
        let second = TestSink()
        try await listen(hub, second, after: id)
        try await second.wait(for: 1)
        #expect(second.words == ["1"])
        second.leave()
        try await poll("no listener") { !hub.isHeard }
        clock.advance(by: .seconds(61))
        #expect(hub.isWanted)
        hub.publish(TestEvents.failures(2..<3))
        try await poll("the end of keeping events") { !hub.isWanted }
        let third = TestSink()
        try await listen(hub, third, after: second.events[0].id)
        hub.publish(TestEvents.failures(3..<4))
        try await third.wait(for: 2)
        #expect(third.words == ["gap", "3"])
    }

    @Test("Some time after the last listener left, the hub stops keeping events, even if no event is published")
    func restWithoutEvents() async throws {
        let hub = EventHub(limits { $0.patience = .milliseconds(30) })
        for _ in 0..<20 {
            let sink = TestSink()
            try await listen(hub, sink)
            sink.leave()
            try await poll("no listener") { !hub.isHeard }
        }
        try await poll("the end of keeping events") { !hub.isWanted }
    }

    @Test("A stop of the hub delivers all earlier events, even if they are written in several pieces")
    func stopWithMuch() async throws {
        let (hub, sink) = (EventHub(), TestSink())
        try await listen(hub, sink)
        hub.publish(TestEvents.failures(0..<3000))
        hub.stop()
        try await poll("the end") { sink.isFinished }
        #expect(sink.words == (0..<3000).map { "\($0)" })
    }

    @Test("The hub limits listeners in total and per address, and a listener that leaves frees its place")
    func places() async throws {
        let hub = EventHub(
            limits {
                $0.listeners = 3
                $0.listenersPerClient = 2
            })
        func listen(_ address: String) throws(EventHub.Refusal) -> TestSink {
            let sink = TestSink()
            try hub.listen(sink, from: address, to: EventFilter())
            return sink
        }
        let first = try listen("a")
        _ = try listen("a")
        #expect(throws: EventHub.Refusal.crowded) { try listen("a") }
        _ = try listen("b")
        #expect(throws: EventHub.Refusal.full) { try listen("c") }
        #expect(hub.listenerCount == 3)
        first.leave()
        try await poll("a free place") { hub.listenerCount == 2 }
        _ = try listen("a")
        #expect(throws: EventHub.Refusal.full) { try listen("b") }
    }

    @Test("A heartbeat sends the id of the last event, and ends the stream of a listener that may no longer listen")
    func heartbeat() async throws {
        let hub = EventHub(limits { $0.heartbeat = .milliseconds(5) })
        let (steady, other, full) = (TestSink(), TestSink(), TestSink(room: 1))
        let mayStay = Locked(true)
        try hub.listen(other, from: "", to: EventFilter()) { mayStay.withLock { $0 } }
        try await listen(hub, full, to: EventFilter(key: "0"))
        try await listen(hub, steady, to: EventFilter(key: "none"))
        hub.publish(TestEvents.failures(0..<3))
        // The id of a heartbeat also counts events that the filter excludes.
        try await poll("the id of event 3") { steady.marks.last?.number == 3 && other.marks.last?.number == 3 }
        try await full.wait(for: 1)
        let marks = full.marks.count
        mayStay.withLock { $0 = false }
        try await poll("its end") { other.isFinished }
        let count = steady.marks.count
        try await poll("more heartbeats") { steady.marks.count > count + 2 }
        #expect(full.marks.count <= marks + 1)
        #expect(!steady.isFinished && !full.isFinished)
        #expect(hub.listenerCount == 2)
    }

    @Test("A stop of the hub delivers the last events, ends every stream, and refuses new listeners")
    func stop() async throws {
        let hub = EventHub()
        let sinks = [TestSink(), TestSink()]
        for sink in sinks { try await listen(hub, sink) }
        hub.publish(TestEvents.failures(0..<1))
        hub.publish(TestEvents.failures(1..<2))
        hub.stop()
        hub.stop()
        try await poll("the ends") { sinks.allSatisfy(\.isFinished) }
        #expect(sinks.allSatisfy { $0.words == ["0", "1"] })
        try await poll("no listener") { hub.listenerCount == 0 }
        #expect(throws: EventHub.Refusal.stopping) { try hub.listen(TestSink(), from: "", to: EventFilter()) }
    }
}
