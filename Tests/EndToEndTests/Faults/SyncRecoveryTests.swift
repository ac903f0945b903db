import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Subscriptions and the outbox after the loss of the cache")
struct SyncRecoveryTests {
    /// The fate of the cache between two processes.
    enum Loss: String, CaseIterable, Sendable {
        /// The cache is whole.
        case none
        case damagedIndex
        case removedIndex
        case removedCache

        func happen(in directory: TemporaryDirectory) throws {
            let index = directory.path("cache/default/index.sqlite")
            switch self {
            case .none: break
            case .damagedIndex:
                // After a kill, the log still has the newest pages.
                try? FileManager.default.removeItem(atPath: index + "-wal")
                guard let file = FileHandle(forWritingAtPath: index) else { throw SystemError("open") }
                defer { try? file.close() }
                try file.write(contentsOf: Data(repeating: 0x5A, count: 16 << 10))
            case .removedIndex:
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: index + suffix) }
            case .removedCache: try FileManager.default.removeItem(atPath: directory.path("cache"))
            }
        }
    }

    /// An origin with documents in JSON that answers 503 while it is away.
    private final class Web: Sendable {
        private final class State: Sendable {
            let value = Locked((isAway: false, bodies: ["/doc": #"{"a":1,"b":1}"#, "/other": #"["other"]"#]))
        }

        let origin: ScriptedOrigin
        private let state = State()

        init() throws {
            let state = state
            origin = try ScriptedOrigin { request, connection in
                let (isAway, bodies) = state.value.withLock { $0 }
                guard !isAway else { return try connection.respond(503) }
                guard request.method == "GET" else {
                    state.value.withLock { $0.bodies[request.target] = String(decoding: request.body, as: UTF8.self) }
                    return try connection.respond(204)
                }
                guard let body = bodies[request.target] else { return try connection.respond(404) }
                try connection.respond(fields: [.contentType: "application/json"], body: body)
            }
        }

        func setAway(_ isAway: Bool) { state.value.withLock { $0.isAway = isAway } }
        func body(_ path: String) -> String? { state.value.withLock { $0.bodies[path] } }
        func view(_ path: String) -> String { "/json?url=\(origin.url(path).percentEncoded)" }
    }

    @Test(
        "Without the origin, a restart leaves views and held members; without the cache, outbox and subscriptions",
        arguments: Loss.allCases, [false, true])
    func loss(_ loss: Loss, isKilled: Bool) async throws {
        let web = try Web()
        let directory = try TemporaryDirectory()
        var larder = try await LarderProcess(directory: directory.path("cache"))
        let urls = ["/doc", "/other"].map { JSON.string(web.origin.url($0)) }
        let put = try await larder.call(
            "PUT", "/subscriptions/set", ["source": ["urls": .array(urls)], "minGap": 0, "maxDelay": 0, "ttl": 1])
        #expect(put.status == 201)
        try await larder.wait(for: "/subscriptions/set") { $0["held"] == 2 && $0["refreshing"] == false }
        web.setAway(true)
        let accepted = try await larder.call(
            "POST", "/outbox", ["url": .string(web.origin.url("/doc")), "patch": ["a": 2]])
        let place = try #require(accepted["Location"])
        #expect(try await larder.call("GET", web.view("/doc")).text == #"{"a":2,"b":1}"#)
        if isKilled {
            try await larder.crash()
        } else {
            #expect(try await larder.stop() == .status(0))
        }
        try loss.happen(in: directory)

        larder = try await LarderProcess(directory: directory.path("cache"))
        let view = try await larder.call("GET", web.view("/doc"))
        #expect(view.status == 200 && view.text == #"{"a":2,"b":1}"# && view["Larder-Pending"] == "1", "\(view.head)")
        let change = try await larder.call("GET", place).json
        #expect(["pending", "sending"].contains(change["state"]?.stringValue), "\(change.text)")
        #expect(change["seen"]?["text"] == #"{"a":1,"b":1}"#)
        let other = try await larder.call("GET", web.view("/other"))
        let remote = try await larder.call("GET", web.view("/doc") + "&view=remote")
        let report = try await larder.wait(for: "/subscriptions/set") { $0["wanted"] == 2 }
        if loss == .none {
            #expect(other.text == #"["other"]"# && remote.text == #"{"a":1,"b":1}"#)
            #expect(report["held"] == 2)
        } else {
            #expect(other.status == 404 && remote.status == 404)
        }

        web.setAway(false)
        // A change that is just being tried refuses the decision.
        let hastened = try await larder.call("POST", place + "/retry")
        #expect([200, 409].contains(hastened.status), "\(hastened.text)")
        try await larder.wait(for: place) { $0["state"] == "done" }
        #expect(web.body("/doc") == #"{"a":2,"b":1}"#)
        #expect(try await larder.call("POST", "/subscriptions/set/refresh").status == 202)
        try await larder.wait(for: "/subscriptions/set") { $0["held"] == 2 && $0["state"] == "complete" }
        #expect(try await larder.call("GET", web.view("/other")).text == #"["other"]"#)
        #expect(try await larder.call("GET", web.view("/doc")).text == #"{"a":2,"b":1}"#)
        let explained = try await larder.call("GET", "/explain?url=\(web.origin.url("/other").percentEncoded)")
        #expect(try explained.member("subscriptions") == ["set"])
        #expect(try await larder.stop() == .status(0))
        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(0))
    }

    @Test("A new version of a namespace is refused with unsent changes, and then empties only its own cache")
    func newVersion() async throws {
        let web = try TestWeb(["/a": "[1]"])
        let gone = try RefusingPort()
        let json: HTTPFields = [.contentType: "application/json"]
        try await TestServer.with { (server) async throws in
            try await server.putNamespace("notes", ["version": "1"])
            let definition: JSON = ["source": ["urls": [.string(web.url("/a"))]], "minGap": 0]
            for prefix in ["", "/@notes"] {
                let put = try await server.client.request(
                    "PUT", prefix + "/subscriptions/set", fields: json, body: definition.utf8)
                #expect(put.status == 201)
                try await wait(server, prefix) { $0["held"] == 1 && $0["refreshing"] == false }
                let change: JSON = ["url": .string(gone.url("/x")), "base": "blind", "body": .string("of \(prefix)")]
                let reply = try await server.client.request(
                    "POST", prefix + "/outbox", fields: json, body: change.utf8)
                #expect(reply.status == 202)
            }
            #expect(try await server.putNamespace("notes", ["version": "2"]).status == 409)
            let view = "/json?url=\(gone.url("/x").percentEncoded)"
            #expect(try await server.get("/@notes" + view).text == "\"of /@notes\"")
            let list = try await server.get("/@notes/outbox").member("changes")?.arrayValue
            let id = try #require(list?.first?["id"]?.integerValue)
            try await server.cancelChange("/@notes/outbox/\(id)")
            let requests = web.origin.requestCount
            #expect(try await server.putNamespace("notes", ["version": "2"]).status == 200)
            // The subscription outlives the version, and its members come back.
            try await wait(server, "/@notes") { $0["held"] == 1 && $0["refreshing"] == false }
            #expect(web.origin.requestCount == requests + 1)
            #expect(try await server.get("/@notes/json?url=\(web.url("/a").percentEncoded)").text == "[1]")
            // The default namespace keeps its change, its view and its members.
            #expect(try await server.get(view).text == "\"of \"")
            #expect(try await server.get("/outbox").member("changes")?.arrayValue?.count == 1)
            #expect(try await server.get("/subscriptions/set").member("generation") == 1)
        }
    }

    private func wait(
        _ server: TestServer, _ prefix: String, sourceLocation: SourceLocation = #_sourceLocation,
        until condition: (JSON) -> Bool
    ) async throws {
        try await poll(file: sourceLocation.fileID, line: sourceLocation.line) {
            try await server.get(prefix + "/subscriptions/set").json
        } until: {
            condition($0)
        }
    }
}
