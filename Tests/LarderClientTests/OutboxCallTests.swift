import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import LarderClient

@Suite("The calls for the outbox and its credentials")
struct OutboxCallTests {
    private func change(_ state: JSON, _ members: [JSON.Member] = []) -> JSON {
        .object(
            [.init("id", 7), .init("url", "http://h/a"), .init("method", "PUT"), .init("state", state)] + members)
    }

    @Test("A new change contains exactly the options that are set")
    func options() throws {
        var options = ChangeOptions()
        options.method = "DELETE"
        #expect(options.json(url: "u") == ["url": "u", "method": "DELETE"])
        options.method = "PUT"
        options.content = .body(Array(#"{"n": 1.0}"#.utf8), type: "application/json")
        options.base = "\"x\""
        options.seen = [0xff]
        options.headers = [("Prefer", "a")]
        options.credential = "c"
        options.lane = "l"
        options.onConflict = "hold"
        options.onUncertain = "retry"
        options.expires = Seconds("1h")
        options.idempotencyKey = "k"
        let expected: JSON = [
            "url": "u", "method": "PUT", "text": #"{"n": 1.0}"#, "base": "\"x\"", "seen": ["data": "/w=="],
            "headers": ["Prefer": "a", "Content-Type": "application/json"], "credential": "c", "lane": "l",
            "onConflict": "hold", "onUncertain": "retry", "expires": "1h", "idempotencyKey": "k",
        ]
        #expect(options.json(url: "u") == expected)
        var patch = ChangeOptions()
        patch.content = .patch(["a": .number("1.0")])
        #expect(patch.json(url: "u").text == #"{"url":"u","patch":{"a":1.0}}"#)
        var binary = ChangeOptions()
        binary.content = .body([0xfb, 0xff], type: nil)
        #expect(binary.json(url: "u") == ["url": "u", "data": "+/8="])
    }

    @Test("The decisions are sent to the change that they are about")
    func decisions() async throws {
        let server = try ScriptedOrigin { _, connection in try connection.respond(json: change("pending")) }
        defer { server.stop() }
        let client = try APIClient.of(server) { $0.namespace = "notes" }
        var options = ChangeOptions()
        options.content = .body([0x31], type: nil)
        _ = try await client.send("http://h/a", options)
        _ = try await client.change(7)
        _ = try await client.retry(change: 7)
        _ = try await client.cancel(change: 7)
        for resolution in [.ours, .theirs, .body(Array("é".utf8))] as [ChangeResolution] {
            _ = try await client.resolve(change: 7, resolution)
        }
        _ = try await client.squash(changes: [7, 8])
        _ = try await client.revert(change: 7)
        let requests = server.requests
        #expect(
            requests.map { "\($0.method) \($0.target)" } == [
                "POST /outbox", "GET /outbox/7", "POST /outbox/7/retry", "DELETE /outbox/7", "POST /outbox/7/resolve",
                "POST /outbox/7/resolve", "POST /outbox/7/resolve", "POST /outbox/squash", "POST /outbox/7/revert",
            ])
        #expect(requests.allSatisfy { $0["Larder-Namespace"] == "notes" })
        let bodies = [0, 4, 5, 6, 7].map { String(decoding: requests[$0].body, as: UTF8.self) }
        #expect(
            bodies == [
                #"{"url":"http://h/a","text":"1"}"#, #"{"take":"ours"}"#, #"{"take":"theirs"}"#, #"{"text":"é"}"#,
                #"{"changes":[7,8]}"#,
            ])
        #expect([2, 3, 8].allSatisfy { requests[$0].body.isEmpty && requests[$0]["Content-Type"] == nil })
    }

    @Test("A list of changes continues after each part, with the same filters")
    func list() async throws {
        let server = try ScriptedOrigin { request, connection in
            let next: [JSON.Member] = request.index == 0 ? [.init("nextCursor", "7")] : []
            try connection.respond(json: .object([.init("changes", [change("done")])] + next))
        }
        defer { server.stop() }
        var count = 0
        try await APIClient.of(server).changes(states: ["done", "conflict"], url: "http://h/a") { count += $0.count }
        #expect(count == 2)
        let filters = "limit=1000&state=done%2Cconflict&url=http%3A%2F%2Fh%2Fa"
        #expect(server.requests.map(\.target) == ["/outbox?\(filters)", "/outbox?cursor=7&\(filters)"])
        try await APIClient.of(server).changes(states: [], url: nil) { _ in }
        #expect(server.requests.last?.target == "/outbox?limit=1000")
    }

