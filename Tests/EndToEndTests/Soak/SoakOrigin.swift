import HTTPTypes
import Primitives
import TestSupport

/// The origin of the soak. Some of its answers fail: they break off, are malformed, or never end.
///
/// A path under `/d/` contains a name of a worker, and ``plan(_:_:)`` sets its answer. A path under `/f/` contains the
/// kind of its answers. All fetchers request this path, and each request gets a higher version.
final class SoakOrigin: Sendable {
    /// The answer to a download.
    enum Behaviour: CaseIterable, Sendable {
        case whole, chunked, slow, unchanged
        /// A complete body, followed by bytes that look like another response.
        case trailing
        case short, reset, refusal, endlessHead
        /// HTTP that two parsers understand differently.
        case folded, misframed
        /// Half of the body, and then silence.
        case stall

        /// Whether the body arrives completely.
        var isGood: Bool { [.whole, .chunked, .slow, .unchanged, .trailing].contains(self) }
    }

    /// The plan for the next downloads of a name.
    struct Plan: Sendable {
        var version: Int
        var behaviour: Behaviour
    }

    /// The kinds of fetched paths: `/f/<kind>/<number>`.
    enum Kind: String, CaseIterable, Sendable {
        case cacheable, varying, uncacheable, slow, streamed
        case breaking, short, failing, reset, endlessHead
        /// A good response, followed by bytes that answer no request: immediately, or while the connection is idle.
        case trailing, late
        case folded, misframed

        /// The number of paths of this kind.
        var count: Int {
            switch self {
            case .cacheable: 60
            case .varying, .streamed: 10
            case .uncacheable, .slow, .breaking, .failing, .trailing, .late: 5
            case .short, .reset, .endlessHead, .folded, .misframed: 2
            }
        }

        /// The kind of a path; `nil` for a path that has none.
        init?(path: String) {
            let parts = path.split(separator: "/")
            guard parts.count == 3, parts[0] == "f" else { return nil }
            self.init(rawValue: String(parts[1]))
        }

        /// All paths of the kind.
        var paths: [String] { (0..<count).map { "/f/\(rawValue)/\($0)" } }
    }

    /// The state that all connections share.
    private final class Desk: Sendable {
        let plans = Locked<[String: Plan]>([:])
        let versions = Locked<[String: Int]>([:])
        let arrivals = Locked<[String: Gate]>([:])
        let end = Gate("end of the origin")

        /// Pauses in the middle of a response; throws when the origin stops.
        func pause(_ milliseconds: Int) throws {
            if (try? end.waitBlocking(limit: .milliseconds(milliseconds))) != nil { throw CancellationError() }
        }
    }

    private let desk = Desk()
    private let origin: ScriptedOrigin

    init() throws {
        let desk = desk
        origin = try ScriptedOrigin { request, connection in
            let target = request.target
            if target.hasPrefix("/d/") {
                try Self.answer(String(target.dropFirst(3)), request, connection, desk)
            } else if let kind = Kind(path: target) {
                try Self.answer(kind, request, connection, desk)
            } else {
                try connection.respond(404)
            }
        }
    }

    var port: UInt16 { origin.port }

    /// The URL of a worker's name.
    func url(of name: String) -> String { origin.url("/d/" + name) }

    /// The URL of a fetched path.
    func url(_ path: String) -> String { origin.url(path) }

    /// Sets the plan for the next downloads of a name.
    func plan(_ name: String, _ plan: Plan) {
        desk.plans.withLock { $0[name] = plan }
    }

    /// A gate that opens when the next request for a name has arrived.
    func arrival(of name: String) -> Gate {
        let gate = Gate("request for \(name)")
        desk.arrivals.withLock { $0[name] = gate }
        return gate
    }

    /// The version of the latest answer to a request for a path.
    func version(of path: String) -> Int { desk.versions.withLock { $0[path] ?? 0 } }

    /// Clears the log of requests, which would otherwise grow without end.
    func forgetRequests() { origin.forgetRequests() }

    func stop() {
        desk.end.open()
        origin.stop()
    }

    // MARK: - Downloads

    private static func answer(
        _ name: String, _ request: ScriptedOrigin.Request, _ connection: ScriptedOrigin.Connection, _ desk: Desk
    ) throws {
        let plan = desk.plans.withLock { $0[name] }
        desk.arrivals.withLock { $0.removeValue(forKey: name) }?.open()
        guard let plan else { return try connection.respond(404) }
        let etag = "\"v\(plan.version)\""
        let fields: HTTPFields = [.contentType: "application/json", .eTag: etag]
        switch plan.behaviour {
        case .unchanged where request["If-None-Match"] == etag: try connection.respond(304, fields: [.eTag: etag])
        case .refusal: try connection.respond(503, body: "not now")
        case .endlessHead: try sendEndlessHead(connection)
        case .whole, .unchanged: try connection.respond(fields: fields, body: SoakBody.make(name, plan.version))
        case .chunked: try sendChunks(SoakBody.make(name, plan.version), fields, connection)
        case .slow: try sendSlowly(SoakBody.make(name, plan.version), fields, connection, desk)
        case .trailing: try sendWithTrail(SoakBody.make(name, plan.version), fields, connection)
        case .folded: try sendFolded(connection)
        case .misframed: try sendMisframed(SoakBody.make(name, plan.version), connection)
        case .short, .reset, .stall:
            let body = SoakBody.make(name, plan.version)
            try sendHalf(of: body, fields, connection)
            if plan.behaviour == .stall { connection.waitForHangUp() }
            plan.behaviour == .reset ? connection.reset() : connection.close()
        }
    }

