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

    private func start(_ directory: TemporaryDirectory, _ disk: SmallDisk) async throws -> LarderProcess {
        try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--state-directory", disk.mount.path("state")])
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
        let directory = try TemporaryDirectory()
        let larder = try await start(directory, disk)
        if hasOutbox {
            let first = try await larder.call("POST", "/outbox", request(store, "/first"))
            let place = try #require(first["Location"])
            try await larder.wait(for: place) { $0["state"] == "done" }
        }
        try await blocking { try disk.fill() }
        for _ in 0..<3 {
            let refused = try await larder.call("POST", "/outbox", request(store, "/a", length: 200_000))
            #expect(refused.status == 507, "\(refused.text)")
            #expect(try refused.member("detail")?.stringValue?.contains("the disk is full") == true, "\(refused.text)")
        }
        let subscription = try await larder.call(
            "PUT", "/subscriptions/set", ["source": ["urls": [.string(store.origin.url("/first"))]]])
        #expect(subscription.status == 507, "\(subscription.text)")
        #expect(try subscription.member("detail")?.stringValue?.contains("the disk is full") == true)
        #expect(try await larder.client.request("GET", "/readyz").status == 200)
        for path in ["/outbox", "/subscriptions"] { #expect(try await larder.call("GET", path).status == 200) }
        #expect(truncate(disk.mount.path("filler"), 0) == 0)
        let changes = try await larder.call("GET", "/outbox").member("changes")?.arrayValue?.count
        #expect(changes == (hasOutbox ? 1 : 0))
        #expect(store.writes("/a") == 0)
        let accepted = try await larder.call("POST", "/outbox", request(store, "/a", length: 200_000))
        #expect(accepted.status == 202, "\(accepted.text)")
        try await larder.wait(for: try #require(accepted["Location"])) { $0["state"] == "done" }
        #expect(store.writes("/a") == 1)
        #expect(
            try await larder.call(
                "PUT", "/subscriptions/set", ["source": ["urls": [.string(store.origin.url("/first"))]]]
            ).status == 201)
        #expect(try await larder.stop() == .status(0))
    }

    @Test(
        "A state that a full disk cannot keep is neither shown nor acted on, and with new space all changes end once",
        arguments: [false, true])
    func transition(isKilled: Bool) async throws {
        guard let disk = try SmallDisk(size: "8m") else {
            return withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
        }
        let store = try Store(holdsAnswers: true)
        defer { store.gate.open() }
        let directory = try TemporaryDirectory()
        var larder = try await start(directory, disk)
        var places: [String] = []
        for target in ["/a", "/b"] {
            let reply = try await larder.call("POST", "/outbox", request(store, target, lane: "one"))
            places.append(try #require(reply["Location"]))
        }
        try await store.origin.waitForRequests(1)
        try await blocking { try disk.fill() }
        store.gate.open()
        try await poll("the store to fail") { !larder.logLines("a change cannot be stored").isEmpty }
        #expect(try await larder.call("GET", places[0]).member("state") == "sending")
        // A decision that cannot be kept is refused in words.
        let cancelled = try await larder.call("DELETE", places[1])
        #expect(cancelled.status == 507, "\(cancelled.text)")
        #expect(try await larder.call("GET", places[1]).member("state") == "pending")
        #expect(store.writes("/a") == 1 && store.writes("/b") == 0)
        if isKilled {
            try await larder.crash()
            // The outbox opens on a full disk, and shows its changes.
            larder = try await start(directory, disk)
            let changes = try await larder.call("GET", "/outbox").member("changes")?.arrayValue
            #expect(changes?.count == 2)
            let view = try await larder.call("GET", "/json?url=\(store.origin.url("/b").percentEncoded)")
            #expect(view.text == "\"x\"" && view["Larder-Pending"] == "1", "\(view.head)")
        }
        #expect(try await larder.client.request("GET", "/readyz").status == 200)
        #expect(truncate(disk.mount.path("filler"), 0) == 0)
        for place in places { try await larder.wait(for: place) { $0["state"] == "done" } }
        #expect(store.writes("/a") == 1 && store.writes("/b") == 1)
        #expect(try await larder.stop() == .status(0))
    }

    @Test(
        "A POST with an outcome that a full disk cannot keep is not sent again: it is done, or uncertain after a kill",
        arguments: [false, true])
    func post(isKilled: Bool) async throws {
        guard let disk = try SmallDisk(size: "8m") else {
            return withKnownIssue("no small file system could be mounted") { Issue.record("mount failed") }
        }
        let store = try Store(holdsAnswers: true)
        defer { store.gate.open() }
        let directory = try TemporaryDirectory()
        var larder = try await start(directory, disk)
        let reply = try await larder.call(
            "POST", "/outbox", ["url": .string(store.origin.url("/list")), "method": "POST", "body": 1])
        let place = try #require(reply["Location"])
        try await store.origin.waitForRequests(1)
        try await blocking { try disk.fill() }
        store.gate.open()
        try await poll("the store to fail") { !larder.logLines("a change cannot be stored").isEmpty }
        if isKilled {
            try await larder.crash()
            larder = try await start(directory, disk)
        }
        #expect(truncate(disk.mount.path("filler"), 0) == 0)
        // The process alone knows that the origin has answered.
        let change = try await larder.wait(for: place) { $0["state"] == (isKilled ? "uncertain" : "done") }
        #expect(!isKilled || change["mayBeApplied"] == true)
        #expect(store.writes("/list") == 1)
        #expect(try await larder.stop() == .status(0))
    }
}