    @Test("A wait for the origin lasts while the change is under way, also at the rate limit of the token")
    func outcome() async throws {
        let states: [JSON?] = ["pending", nil, "sending", "confirmed"]
        let server = try ScriptedOrigin { request, connection in
            guard let state = states[min(request.index, 3)] else {
                let busy: JSON = ["title": "x", "status": 429, "detail": "too often"]
                return try connection.respond(429, json: busy, fields: [.retryAfter: "0"])
            }
            try connection.respond(json: change(state))
        }
        defer { server.stop() }
        var seen: [String] = []
        let end = try await APIClient.of(server).outcome(of: 7, pollInterval: .zero) { seen.append($0.state) }
        #expect(end.isConfirmed && seen == ["pending", "sending", "confirmed"] && server.requestCount == 4)
    }

    @Test("The versions of a change distinguish a body, an absent resource and an unknown body")
    func versions() throws {
        let text: JSON = ["text": "é", "data": .null, "etag": .null]
        let data: JSON = ["text": .null, "data": "/w==", "etag": .null]
        let long: JSON = ["text": .null, "data": .null, "etag": .null]
        func versions(_ members: [JSON.Member], state: JSON = "conflict") throws -> [OutboxChange.Version?] {
            let change = try OutboxChange(change(state, members))
            return [change.seen, change.ours, change.theirs]
        }
        #expect(
            try versions([.init("base", "version"), .init("seen", text), .init("ours", data), .init("theirs", long)])
                == [.body([0xc3, 0xa9]), .body([0xff]), .unknown])
        let deleted: [JSON.Member] = [
            .init("base", "absent"), .init("seen", .null), .init("ours", text), .init("theirs", .null),
            .init("problem", ["kind": "deleted", "status": 404]),
        ]
        #expect(try versions(deleted) == [.absent, .body([0xc3, 0xa9]), .absent])
        #expect(try versions(deleted, state: "done")[2] == nil)
        #expect(try versions([.init("base", "blind"), .init("theirs", .null)]) == [.unknown, nil, .unknown])
        let removal = try OutboxChange([
            "id": 7, "url": "u", "method": "DELETE", "state": "pending", "base": "version", "ours": .null,
        ])
        #expect(removal.ours == .absent && removal.seen == .unknown)
        let post = try OutboxChange([
            "id": 7, "url": "u", "method": "POST", "state": "pending", "base": "blind", "ours": text,
        ])
        #expect(post.seen == nil)
        #expect(throws: ClientError.self) { try OutboxChange(["id": -1, "url": "u", "method": "PUT", "state": "x"]) }
    }

    @Test("A credential is stored, listed and removed under its name")
    func credentials() async throws {
        let server = try ScriptedOrigin { request, connection in
            let credential: JSON = ["name": "a b", "origins": ["https://h"]]
            let list: JSON = ["credentials": [credential]]
            switch request.method {
            case "PUT": try connection.respond(json: credential)
            case "GET": try connection.respond(json: list)
            default: try connection.respond(json: ["removed": 1])
            }
        }
        defer { server.stop() }
        let client = try APIClient.of(server)
        let stored = try await client.put(
            credential: "a b", origins: ["https://h"], headers: [("Authorization", "Bearer s")])
        #expect(stored.name == "a b" && stored.origins == ["https://h"])
        #expect(try await client.credentials() == [stored])
        try await client.remove(credential: "a b")
        #expect(
            server.requests.map { "\($0.method) \($0.target)" } == [
                "PUT /credentials/a%20b", "GET /credentials", "DELETE /credentials/a%20b",
            ])
        let sent: JSON = ["origins": ["https://h"], "headers": ["Authorization": "Bearer s"]]
        #expect(try JSON(parsing: server.requests[0].body) == sent)
    }
}