    // MARK: - Fetches

    private static func answer(
        _ kind: Kind, _ request: ScriptedOrigin.Request, _ connection: ScriptedOrigin.Connection, _ desk: Desk
    ) throws {
        let path = request.target
        let version = desk.versions.withLock { versions in
            versions[path, default: 0] += 1
            return versions[path]!
        }
        let language = request["Accept-Language"]
        let name = kind == .varying ? "\(path)#\(language ?? "")" : path
        let body = SoakBody.make(name, version)
        var fields: HTTPFields = [.contentType: "application/json", .cacheControl: "max-age=20"]
        switch kind {
        case .cacheable: try connection.respond(fields: fields, body: body)
        case .varying:
            fields[.vary] = "Accept-Language"
            try connection.respond(fields: fields, body: body)
        case .uncacheable:
            fields[.cacheControl] = "no-store"
            try connection.respond(fields: fields, body: body)
        case .slow: try sendSlowly(body, fields, connection, desk)
        case .streamed: try sendChunks(body, fields, connection)
        case .breaking where version.isMultiple(of: 2): try sendChunks(body, fields, connection)
        case .breaking:
            try connection.startChunks(fields: fields)
            try connection.sendChunk(body.prefix(body.count / 2))
            connection.close()
        case .short:
            try sendHalf(of: body, fields, connection)
            connection.close()
        case .failing: try connection.respond(503, fields: [.cacheControl: "no-store"], body: "not now")
        case .reset: connection.reset()
        case .endlessHead: try sendEndlessHead(connection)
        case .trailing: try sendWithTrail(body, fields, connection)
        case .late:
            try connection.respond(fields: fields, body: body)
            try desk.pause(5)
            try connection.send("\r\n<p>late</p>")
        case .folded: try sendFolded(connection)
        case .misframed: try sendMisframed(body, connection)
        }
    }

    // MARK: - Ways to answer

    /// Sends a response, and in the same packet a second response without a request.
    private static func sendWithTrail(
        _ body: [UInt8], _ fields: HTTPFields, _ connection: ScriptedOrigin.Connection
    ) throws {
        let trail = SoakBody.make("nobody", 1)
        func answer(_ body: [UInt8]) -> [UInt8] {
            let lines = fields.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
            return Array("HTTP/1.1 200 OK\r\n\(lines)Content-Length: \(body.count)\r\n\r\n".utf8) + body
        }
        try connection.send(answer(body) + answer(trail))
    }

    /// Sends a head with a folded first field line.
    private static func sendFolded(_ connection: ScriptedOrigin.Connection) throws {
        try connection.send("HTTP/1.1 200 OK\r\n folded: first\r\nContent-Length: 2\r\n\r\n[]")
    }

    /// Sends a chunk with a size that is no number.
    private static func sendMisframed(_ body: [UInt8], _ connection: ScriptedOrigin.Connection) throws {
        try connection.startChunks(fields: [.cacheControl: "max-age=20"])
        try connection.send("\(String(body.count, radix: 16))g\r\n")
        try connection.send(body)
        try connection.send("\r\n0\r\n\r\n")
    }

    private static func sendHalf(
        of body: [UInt8], _ fields: HTTPFields, _ connection: ScriptedOrigin.Connection
    ) throws {
        var fields = fields
        fields[.contentLength] = String(body.count)
        try connection.sendHead(fields: fields)
        try connection.send(body.prefix(body.count / 2))
    }

    private static func sendChunks(
        _ body: [UInt8], _ fields: HTTPFields, _ connection: ScriptedOrigin.Connection
    ) throws {
        try connection.startChunks(fields: fields)
        for start in stride(from: 0, to: body.count, by: 16_000) {
            try connection.sendChunk(body[start..<min(body.count, start + 16_000)])
        }
        try connection.endChunks()
    }

    private static func sendSlowly(
        _ body: [UInt8], _ fields: HTTPFields, _ connection: ScriptedOrigin.Connection, _ desk: Desk
    ) throws {
        var fields = fields
        fields[.contentLength] = String(body.count)
        try connection.sendHead(fields: fields)
        let step = body.count / 6 + 1
        for start in stride(from: 0, to: body.count, by: step) {
            try desk.pause(30)
            try connection.send(body[start..<min(body.count, start + step)])
        }
    }

    /// Sends field lines until the client hangs up.
    private static func sendEndlessHead(_ connection: ScriptedOrigin.Connection) throws {
        try connection.send("HTTP/1.1 200 OK\r\n")
        let line = "X-More: " + String(repeating: "a", count: 1000) + "\r\n"
        while true { try connection.send(line) }
    }
}
