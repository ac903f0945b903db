import HTTPTypes
import Origin
import Primitives
import TestSupport
import Testing

@testable import LarderClient

@Suite("The watch of events")
struct EventWatchTests {
    private struct Enough: Error {}

    private func watch(configure: (inout EventWatch) -> Void = { _ in }) -> EventWatch {
        var watch = EventWatch()
        watch.delays.baseDelay = .milliseconds(1)
        watch.delays.maximumDelay = .milliseconds(2)
        configure(&watch)
        return watch
    }

    /// The first `count` events.
    private func events(_ count: Int, of watch: EventWatch, on server: ScriptedOrigin) async throws -> [ServerEvent] {
        var events: [ServerEvent] = []
        await #expect(throws: Enough.self) {
            try await watch.run(on: try APIClient.of(server)) { event in
                events.append(event)
                if events.count == count { throw Enough() }
            } onPause: { _, _ in
            }
        }
        return events
    }

    @Test("After a lost connection, a watch resumes with the event after the last received event")
    func resuming() async throws {
        let server = try ScriptedOrigin { request, connection in
            let last = request["Last-Event-ID"].flatMap { Int($0) } ?? 0
            // The second connection closes at once. Every other connection is cut in the middle of an event.
            if request.index == 1 { return connection.close() }
            try connection.startChunks(fields: [.contentType: "text/event-stream"])
            for number in (last + 1)...(last + 2) {
                try connection.sendChunk("id: \(number)\nevent: entry.stored\ndata: {\"key\": \"\(number)\"}\n\n")
            }
            try connection.sendChunk("id: 99\nevent: entry.sto")
            connection.close()
        }
        defer { server.stop() }
        let events = try await events(5, of: watch(), on: server)
        #expect(events.compactMap { $0.data["key"]?.stringValue } == ["1", "2", "3", "4", "5"])
        #expect(events[0].json == ["id": "1", "event": "entry.stored", "data": ["key": "1"]])
        #expect(server.requests.map { $0["Last-Event-ID"] } == [nil, "2", "2", "4"])
        #expect(server.requests.allSatisfy { $0["Accept"] == "text/event-stream" })
    }

    @Test("The filters of a watch are sent in the query")
    func filters() async throws {
        let server = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.contentType: "text/event-stream"], body: "data: {}\n\n")
        }
        defer { server.stop() }
        let filtered = watch {
            $0.types = ["download", "entry.stored"]
            $0.namespace = "*"
            $0.key = "a b"
            $0.tag = "t"
        }
        _ = try await events(1, of: filtered, on: server)
        let target = "/events?key=a+b&namespace=*&tag=t&type=download&type=entry.stored"
        #expect(server.requests[0].target == target)
    }

    @Test(
        "An event that never ends, in one line or in many, is refused before it fills the memory",
        arguments: ["x", "data\n"])
    func endlessEvent(text: String) async throws {
        let server = try ScriptedOrigin.endless(
            "data: " + String(repeating: text, count: (1 << 20) / text.utf8.count))
        defer { server.stop() }
        let client = try APIClient.of(server)
        let error = await #expect(throws: ClientError.self) {
            try await watch().run(on: client) { _ in
            } onPause: { _, _ in
            }
        }
        let isUnexpected = if case .unexpected? = error { true } else { false }
        #expect(isUnexpected, "\(String(describing: error))")
    }

    @Test(
        "A 401 or a failed first connection ends a watch; a later 429, 502, 503 or 504 only pauses the watch",
        arguments: [429, 502, 503, 504])
    func refusals(status: Int) async throws {
        let server = try ScriptedOrigin { request, connection in
            let problem: JSON = ["status": .number(status), "detail": "busy"]
            guard request.index != 1 else { return try connection.respond(status, json: problem) }
            guard request.index < 3 else {
                return try connection.respond(401, json: ["status": 401, "detail": "the token is not good"])
            }
            try connection.respond(fields: [.contentType: "text/event-stream"], body: "retry: 1\ndata: {}\n\n")
        }
        defer { server.stop() }
        var (count, pauses) = (0, 0)
        let error = await #expect(throws: ClientError.self) {
            try await watch().run(on: try APIClient.of(server)) { _ in
                count += 1
            } onPause: { _, _ in
                pauses += 1
            }
        }
        #expect(error?.problem?.status == 401)
        #expect(count == 2 && pauses == 3)

        let port = try RefusingPort()
        let lonely = APIClient(APIClient.Configuration(server: try ServerAddress(port.url("/"))))
        await #expect(throws: ClientError.self) {
            try await watch().run(on: lonely) { _ in
            } onPause: { _, _ in
                Issue.record("the watch tries again")
            }
        }
    }
}
