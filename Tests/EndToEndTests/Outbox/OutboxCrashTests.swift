import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Each test ends the server with SIGKILL.
@Suite("The outbox after kill -9")
struct OutboxCrashTests {
    private static let json: HTTPFields = [.contentType: "application/json"]

    /// An origin with documents that honours `If-Match` and `If-None-Match: *`. A test decides about the fate of the
    /// first change.
    private final class Documents: Sendable {
        enum Fate: Sendable {
            case answered
            /// The document changes, and the answer never comes.
            case appliedOnly
            /// The origin reads the request, and keeps the document.
            case ignored
        }

        struct State {
            var bodies: [String: String] = [:]
            var effects: [String] = []
            var fate = Fate.answered
        }

        let origin: ScriptedOrigin
        private let shared: Shared
        let end = Gate("the end of the test")

        init(_ fate: Fate = .answered) throws {
            var initial = State()
            initial.fate = fate
            let (shared, end) = (Shared(initial), end)
            self.shared = shared
            origin = try ScriptedOrigin { request, connection in
                try Self.answer(request, connection, shared, end)
            }
        }

        private final class Shared: Sendable {
            let state: Locked<State>
            init(_ initial: State) { state = Locked(initial) }
        }

        var effects: [String] { shared.state.withLock(\.effects) }

        private static func answer(
            _ request: ScriptedOrigin.Request, _ connection: ScriptedOrigin.Connection, _ shared: Shared,
            _ end: Gate
        ) throws {
            let target = request.target
            guard request.method != "GET" else {
                let held = shared.state.withLock { $0.bodies[target] }
                guard let document = held else { return try connection.respond(404) }
                let fields: HTTPFields = [.contentType: "application/json", .eTag: tag(document)]
                return try connection.respond(fields: fields, body: document)
            }
            let fate = shared.state.withLock { exchange(&$0.fate, with: .answered) }
            if case .ignored = fate { return try end.waitBlocking() }
            let status = shared.state.withLock { state -> Int in
                let held = state.bodies[target]
                if let wanted = request["If-Match"], held.map(tag) != wanted { return 412 }
                if request["If-None-Match"] == "*", held != nil { return 412 }
                state.bodies[target] = String(decoding: request.body, as: UTF8.self)
                state.effects.append("\(request.method) \(target)")
                return 204
            }
            if case .appliedOnly = fate { return try end.waitBlocking() }
            try connection.respond(status)
        }

        /// A digest of the body is sound at once.
        private static func tag(_ text: String) -> String { #""\#(md5(text))""# }
    }

    private func send(_ larder: LarderProcess, _ members: String) async throws -> String {
        let reply = try await larder.client.request("POST", "/outbox", fields: Self.json, text: "{\(members)}")
        #expect(reply.status == 202, "\(reply.text)")
        return try #require(reply["Location"])
    }

    private func wait(for state: JSON, of place: String, _ larder: LarderProcess) async throws -> HTTPReply {
        try await poll {
            try await larder.client.request("GET", place)
        } until: {
            try $0.member("state") == state
        }
    }

    @Test("Each change that was acknowledged before kill -9 takes effect once after the restart")
    func acknowledged() async throws {
        let documents = try Documents()
        defer { documents.end.open() }
        let directory = try TemporaryDirectory()
        var places: [String] = []
        for number in 0..<6 {
            let larder = try await LarderProcess(directory: directory.path("cache"))
            // A label puts all changes into one lane, so the later ones are certainly not sent before the kill.
            for part in 0..<4 {
                let url = documents.origin.url("/\(number)-\(part)")
                places.append(try await send(larder, #""url": "\#(url)", "body": 1, "base": "absent", "lane": "all""#))
            }
            try await larder.crash()
        }
        let larder = try await LarderProcess(directory: directory.path("cache"))
        for place in places { _ = try await wait(for: "done", of: place, larder) }
        let expected = (0..<24).map { "PUT /\($0 / 4)-\($0 % 4)" }
        #expect(documents.effects == expected)
        #expect(try await larder.stop() == .status(0))
    }

    @Test("A change with a request that was under way at kill -9 is looked at, and sent again only without its effect")
    func sending() async throws {
        for fate in [Documents.Fate.appliedOnly, .ignored] {
            let documents = try Documents(fate)
            defer { documents.end.open() }
            let directory = try TemporaryDirectory()
            let url = documents.origin.url("/doc")
            let first = try await LarderProcess(directory: directory.path("cache"))
            let place = try await send(first, #""url": "\#(url)", "body": {"a": 1}, "base": "absent""#)
            try await documents.origin.waitForRequests(1)
            #expect(try await first.client.request("GET", place).member("state") == "sending")
            try await first.crash()
            let second = try await LarderProcess(directory: directory.path("cache"))
            _ = try await wait(for: "done", of: place, second)
            #expect(documents.effects == ["PUT /doc"], "\(fate)")
            let methods = documents.origin.requests.map(\.method)
            #expect(methods == (fate == .ignored ? ["PUT", "GET", "PUT", "GET"] : ["PUT", "GET"]), "\(methods)")
            #expect(try await second.client.request("GET", "/json?url=\(url.percentEncoded)").text == #"{"a":1}"#)
            #expect(try await second.stop() == .status(0))
        }
    }

    @Test("A POST under way at kill -9 is held, and only a decision sends it again")
    func post() async throws {
        let documents = try Documents(.appliedOnly)
        defer { documents.end.open() }
        let directory = try TemporaryDirectory()
        let first = try await LarderProcess(directory: directory.path("cache"))
        let place = try await send(
            first, #""url": "\#(documents.origin.url("/list"))", "method": "POST", "body": {"a": 1}"#)
        try await documents.origin.waitForRequests(1)
        try await first.crash()
        let second = try await LarderProcess(directory: directory.path("cache"))
        _ = try await wait(for: "uncertain", of: place, second)
        #expect(documents.effects == ["POST /list"])
        #expect(try await second.client.request("POST", place + "/retry").status == 200)
        _ = try await wait(for: "done", of: place, second)
        #expect(documents.effects == ["POST /list", "POST /list"])
        #expect(try await second.stop() == .status(0))
    }

    @Test("A cancelled change is not sent after kill -9")
    func cancelled() async throws {
        let documents = try Documents(.ignored)
        defer { documents.end.open() }
        let directory = try TemporaryDirectory()
        let first = try await LarderProcess(directory: directory.path("cache"))
        let url = documents.origin.url("/doc")
        let head = try await send(first, #""url": "\#(url)", "body": 1, "base": "absent""#)
        let next = try await send(first, #""url": "\#(url)", "body": 2, "base": "blind""#)
        try await documents.origin.waitForRequests(1)
        #expect(try await first.client.request("DELETE", next).status == 200)
        try await first.crash()
        let second = try await LarderProcess(directory: directory.path("cache"))
        _ = try await wait(for: "done", of: head, second)
        #expect(try await second.client.request("GET", next).member("state") == "cancelled")
        #expect(documents.effects == ["PUT /doc"])
        #expect(try await second.stop() == .status(0))
    }
}
