import DiskCache
import Foundation
import HTTPTypes
import Larder
import Primitives
import TestSupport
import Testing

@Suite("Subscriptions without room for two generations")
struct SubscriptionRoomTests {
    private static let paths = (0..<4).map { "/\($0)" }
    private static let length = 200_000

    private func body(_ path: String, _ version: Int) -> String {
        "\(version) of \(path) " + String(repeating: "x", count: Self.length)
    }

    private func write(_ version: Int, to web: TestWeb) {
        for path in Self.paths { web[path] = .init(body: body(path, version)) }
    }

    private func definition(_ web: TestWeb) -> JSON {
        ["source": ["urls": .array(Self.paths.map { .string(web.url($0)) })], "ttl": "1m", "maxDelay": 0]
    }

    /// The generation that all members have; `nil` when they differ or one is missing.
    private func generation(_ web: TestWeb, _ server: TestServer) async throws -> Int? {
        var versions: Set<Int?> = []
        for path in Self.paths {
            let text = try await server.content(of: web.url(path))
            versions.insert((1...9).first { text == body(path, $0) })
        }
        return versions.count == 1 ? versions.first! : nil
    }

    private func expectNoRoom(_ web: TestWeb, _ server: TestServer) async throws {
        let count = web.origin.requestCount
        try await server.beginRefresh("set")
        let report = try await server.waitForReport("set") {
            web.origin.requestCount > count && $0["state"] == "no-room" && $0["refreshing"] == false
        }
        #expect(report["generation"] == 1 && report["held"] == 4 && report["missing"] == [])
        #expect(try await generation(web, server) == 1)
    }

