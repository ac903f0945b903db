import DiskCache
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The listeners of /events")
struct EventListenerTests {
    @Test("A listener that reconnects with its last id misses no event and gets no event twice")
    func comingBack() async throws {
        try await TestServer.with { (server) async throws in
            let first = try await server.listen("type=entry.stored")
            let start = try #require(first.lastID)
            for number in 0..<5 { try await server.put("\(number)", [1]) }
            let last = try await first.wait(for: 5)[4].id
            first.close()
            try await poll("the departure of the listener") { server.service.events.listenerCount == 0 }
            for number in 5..<50 { try await server.put("\(number)", [1]) }
            let second = try await server.listen("type=entry.stored", after: last)
            let third = try await server.listen("type=entry.stored&key=1", after: start)
            try await server.put("50", [1])
            #expect(try await second.wait(for: 46).map(\.key) == (5...50).map { "\($0)" })
            #expect(try await third.wait(for: 1).map(\.key) == ["1"])
            let ids = (first.events + second.events).map(\.id)
            #expect(Set(ids).count == ids.count)
        }
    }

    @Test("A listener that missed events by a long absence or a restart gets a reset event, and then all new events")
    func reset() async throws {
        var limits = EventHub.Limits()
        limits.windowCount = 10
        let directory = try TemporaryDirectory()
        let old = try await TestServer.with(directory: directory, eventLimits: limits) {
            (server) async throws -> String in
            let steady = try await server.listen()
            for number in 0..<30 {
                try await server.put("\(number)", [1])
                try await steady.wait(for: number + 1)
            }
            let late = try await server.listen("type=download", after: steady.events[5].id)
            let reset = try await late.wait(for: 1)[0]
            #expect(reset.type == "reset" && reset.data["reason"] == "gap")
            // A client that sends the id of the reset event gets only the events after the reset.
            let again = try await server.listen(after: reset.id)
            try await server.put("30", [1])
            #expect(try await again.wait(for: 1).map(\.key) == ["30"])
            let nonsense = try await server.listen(after: "nonsense")
            #expect(try await nonsense.wait(for: 1)[0].data["reason"] == "restart")
            return reset.id
        }
        try await TestServer.with(directory: directory) { (server) async throws in
            let listener = try await server.listen(after: old)
            try await server.put("new", [1])
            let events = try await listener.wait(for: 2)
            #expect(events[0].type == "reset" && events[0].data["reason"] == "restart")
            #expect(events[1].key == "new")
        }
    }

    @Test("A stalled listener is disconnected, and the other listeners get all events")
    func stalled() async throws {
        var limits = EventHub.Limits()
        limits.windowBytes = 4 << 20
        try await TestServer.with(eventLimits: limits) { (server) async throws in
            let events = server.service.events
            let stalled = try await blocking { [port = server.api.port] in
                let connection = try RawConnection(port: port)
                try connection.sendRequest("GET", "/events")
                _ = try connection.readHead()
                return connection
            }
            let steady = try await server.listen()
            #expect(events.listenerCount == 2)
            // The server notices a stalled listener only when the socket buffers are full.
            var count = 0
            while events.dropped.value == 0, count < 1000 {
                count += 1
                server.tellLong(count)
                try await steady.wait(for: count)
            }
            #expect(events.dropped.value == 1)
            #expect(steady.events.compactMap { $0.data["count"]?.doubleValue } == (1...count).map { Double($0) })
            try await poll("the end of the stalled listener") { events.listenerCount == 1 }
            // The stalled client can still read the bytes in its socket buffer, and then the stream ends.
            _ = try? await blocking { try stalled.readToEnd() }
            try await server.put("after", [1])
            #expect(try await steady.wait(for: count + 1).last?.key == "after")
        }
    }

    @Test("A listener beyond the limit of the server, or beyond the limit of its address, gets 503 with Retry-After")
    func limits() async throws {
        for (limit, perClient, words) in [(2, 0, "--max-listeners)"), (9, 2, "--max-listeners-per-client")] {
            try await TestServer.with(configure: {
                $0.maxListeners = limit
                $0.maxListenersPerClient = perClient
            }) { (server) async throws in
                let first = try await server.listen()
                let second = try await server.listen()
                let refused = try await server.get("/events")
                #expect(refused.status == 503)
                #expect(refused["Retry-After"] == "1")
                #expect(refused.text.contains(words), "\(refused.text)")
                let text = try await server.get("/metrics").text
                #expect(text.contains("larder_event_listeners 2\n"))
                first.close()
                try await poll("the departure of the first listener") { server.service.events.listenerCount == 1 }
                let third = try await server.listen()
                try await server.put("a", [1])
                for listener in [second, third] { try await listener.wait(for: 1) }
                let after = try await server.get("/metrics").text
                #expect(after.contains("larder_events_sent_total 2\n"))
                #expect(after.contains("larder_event_listeners_dropped_total 0\n"))
            }
        }
    }

    @Test("A draining server ends its event streams completely, drops stalled listeners, and refuses new listeners")
    func drain() async throws {
        var limits = EventHub.Limits()
        limits.windowBytes = 64 << 20
        try await TestServer.with(eventLimits: limits) { (server) async throws in
            let listeners = [try await server.listen(), try await server.listen("type=download")]
            let stalled = try await blocking { [port = server.api.port] in
                let connection = try RawConnection(port: port)
                try connection.sendRequest("GET", "/events")
                _ = try connection.readHead()
                return connection
            }
            for number in 1...100 {
                server.tellLong(number)
                try await listeners[0].wait(for: number)
            }
            server.api.beginDraining()
            try await poll("the ends of both streams") { listeners.allSatisfy(\.hasEnded) }
            #expect(listeners.allSatisfy { $0.isWhole })
            let late = try await server.get("/events")
            #expect(late.status == 503)
            #expect(late["Retry-After"] == "1")
            // The 10 MB of events fit into `windowBytes`, so they do not make the server drop the stalled listener.
            // Only the drain does.
            try await poll("the end of the stalled listener") { server.service.events.listenerCount == 0 }
            withExtendedLifetime(stalled) {}
        }
    }

    @Test("At SIGTERM, the server ends its event streams completely, and exits long before its drain timeout")
    func process() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--drain-timeout", "60"])
        let listener = try await EventListener(port: larder.port)
        _ = try await larder.client.request("PUT", "/entries/a/content", text: "hi")
        try await listener.wait(for: 1)
        let start = ContinuousClock.now
        #expect(try await larder.stop() == .status(0))
        #expect(ContinuousClock.now - start < .seconds(30))
        try await poll("the end of the stream") { listener.hasEnded }
        #expect(listener.isWhole)
    }
}

extension TestServer {
    /// Publishes an event of 100 KB that contains a number. A few of these events fill a socket buffer.
    fileprivate func tellLong(_ number: Int) {
        let filter = EntryFilter(prefix: String(repeating: "x", count: 100_000))
        service.events.publish([
            Event(
                kind: .entryRemoved, time: clock.now(), namespace: "default",
                subject: .entries(.others(count: number, filter)))
        ])
    }
}
