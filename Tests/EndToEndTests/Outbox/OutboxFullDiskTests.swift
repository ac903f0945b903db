import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite(
    "The outbox and the subscriptions on a full disk",
    .enabled(if: getuid() == 0, "only root can mount a file system"))
struct OutboxFullDiskTests {
    /// An origin that honours `If-None-Match: *`, keeps bodies, and holds the answers of its writes until the gate
    /// opens.
    private final class Store: Sendable {
        private final class Bodies: Sendable {
            let value = Locked<[String: String]>([:])
        }

        let gate = Gate("the answers to writes")
        let origin: ScriptedOrigin

        init(holdsAnswers: Bool) throws {
            let (bodies, gate) = (Bodies(), gate)
            origin = try ScriptedOrigin { request, connection in
                if request.method == "GET" {
                    guard let body = bodies.value.withLock({ $0[request.target] }) else {
                        return try connection.respond(404)
                    }
                    return try connection.respond(fields: [.contentType: "application/json"], body: body)
                }
                bodies.value.withLock { $0[request.target] = String(decoding: request.body, as: UTF8.self) }
                if holdsAnswers { try gate.waitBlocking() }
                try connection.respond(204)
            }
        }

        func writes(_ target: String) -> Int { origin.requests.count { $0.method != "GET" && $0.target == target } }
    }

    /// Runs `body` with a server that has its state on a small disk. The server runs no upkeep, which would give space
    /// back to the disk.
    private func withServer(
        _ directory: TemporaryDirectory, _ disk: SmallDisk, log: ServerLog? = nil,
        _ body: (TestServer) async throws -> Void
    ) async throws {
        try await TestServer.with(
            directory: directory, log: log, configure: { $0.stateDirectory = disk.mount.path("state") }, body)
    }

    /// Copies the state to another disk, as a kill at this moment would leave it, and fills that disk.
    private func killedState(on disk: SmallDisk) async throws -> SmallDisk {
        try await blocking {
            let other = try #require(try SmallDisk(size: "8m"))
            // Another process copies the files, because a close of them in this process would end SQLite's locks.
            let copy = try ChildProcess.run("cp", ["-a", disk.mount.path("state"), other.mount.path("state")])
            try #require(copy.exit == .status(0), "\(copy.text)")
            try other.fill()
            return other
        }
    }

    private func call(_ server: TestServer, _ method: String, _ path: String, _ json: JSON) async throws -> HTTPReply {
        try await server.client.request(
            method, path, fields: [.contentType: "application/json"], body: json.utf8)
    }

    private func request(_ store: Store, _ target: String, length: Int = 1, lane: String? = nil) -> JSON {
        var members: [JSON.Member] = [
            .init("url", .string(store.origin.url(target))), .init("base", "absent"),
            .init("body", .string(String(repeating: "x", count: length))),
        ]
        if let lane { members.append(.init("lane", .string(lane))) }
        return .object(members)
    }

