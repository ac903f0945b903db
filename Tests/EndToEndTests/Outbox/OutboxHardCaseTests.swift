import HTTPTypes
import Primitives
import TestSupport
import Testing

/// The hard cases of sending changes, each through the API and with a real origin.
@Suite("Hard cases of the outbox")
struct OutboxHardCaseTests {
    /// An origin with a document for each path, which honours preconditions.
    private final class Documents: Sendable {
        enum Fate: Sendable {
            case answered
            /// The origin answers with this status and keeps the document.
            case refused(Int)
            /// The document changes, and the connection ends without an answer.
            case lost
        }

        struct State {
            var bodies: [String: (text: String, version: Int)] = [:]
            var fates: [Fate] = []
            var isWeak = false
            /// A text that the origin adds to each body that it stores.
            var addition = ""
            /// A rival's body that takes effect behind the next write.
            var rival: (path: String, text: String)?
        }

        let origin: ScriptedOrigin
        private let shared = Shared()

        private final class Shared: Sendable {
            let state = Locked(State())
        }

        init(_ bodies: [String: String] = [:], change: (inout State) -> Void = { _ in }) throws {
            let shared = shared
            shared.state.withLock { state in
                for (path, text) in bodies { state.bodies[path] = (text, 1) }
                change(&state)
            }
            origin = try ScriptedOrigin { request, connection in try Self.answer(request, connection, shared) }
        }

        func url(_ path: String) -> JSON { .string(origin.url(path)) }
        func body(_ path: String) -> String? { shared.state.withLock { $0.bodies[path]?.text } }

        /// The requests that are no GET: method, path and precondition.
        var writes: [String] {
            origin.requests.filter { $0.method != "GET" }.map { request in
                let condition = request["If-Match"].map { _ in " If-Match" } ?? ""
                return "\(request.method) \(request.target)" + condition
                    + (request["If-None-Match"].map { " If-None-Match: \($0)" } ?? "")
            }
        }

        private static func write(_ path: String, _ text: String, _ state: inout State) {
            state.bodies[path] = (text, (state.bodies[path]?.version ?? 0) + 1)
        }

        private static func tag(_ version: Int, _ state: State) -> String {
            let number = String(version)
            // A tag of 32 digits counts as a digest, so it is sound at once.
            return state.isWeak
                ? "W/\"\(number)\"" : "\"\(String(repeating: "0", count: 32 - number.count))\(number)\""
        }

        private static func answer(
            _ request: ScriptedOrigin.Request, _ connection: ScriptedOrigin.Connection, _ shared: Shared
        ) throws {
            let path = request.target
            guard request.method != "GET" else {
                let found = shared.state.withLock { state in
                    state.bodies[path].map { ($0.text, Self.tag($0.version, state)) }
                }
                guard let (text, tag) = found else { return try connection.respond(404) }
                return try connection.respond(fields: [.contentType: "application/json", .eTag: tag], body: text)
            }
            let (status, isLost, tag) = shared.state.withLock { state -> (Int, Bool, String?) in
                let fate = state.fates.isEmpty ? Fate.answered : state.fates.removeFirst()
                let held = state.bodies[path]
                var (status, isLost) = (204, false)
                switch fate {
                case .refused(let refusal): status = refusal
                case .lost: isLost = true
                case .answered: break
                }
                // A weak tag never matches (RFC 9110 §13.1.1).
                if let wanted = request["If-Match"], state.isWeak || held.map({ Self.tag($0.version, state) }) != wanted
                {
                    status = 412
                }
                if request["If-None-Match"] == "*", held != nil { status = 412 }
                if status == 204 {
                    if request.method == "DELETE" {
                        state.bodies[path] = nil
                    } else {
                        write(path, added(state.addition, to: String(decoding: request.body, as: UTF8.self)), &state)
                    }
                }
                let tag = state.bodies[path].map { Self.tag($0.version, state) }
                if let rival = state.rival {
                    write(rival.path, rival.text, &state)
                    state.rival = nil
                }
                return (status, isLost, tag)
            }
            if isLost { return connection.close() }
            try connection.respond(status, fields: tag.map { [.eTag: $0] } ?? [:])
        }

