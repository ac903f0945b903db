import HTTPTypes
import Primitives
import TestSupport
import Testing

/// A client that listens to events, and reads them on its own thread. Each `data` is checked against openapi.yaml.
final class EventListener: Sendable {
    /// A received event.
    struct Told: Sendable {
        let id: String
        let type: String
        let data: JSON
        let arrival: ContinuousClock.Instant

        var key: String? { data["key"]?.stringValue }
    }

    private struct State {
        /// All received bytes.
        var text: [UInt8] = []
        var lastID: String?
        var heartbeats = 0
        var hasEnded = false
        /// Whether the last chunk has arrived.
        var isWhole = false
    }

    /// The head of the response.
    let head: HTTPReply
    private let connection: RawConnection
    private let state = Locked(State())
    private let recorder = Recorder<Told>()
    /// The deviations of events from openapi.yaml.
    private let violations = Recorder<String>()

    /// Begins to listen, and waits for the response and its first id.
    ///
    /// - Parameters:
    ///   - query: the filter, such as `type=download&key=a`.
    ///   - lastID: the last id that the client has seen; none by default.
    init(port: UInt16, _ query: String = "", after lastID: String? = nil, fields: HTTPFields = [:]) async throws {
        var asked = fields
        asked[HTTPField.Name("Last-Event-ID")!] = lastID
        let target = query.isEmpty ? "/events" : "/events?\(query)"
        let opened = try await blocking { [asked] in
            let connection = try RawConnection(port: port, limit: .seconds(60))
            try connection.sendRequest("GET", target, fields: asked)
            return (connection: connection, head: try connection.readHead())
        }
        connection = opened.connection
        head = opened.head
        guard head.status == 200 else { return }
        startThread { [self] in read() }
        try await poll("the first id") { self.lastID != nil }
    }

    /// All events so far.
    var events: [Told] { recorder.elements }
    /// The last received id, with or without an event.
    var lastID: String? { state.withLock(\.lastID) }
    var heartbeats: Int { state.withLock(\.heartbeats) }
    var hasEnded: Bool { state.withLock(\.hasEnded) }
    /// Whether the stream has ended with its last chunk, and not in the middle.
    var isWhole: Bool { state.withLock(\.isWhole) }
    /// All received bytes.
    var text: [UInt8] { state.withLock(\.text) }

    /// Leaves: ends the sending side of the connection, which tells the server that the client is gone. The thread
    /// still reads.
    func close() { connection.finishSending() }

    /// Waits for this number of events, and returns all events so far.
    @discardableResult
    func wait(for count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws -> [Told] {
        try await poll("\(count) events") { events.count >= count }
        judge(sourceLocation)
        return events
    }

    /// Waits for an event that matches, and returns the first match.
    @discardableResult
    func wait(
        _ what: String, sourceLocation: SourceLocation = #_sourceLocation, for isMeant: (Told) -> Bool
    ) async throws -> Told {
        try await poll(what) { events.contains(where: isMeant) }
        judge(sourceLocation)
        return try #require(events.first { isMeant($0) })
    }

    private func judge(_ sourceLocation: SourceLocation) {
        for violation in violations.elements {
            Issue.record("openapi.yaml: \(violation)", sourceLocation: sourceLocation)
        }
        violations.removeAll()
    }

    // MARK: - Reading

    private func read() {
        var rest: [UInt8] = []
        while let chunk = try? nextChunk(), !chunk.isEmpty {
            let now = ContinuousClock.now
            state.withLock { $0.text += chunk }
            rest += chunk
            while let end = rest.indices.dropLast().first(where: { rest[$0] == 0x0a && rest[$0 + 1] == 0x0a }) {
                note(String(decoding: rest[..<end], as: UTF8.self), at: now)
                rest.removeFirst(end + 2)
            }
        }
        state.withLock { $0.hasEnded = true }
    }

    /// The next chunk; empty for the last chunk.
    private func nextChunk() throws -> [UInt8] {
        var line: [UInt8] = []
        while line.last != 0x0a { line += try connection.read(1) }
        guard let size = Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16) else { return [] }
        let bytes = try connection.read(size)
        _ = try connection.read(2)
        if size == 0 { state.withLock { $0.isWhole = true } }
        return bytes
    }

    /// Records the event of a block of lines. An empty line ends each block in the stream.
    private func note(_ block: String, at now: ContinuousClock.Instant) {
        var values: [Substring: Substring] = [:]
        for line in block.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { values[parts[0]] = parts[1].drop { $0 == " " } }
        }
        state.withLock { state in
            // A line without a name before its colon is a comment, and the server sends comments as heartbeats.
            if values[""] != nil { state.heartbeats += 1 }
            if let id = values["id"] { state.lastID = String(id) }
        }
        guard let data = values["data"] else { return }
        do {
            for violation in try Self.schema.get().violations(in: JSONValue(parsing: data.utf8)) {
                violations.append("\(violation) in \(data)")
            }
            recorder.append(
                Told(
                    id: String(values["id"] ?? ""), type: String(values["event"] ?? ""),
                    data: try JSON(parsing: String(data)), arrival: now))
        } catch {
            violations.append("\(error) in \(block)")
        }
    }

    private static let schema = Result<JSONSchema, any Error> {
        let document = try OpenAPIDocument.repository()
        return try JSONSchema(
            document.root["components"]?["schemas"]?["Event"] ?? .bool(false), in: document.root)
    }
}

extension TestServer {
    /// Begins to listen; see ``EventListener``.
    func listen(
        _ query: String = "", after lastID: String? = nil, fields: HTTPFields = [:]
    ) async throws -> EventListener {
        try await EventListener(port: api.port, query, after: lastID, fields: fields)
    }
}