    @Test(
        "A change on a full disk gets 507 in words and is neither stored nor sent, and succeeds with new space",
        arguments: [false, true])
    func beforeAcknowledgement(hasOutbox: Bool) async throws {
        guard let disk = try SmallDisk(size: "8m") else {
            return withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
        }
        let store = try Store(holdsAnswers: false)
        let set: JSON = ["source": ["urls": [.string(store.origin.url("/first"))]]]
        try await withServer(try TemporaryDirectory(), disk) { (server) async throws in
            if hasOutbox {
                try await server.waitForChange(try await server.change(request(store, "/first")), "done")
            }
            try await blocking { try disk.fill() }
            for _ in 0..<3 {
                let refused = try await call(server, "POST", "/outbox", request(store, "/a", length: 200_000))
                #expect(refused.status == 507, "\(refused.text)")
                let detail = try refused.member("detail")?.stringValue
                #expect(detail?.contains("the disk is full") == true, "\(refused.text)")
            }
            let subscription = try await call(server, "PUT", "/subscriptions/set", set)
            #expect(subscription.status == 507, "\(subscription.text)")
            #expect(try subscription.member("detail")?.stringValue?.contains("the disk is full") == true)
            for path in ["/readyz", "/outbox", "/subscriptions"] { #expect(try await server.get(path).status == 200) }
            #expect(truncate(disk.mount.path("filler"), 0) == 0)
            let changes = try await server.get("/outbox").member("changes")?.arrayValue?.count
            #expect(changes == (hasOutbox ? 1 : 0))
            #expect(store.writes("/a") == 0)
            try await server.waitForChange(try await server.change(request(store, "/a", length: 200_000)), "done")
            #expect(store.writes("/a") == 1)
            #expect(try await call(server, "PUT", "/subscriptions/set", set).status == 201)
        }
    }

    @Test(
        "A state that a full disk cannot keep is neither shown nor acted on, and with new space all changes end once",
        arguments: [false, true])
    func transition(isKilled: Bool) async throws {
        guard let disk = try SmallDisk(size: "8m") else {
            return withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
        }
        let (store, directory, log) = (try Store(holdsAnswers: true), try TemporaryDirectory(), ServerLog())
        defer { store.gate.open() }
        var places: [String] = []
        var killed: SmallDisk?
        try await withServer(directory, disk, log: log) { (server) async throws in
            for target in ["/a", "/b"] {
                places.append(try await server.change(request(store, target, lane: "one")))
            }
            try await store.origin.waitForRequests(1)
            try await blocking { try disk.fill() }
            store.gate.open()
            try await poll("the store to fail") { !log.lines("a change cannot be stored").isEmpty }
            #expect(try await server.get(places[0]).member("state") == "sending")
            // A decision that cannot be kept is refused in words.
            let cancelled = try await server.client.request("DELETE", places[1])
            #expect(cancelled.status == 507, "\(cancelled.text)")
            #expect(try await server.get(places[1]).member("state") == "pending")
            #expect(store.writes("/a") == 1 && store.writes("/b") == 0)
            if isKilled {
                killed = try await killedState(on: disk)
            } else {
                try await expectEnds(of: places, server, disk)
            }
        }
        if let killed {
            try await withServer(directory, killed) { (server) async throws in
                // The outbox opens on a full disk, and shows its changes.
                let changes = try await server.get("/outbox").member("changes")?.arrayValue
                #expect(changes?.count == 2)
                let view = try await server.get("/json?url=\(store.origin.url("/b").percentEncoded)")
                #expect(view.text == "\"x\"" && view["Larder-Pending"] == "1", "\(view.head)")
                try await expectEnds(of: places, server, killed)
            }
        }
        #expect(store.writes("/a") == 1 && store.writes("/b") == 1)
    }

    private func expectEnds(of places: [String], _ server: TestServer, _ disk: SmallDisk) async throws {
        #expect(try await server.get("/readyz").status == 200)
        #expect(truncate(disk.mount.path("filler"), 0) == 0)
        for place in places { try await server.waitForChange(place, "done", turning: true) }
    }

    @Test(
        "A POST with an outcome that a full disk cannot keep is not sent again: it is done, or uncertain after a kill",
        arguments: [false, true])
    func post(isKilled: Bool) async throws {
        guard let disk = try SmallDisk(size: "8m") else {
            return withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
        }
        let (store, directory, log) = (try Store(holdsAnswers: true), try TemporaryDirectory(), ServerLog())
        defer { store.gate.open() }
        var place = ""
        var killed: SmallDisk?
        try await withServer(directory, disk, log: log) { (server) async throws in
            place = try await server.change([
                "url": .string(store.origin.url("/list")), "method": "POST", "body": 1,
            ])
            try await store.origin.waitForRequests(1)
            try await blocking { try disk.fill() }
            store.gate.open()
            try await poll("the store to fail") { !log.lines("a change cannot be stored").isEmpty }
            if isKilled {
                killed = try await killedState(on: disk)
            } else {
                #expect(truncate(disk.mount.path("filler"), 0) == 0)
                try await server.waitForChange(place, "done", turning: true)
            }
        }
        if let killed {
            try await withServer(directory, killed) { (server) async throws in
                #expect(truncate(killed.mount.path("filler"), 0) == 0)
                // The first server alone knows that the origin has answered.
                let change = try await server.waitForChange(place, "uncertain", turning: true)
                #expect(change["mayBeApplied"] == true)
            }
        }
        #expect(store.writes("/list") == 1)
    }
}