        /// Adds members at the end of an object, unless it has them.
        private static func added(_ addition: String, to text: String) -> String {
            addition.isEmpty || text.contains(addition) ? text : text.dropLast() + "," + addition + "}"
        }
    }

    @Test("When the first of two changes is rejected, its lane stops and other lanes go on")
    func rejected() async throws {
        let documents = try Documents { $0.fates = [.refused(422)] }
        try await TestServer.with { (server) async throws in
            let first = try await server.change(["url": documents.url("/a"), "body": 1, "base": "absent"])
            try await server.waitForChange(first, "rejected")
            let second = try await server.change(["url": documents.url("/a"), "body": 2, "base": "blind"])
            let other = try await server.change(["url": documents.url("/b"), "body": 3, "base": "absent"])
            try await server.waitForChange(other, "done")
            #expect(try await server.get(second).member("state") == "pending")
            #expect(documents.writes == ["PUT /a If-None-Match: *", "PUT /b If-None-Match: *"])
            #expect(try await server.client.request("DELETE", first).status == 200)
            try await server.waitForChange(second, "done", turning: true)
            #expect(documents.body("/a") == "2" && documents.body("/b") == "3")
        }
    }

    @Test("An origin with weak tags gets one request without a precondition, and the change says so")
    func weak() async throws {
        let documents = try Documents(["/a": #"{"a":1}"#]) { $0.isWeak = true }
        try await TestServer.with { (server) async throws in
            let change = try await server.change([
                "url": documents.url("/a"), "seen": ["body": ["a": 1]], "body": ["a": 2],
            ])
            let done = try await server.waitForChange(change, "done")
            #expect(done["unguarded"] == true)
            #expect(documents.writes == ["PUT /a"])
        }
    }

    @Test("A document that a rival deleted stays deleted until a decision")
    func deleted() async throws {
        let documents = try Documents()
        try await TestServer.with { (server) async throws in
            let change = try await server.change([
                "url": documents.url("/a"), "seen": ["body": ["a": 1]], "body": ["a": 2],
            ])
            let held = try await server.waitForChange(change, "conflict")
            #expect(held["problem"]?["kind"] == "deleted" && held["theirs"] == .null)
            #expect(documents.writes.isEmpty)
            let resolved = try await server.client.request(
                "POST", change + "/resolve", fields: [.contentType: "application/json"], text: #"{"take": "ours"}"#)
            #expect(resolved.status == 200)
            try await server.waitForChange(change, "done")
            #expect(documents.writes == ["PUT /a If-None-Match: *"])
        }
    }

    @Test("A DELETE of an absent document is done without a request of its own")
    func deleteOfAbsent() async throws {
        let documents = try Documents()
        try await TestServer.with { (server) async throws in
            let change = try await server.change([
                "url": documents.url("/a"), "method": "DELETE", "seen": ["body": ["a": 1]],
            ])
            try await server.waitForChange(change, "done")
            #expect(documents.writes.isEmpty)
        }
    }

    @Test("A conflict told as 500, and an answer lost before a rival's edit of another field, keep both edits")
    func bothEdits() async throws {
        for fate in [Documents.Fate.refused(500), .lost] {
            let documents = try Documents(["/a": #"{"a":1,"b":1}"#]) { state in
                state.fates = [fate]
                if case .lost = fate {
                    state.rival = ("/a", #"{"a":2,"b":9}"#)
                } else {
                    state.rival = ("/a", #"{"a":1,"b":9}"#)
                }
            }
            try await TestServer.with { (server) async throws in
                let change = try await server.change([
                    "url": documents.url("/a"), "seen": ["body": ["a": 1, "b": 1]], "body": ["a": 2, "b": 1],
                ])
                try await server.waitForChange(change, "done", turning: true)
                #expect(documents.body("/a") == #"{"a":2,"b":9}"#)
                if case .lost = fate {
                    #expect(documents.writes.count == 1)
                } else {
                    #expect(documents.writes == ["PUT /a If-Match", "PUT /a If-Match"])
                }
            }
        }
    }

    @Test("An answer lost before a rival's edit of the same field is a conflict with three versions")
    func sameField() async throws {
        let documents = try Documents(["/a": #"{"a":1}"#]) { state in
            state.fates = [.lost]
            state.rival = ("/a", #"{"a":9}"#)
        }
        try await TestServer.with { (server) async throws in
            let change = try await server.change([
                "url": documents.url("/a"), "seen": ["body": ["a": 1]], "body": ["a": 2],
            ])
            let held = try await server.waitForChange(change, "conflict", turning: true)
            #expect(["seen", "ours", "theirs"].map { held[$0]?["text"] } == [#"{"a":1}"#, #"{"a":2}"#, #"{"a":9}"#])
            #expect(held["mayBeApplied"] == true && documents.writes.count == 1)
        }
    }

    @Test(
        "After a server rewrote a body, the next change of the lane is sent without a conflict and keeps the rewriting")
    func rewriting() async throws {
        let documents = try Documents(["/a": #"{"a":1}"#]) { $0.addition = #""uid":7"# }
        try await TestServer.with { (server) async throws in
            let first = try await server.change([
                "url": documents.url("/a"), "seen": ["body": ["a": 1]], "body": ["a": 2],
            ])
            let second = try await server.change([
                "url": documents.url("/a"), "seen": ["body": ["a": 2]], "body": ["a": 3],
            ])
            try await server.waitForChange(first, "done", turning: true)
            try await server.waitForChange(second, "done", turning: true)
            #expect(documents.body("/a") == #"{"a":3,"uid":7}"#)
        }
    }

    @Test("Numbers keep their text, 1.0 and 1 are equal, and null differs from a missing member")
    func numbers() async throws {
        let base = #"{"big":9007199254740993,"e":1e400,"one":1.0,"gone":null,"kept":null,"t":1}"#
        let documents = try Documents(["/a": base])
        try await TestServer.with { (server) async throws in
            _ = try await server.download(["url": documents.url("/a"), "ttl": 3600])
            let change = try await server.change(["url": documents.url("/a"), "patch": ["t": 2]])
            try await server.waitForChange(change, "done")
            #expect(
                documents.body("/a")
                    == #"{"big":9007199254740993,"e":1e400,"one":1.0,"gone":null,"kept":null,"t":2}"#)
        }
        // The rival removes a member that is null, writes 1 for 1.0, and changes the last digit of a long number.
        let rival = try Documents([
            "/a": #"{"big":9007199254740992,"e":1e400,"one":1,"kept":null,"t":1}"#
        ])
        try await TestServer.with { (server) async throws in
            // The client that checks requests against openapi.yaml cannot read 1e400.
            let members = #""url": "\#(rival.origin.url("/a"))", "seen": {"body": \#(base)}"#
            let ours = base.dropLast(7) + #","t":2}"#
            let reply = try await HTTPClient(port: server.api.port).request(
                "POST", "/outbox", fields: [.contentType: "application/json"], text: "{\(members), \"body\": \(ours)}")
            #expect(reply.status == 202, "\(reply.text)")
            try await server.waitForChange(try #require(reply["Location"]), "done", turning: true)
            let body = try #require(rival.body("/a"))
            #expect(body.contains(#""big":9007199254740992"#) && body.contains(#""e":1e400"#), "\(body)")
            #expect(body.contains(#""t":2"#) && !body.contains("gone") && body.contains(#""kept":null"#), "\(body)")
        }
    }
}
