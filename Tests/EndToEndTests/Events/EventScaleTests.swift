import Foundation
import HTTPTypes
import Larder
import Primitives
import TestSupport
import Testing

/// Needs a thousand connections. `scripts/test` runs this suite alone, after the other tests.
@Suite("A thousand listeners of events", .serialized)
struct EventScaleTests {
    @Test("A listener gets 45 of 50 events within 200 ms after the start of the call that caused the event")
    func latency() async throws {
        try await TestServer.with { (server) async throws in
            let listener = try await server.listen()
            var times: [Duration] = []
            for number in 0..<50 {
                let start = ContinuousClock.now
                try await server.put("\(number)", [1])
                let event = try await listener.wait(for: number + 1)[number]
                times.append(event.arrival - start)
            }
            // Another process may take the processor for a moment, so a few events may be late.
            #expect(times.sorted()[44] < .milliseconds(200), "\(times)")
        }
    }

    @Test("1,000 listeners beside 100 stalled listeners get all events, and the server notices when listeners leave")
    func thousand() async throws {
        let (count, events) = (1000, 20)
        let configure: (inout Configuration) -> Void = { $0.maxListeners = 2000 }
        try await TestServer.with(configure: configure) { (server) async throws in
            let port = server.api.port
            let stalled = try await blocking {
                try (0..<100).map { _ in
                    let connection = try RawConnection(port: port)
                    try connection.sendRequest("GET", "/events")
                    _ = try connection.readHead()
                    return connection
                }
            }
            let end = Data("\"key\":\"\(events - 1)\"".utf8)
            let listening = Counter("listeners")
            async let texts = concurrently(count) { _ in
                try await HTTPClient(port: port, limit: .seconds(60)).withConnection { connection in
                    try connection.sendRequest("GET", "/events?type=entry.stored")
                    _ = try connection.readHead()
                    listening.add()
                    var text = Data()
                    while text.range(of: end) == nil, let some = try connection.readSome() { text += some }
                    return String(decoding: text, as: UTF8.self)
                }
            }
            try await listening.wait(for: count, limit: .seconds(60))
            #expect(server.service.events.listenerCount == count + 100)
            for number in 0..<events { try await server.put("\(number)", [1]) }
            for text in try await texts {
                let keys = text.matches(of: /"key":"(\d+)"/).map { String($0.1) }
                #expect(keys == (0..<events).map { "\($0)" })
            }
            for connection in stalled { connection.close() }
            try await poll("the departure of all listeners") { server.service.events.listenerCount == 0 }
        }
    }
}
