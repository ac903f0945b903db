import HTTPTypes
import Outbox
import Primitives
import TestSupport
import WebArchive

/// An origin with one JSON document at `/doc`, which honours `If-Match`, `If-None-Match: *` and `Authorization`. A test
/// sets faults for the next changes.
final class TestDocument: Sendable {
    enum Fault: Sendable {
        /// The origin answers with this status and these fields, and keeps the document.
        case answer(Int, HTTPFields = [:])
        /// The document changes, and the connection ends without an answer.
        case loseAnswer
        /// The connection ends before the document changes.
        case loseRequest
        /// The request waits for the gate, and is lost then.
        case hang(Gate)
    }

    struct State {
        var body: String?
        var version = 1
        var faults: [Fault] = []
        /// The value of `Authorization` that the origin wants; `nil`: none.
        var secret: String?
        var fields: HTTPFields = [:]
        /// The tag of all versions, as of versions within one second; `nil`: each version has a tag of its own.
        var tag: String?
        /// A field without which the origin knows no document.
        var neededField: HTTPField?
        /// The path to which GETs are redirected; `nil`: they are not.
        var location: String?
        /// The number of the next GETs that get a head without a length, and then the end of the connection.
        var emptyReads = 0
        /// Whether the origin sends bodies as gzip to every client, with a tag of their own.
        var isCoded = false
        /// The GETs wait for the gate; `nil`: they do not wait.
        var reads: Gate?
        /// The bodies that the document has had, without the first.
        var effects: [String?] = []
    }

    let origin: ScriptedOrigin

    init(_ body: String?) throws {
        let state = Shared(State(body: body))
        shared = state
        origin = try ScriptedOrigin { request, connection in
            try Self.answer(request, connection, state)
        }
    }

    /// The state that the script and the test share.
    final class Shared: Sendable {
        let value: Locked<State>
        init(_ state: State) { value = Locked(state) }
    }

    private let shared: Shared

    var url: String { origin.url("/doc") }
    var body: String? { shared.value.withLock(\.body) }
    var effects: [String?] { shared.value.withLock(\.effects) }
    var etag: String { shared.value.withLock { Self.tag($0) } }
    func change(_ change: (inout State) -> Void) { shared.value.withLock { change(&$0) } }

    /// Another writer replaces the document.
    func write(_ body: String?) {
        change { state in
            state.body = body
            state.version += 1
        }
    }

    /// The requests with this method.
    func requests(_ method: String) -> [ScriptedOrigin.Request] { origin.requests.filter { $0.method == method } }

    /// A digest of the body is sound at once.
    private static func tag(_ state: State) -> String {
        state.tag ?? "\"\(BodyDigest(of: Array((state.body ?? "").utf8)).hex)\""
    }

    private static func answer(
        _ request: ScriptedOrigin.Request, _ connection: ScriptedOrigin.Connection, _ shared: Shared
    ) throws {
        let state = shared.value.withLock(\.self)
        if let secret = state.secret, request["Authorization"] != secret { return try connection.respond(401) }
        if let field = state.neededField, request[field.name.rawName] != field.value {
            return try connection.respond(404)
        }
        guard request.method != "GET" else {
            try state.reads?.waitBlocking()
            guard let body = state.body else { return try connection.respond(404) }
            if let location = state.location, request.target != location {
                return try connection.respond(307, fields: [.location: location])
            }
            var fields = state.fields
            fields[.eTag] = tag(state)
            fields[.contentType] = "application/json"
            if state.emptyReads > 0 {
                shared.value.withLock { $0.emptyReads -= 1 }
                try connection.sendHead(fields: fields)
                return connection.close()
            }
            guard state.isCoded else { return try connection.respond(fields: fields, body: body) }
            fields[.contentEncoding] = "gzip"
            fields[.eTag] = "\"coded-\(state.version)\""
            return try connection.respond(fields: fields, body: gzip(body))
        }
        let fault = shared.value.withLock { $0.faults.isEmpty ? nil : $0.faults.removeFirst() }
        switch fault {
        case .answer(let status, let fields): return try connection.respond(status, fields: fields)
        case .loseRequest: return connection.close()
        case .hang(let gate):
            try? gate.waitBlocking()
            return connection.close()
        case .loseAnswer, nil: break
        }
        let status = shared.value.withLock { state -> Int in
            if let wanted = request["If-Match"], state.body == nil || wanted != tag(state) { return 412 }
            if request["If-None-Match"] == "*", state.body != nil { return 412 }
            if request.method == "DELETE", state.body == nil { return 404 }
            state.body = request.method == "DELETE" ? nil : String(decoding: request.body, as: UTF8.self)
            state.version += 1
            state.effects.append(state.body)
            return 204
        }
        if case .loseAnswer = fault { return connection.close() }
        try connection.respond(status)
    }
}

/// A text as one gzip member (RFC 1952).
private func gzip(_ text: String) -> [UInt8] {
    let member = GzipMember()
    var coded: [UInt8] = []
    Array(text.utf8).withUnsafeBytes { member.compress($0, into: &coded) }
    member.finish(into: &coded)
    return coded
}
