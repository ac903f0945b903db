import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

/// Members and changes with dates, while the clock of the machine goes back and the origins are away.
@Suite("Subscriptions and the outbox when the clock jumps or the origin is away")
struct SyncClockTests {
    private static let day: Duration = .seconds(86_400)
    private static let paths = (0..<3).map { "/\($0)" }

    private func web() throws -> TestWeb {
        try TestWeb(Dictionary(uniqueKeysWithValues: Self.paths.map { ($0, "body of \($0)") }))
    }

    private func subscribe(_ server: TestServer, _ web: TestWeb) async throws {
        try await server.subscribe(
            "set",
            [
                "source": ["urls": .array(Self.paths.map { .string(web.url($0)) })], "interval": "1h", "ttl": "5m",
                "maxDelay": 0,
            ])
        try await server.waitForGeneration(1, of: "set")
    }

    private func expectReadable(_ web: TestWeb, _ server: TestServer) async throws {
        for path in Self.paths {
            let reply = try await server.get("/entries/\(md5(web.url(path)))/content")
            #expect(reply.status == 200 && reply.text == "body of \(path)", "\(reply.head)")
            let age = reply["Age"].flatMap { Int($0) }
            #expect((age ?? 0) >= 0, "\(reply.head)")
        }
    }

    @Test(
        "After the clock went back a day, members are asked for within their interval and in no storm",
        arguments: [false, true])
    func clockBack(isRestarted: Bool) async throws {
        let web = try web()
        let (clock, directory) = (ManualClock(), try TemporaryDirectory())
        func check(_ server: TestServer) async throws {
            // The state that the day has changed must ask for no member at once.
            server.turn(.zero)
            _ = try await server.get("/subscriptions/set")
            try await expectReadable(web, server)
            #expect(web.origin.requestCount == 3)
            // Each interval has one request for each member, at a phase of its own.
            for _ in 0..<27 {
                server.turn(.seconds(300))
                _ = try await server.get("/subscriptions/set")
                try await expectReadable(web, server)
            }
            try await server.waitForReport("set") { _ in
                Self.paths.allSatisfy { web.origin.requestCount(of: $0) >= 2 }
            }
            #expect(Self.paths.allSatisfy { web.origin.requestCount(of: $0) <= 4 })
        }
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            try await subscribe(server, web)
            #expect(web.origin.requestCount == 3)
            guard !isRestarted else { return }
            clock.advance(by: Self.day * -1)
            try await check(server)
        }
        guard isRestarted else { return }
        clock.advance(by: Self.day * -1)
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            try await server.waitForReport("set") { $0["held"] == 3 }
            try await check(server)
        }
    }

    @Test("After the clock went back a day, a waiting change keeps the rest of its pause, and a new change is sent")
    func outboxClockBack() async throws {
        let isBusy = SharedFlag(true)
        let busy = try ScriptedOrigin { request, connection in
            if isBusy.value { return try connection.respond(503, fields: [.retryAfter: "600"]) }
            try connection.respond(request.method == "GET" ? 404 : 204)
        }
        let idle = try ScriptedOrigin { request, connection in
            try connection.respond(request.method == "GET" ? 404 : 204)
        }
        try await TestServer.with { (server) async throws in
            let waiting = try await server.change(["url": .string(busy.url("/a")), "body": 1, "base": "absent"])
            try await busy.waitForRequests(1)
            try await server.waitForChange(waiting) { $0["nextAttemptDate"] != .null }
            isBusy.set(false)
            server.turn(Self.day * -1)
            // A new change of another origin, with a clock that is behind all dates of the rows.
            let new = try await server.change(["url": .string(idle.url("/b")), "body": 1, "base": "absent"])
            try await server.waitForChange(new, "done")
            #expect(busy.requestCount == 1)
            server.turn(.seconds(601))
            try await server.waitForChange(waiting, "done")
        }
    }

    @Test("An origin that is gone for a week takes no member away, and a Retry-After outlives a restart")
    func week() async throws {
        let web = try web()
        let (clock, directory) = (ManualClock(), try TemporaryDirectory())
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            try await subscribe(server, web)
            for path in Self.paths { web[path] = .init(status: 503) }
            for _ in 0..<14 {
                let count = web.origin.requestCount
                server.turn(.seconds(43_200))
                try await server.waitForReport("set") { _ in web.origin.requestCount > count }
            }
            let report = try await server.get("/subscriptions/set").json
            #expect(report["held"] == 3 && report["missing"] == [])
            try await expectReadable(web, server)
            for path in Self.paths { web[path] = .init(status: 503, fields: [.retryAfter: "3600"]) }
            let count = web.origin.requestCount
            server.turn(.seconds(43_200))
            try await server.waitForReport("set") { _ in web.origin.requestCount > count }
            // The pause is stored before the next request of its host could begin.
            let service = server.service.subscriptions
            try await server.waitForReport("set") { _ in
                service.queue.sync { !service.pacer.allPauses(at: clock.now()).isEmpty }
            }
        }
        let count = web.origin.requestCount
        for path in Self.paths { web[path] = .init(body: "body of \(path)") }
        try await TestServer.with(clock: clock, directory: directory) { (server) async throws in
            try await server.waitForReport("set") { $0["held"] == 3 }
            try await expectReadable(web, server)
            try await server.beginRefresh("set")
            server.turn(.seconds(3500))
            _ = try await server.get("/subscriptions/set")
            #expect(web.origin.requestCount == count)
            server.turn(.seconds(200))
            try await server.refresh("set")
            let report = try await server.get("/subscriptions/set").json
            #expect(report["state"] == "complete" && report["held"] == 3)
            #expect(web.origin.requestCount >= count + 3)
            try await expectReadable(web, server)
        }
    }
}

/// A flag that a script reads.
final class SharedFlag: Sendable {
    private let flag: Locked<Bool>

    init(_ value: Bool) { flag = Locked(value) }

    var value: Bool { flag.withLock { $0 } }
    func set(_ value: Bool) { flag.withLock { $0 = value } }
}