    @Test("With room for one and a half sets the old set stays whole, and the first refresh with more room switches")
    func oneAndAHalf() async throws {
        let web = try TestWeb()
        write(1, to: web)
        let directory = try TemporaryDirectory()
        let clock = ManualClock()
        try await TestServer.with(clock: clock, directory: directory, configure: { $0.diskLimit = 2 << 20 }) {
            (server) async throws in
            try await server.subscribe("set", definition(web))
            try await server.waitForGeneration(1, of: "set")
            // About 400 kB are left for the next 800 kB.
            let pinned = [UInt8](repeating: 1, count: 800_000)
            #expect(try await server.put("pinned", pinned, query: "pinned=true").status == 200)
            write(2, to: web)
            for _ in 0..<4 {
                server.turn(.seconds(3600))
                try await expectNoRoom(web, server)
            }
        }
        // The report and the set last over a restart.
        try await TestServer.with(clock: clock, directory: directory, configure: { $0.diskLimit = 2 << 20 }) {
            (server) async throws in
            let report = try await server.waitForReport("set") { $0["generation"] == 1 }
            #expect(report["held"] == 4)
            #expect(try await generation(web, server) == 1)
            server.turn(.seconds(3600))
            try await expectNoRoom(web, server)
            #expect(try await server.client.request("DELETE", "/entries/pinned").status == 200)
            server.turn(.seconds(60))
            let next = try await server.refresh("set")
            #expect(next["state"] == "complete" && next["held"] == 4)
            #expect(try await generation(web, server) == 2)
        }
        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(0))
    }

    @Test("A set without room for its first generation is no-room, and not pending")
    func firstGeneration() async throws {
        let web = try TestWeb()
        write(1, to: web)
        try await TestServer.with(configure: { ($0.diskLimit, $0.diskReserve) = (2 << 20, .bytes(0)) }) {
            (server) async throws in
            let pinned = [UInt8](repeating: 1, count: 700_000)
            for name in ["one", "two"] {
                #expect(try await server.put(name, pinned, query: "pinned=true").status == 200)
            }
            try await server.subscribe("set", definition(web))
            let report = try await server.waitForReport("set") { $0["refreshing"] == false }
            #expect(report["state"] == "no-room" && report["generation"] == 0 && report["held"] == 0, "\(report.text)")
            for name in ["one", "two"] {
                #expect(try await server.client.request("DELETE", "/entries/\(name)").status == 200)
            }
            server.turn(.seconds(3600))
            let next = try await server.waitForGeneration(1, of: "set")
            #expect(next["state"] == "complete" && next["held"] == 4, "\(next.text)")
        }
    }

    @Test("Bodies that did not change need no room, so a set with one new body switches")
    func shared() async throws {
        let web = try TestWeb()
        write(1, to: web)
        try await TestServer.with(configure: { $0.diskLimit = 2 << 20 }) { (server) async throws in
            try await server.subscribe("set", definition(web))
            try await server.waitForGeneration(1, of: "set")
            let pinned = [UInt8](repeating: 1, count: 800_000)
            #expect(try await server.put("pinned", pinned, query: "pinned=true").status == 200)
            web["/0"] = .init(body: body("/0", 2))
            server.turn(.seconds(3600))
            #expect(try await server.refresh("set")["state"] == "complete")
            #expect(try await server.content(of: web.url("/0")) == body("/0", 2))
            #expect(try await server.content(of: web.url("/1")) == body("/1", 1))
        }
    }

    @Test(
        "A body that finds no room alone, such as an endless stream, harms only its member, with or without a copy",
        arguments: [(false, true), (false, false), (true, true), (true, false)])
    func endless(hasCopy: Bool, isAnnounced: Bool) async throws {
        final class State: Sendable {
            let isEndless = Locked(false)
        }
        let state = State()
        state.isEndless.withLock { $0 = !hasCopy }
        let origin = try ScriptedOrigin { request, connection in
            guard request.target == "/b", state.isEndless.withLock(\.self) else {
                return try connection.respond(body: body(request.target, request.index))
            }
            let piece = [UInt8](repeating: 1, count: 1 << 16)
            if isAnnounced {
                try connection.sendHead(fields: [.contentLength: "3000000"])
                while true { try connection.send(piece) }
            } else {
                try connection.startChunks()
                while true { try connection.sendChunk(piece) }
            }
        }
        defer { origin.stop() }
        try await TestServer.with(configure: { ($0.diskLimit, $0.diskReserve) = (2 << 20, .bytes(0)) }) {
            (server) async throws in
            let urls = ["/a", "/b", "/c", "/d"].map { JSON.string(origin.url($0)) }
            try await server.subscribe("set", ["source": ["urls": .array(urls)], "ttl": "1m", "maxDelay": 0])
            let first = try await server.waitForReport("set") { $0["refreshing"] == false }
            #expect(first["generation"] == 1 && first["held"] == (hasCopy ? 4 : 3), "\(first.text)")
            let old = try await server.content(of: origin.url("/b"))
            state.isEndless.withLock { $0 = true }
            try await server.beginRefresh("set")
            let report = try await server.waitForReport("set") { report in
                report["refreshing"] == false && origin.requestCount(of: "/d") == 2
            }
            #expect(report["generation"] == 2, "\(report.text)")
            #expect(report["state"] == (hasCopy ? "complete" : "incomplete"))
            #expect(try await server.content(of: origin.url("/b")) == old)
            for path in ["/a", "/c", "/d"] {
                let last = try #require(origin.requests.last { $0.target == path }?.index)
                #expect(try await server.content(of: origin.url(path)) == body(path, last))
            }
            let problem = try await server.get("/subscriptions/set/items").json["items"]?.arrayValue?[1]["problem"]
            #expect(problem?["reason"]?.stringValue?.hasPrefix("no room") == true, "\(String(describing: problem))")
        }
    }

    @Test(
        "On a disk that another program fills, the old set stays whole, and a refresh with new space switches",
        .enabled(if: getuid() == 0, "only root can mount a file system"))
    func fullDisk() async throws {
        guard let disk = try SmallDisk(size: "40m") else {
            return withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
        }
        let web = try TestWeb()
        write(1, to: web)
        let configure: (inout Configuration) -> Void = { configuration in
            configuration.diskReserve = .bytes(0)
            configuration.inlineLimit = 0
        }
        try await TestServer.with(directory: disk.mount, configure: configure) { (server) async throws in
            try await server.subscribe("set", definition(web))
            try await server.waitForGeneration(1, of: "set")
            try await blocking { try disk.fill(leaving: 400_000) }
            write(2, to: web)
            server.turn(.seconds(3600))
            try await expectNoRoom(web, server)
            #expect(truncate(disk.mount.path("filler"), 0) == 0)
            server.turn(.seconds(3600))
            #expect(try await server.refresh("set")["state"] == "complete")
            #expect(try await generation(web, server) == 2)
        }
    }
}
