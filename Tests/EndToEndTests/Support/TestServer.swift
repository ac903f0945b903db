import Foundation
import HTTPTypes
import Larder
import LarderAPI
import Logging
import Origin
import Primitives
import TestSupport
import Testing

/// A whole Larder server inside the test's process, with real sockets, real files, and a clock that the test sets.
final class TestServer: Sendable {
    let clock: ManualClock
    let service: LarderService
    let api: APIServer
    let client: CheckedClient
    let directory: TemporaryDirectory

    /// Starts a server over `directory`, or over a new directory if `directory` is `nil`. Origins on loopback are
    /// allowed unless `configure` forbids them. Unlike the executable, the server runs no periodic upkeep.
    init(
        clock: ManualClock = ManualClock(), directory: TemporaryDirectory? = nil, authority: String? = nil,
        tokens: TokenStore? = nil, eventLimits: EventHub.Limits = EventHub.Limits(), log: ServerLog? = nil,
        configure: (inout Configuration) -> Void = { _ in }
    ) throws {
        self.clock = clock
        self.directory = try directory ?? TemporaryDirectory()
        var configuration = Configuration()
        configuration.port = 0
        configuration.directory = self.directory.path("cache")
        configuration.stateDirectory = self.directory.path("state")
        configuration.layout = .hashed
        configuration.allowedOrigins = [try AddressRule("127.0.0.0/8"), try AddressRule("localhost")]
        configuration.originAuthority = authority
        configure(&configuration)
        let logger = log?.logger ?? Self.silentLogger
        // Origins hold their answers until a test opens a gate, which takes long on a busy machine.
        service = try LarderService(
            configuration: configuration, clock: clock, logger: logger, eventLimits: eventLimits,
            originSilenceLimit: .seconds(300))
        api = APIServer(service: service, tokens: tokens, logger: logger)
        try api.start()
        try api.startAdmin()
        client = CheckedClient(port: api.port)
    }

    private static var silentLogger: Logger {
        var logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        logger.logLevel = .critical
        return logger
    }

    /// The default namespace.
    var space: Namespace { service.namespaces.default }

    /// Stops the server completely, so that another server can open the directory.
    func stop() async throws {
        await api.stop(deadline: .seconds(5))
        try await blocking { [service] in service.close() }
    }

    /// `POST /download` with a JSON body.
    func download(_ json: JSON, sourceLocation: SourceLocation = #_sourceLocation) async throws -> HTTPReply {
        try await client.request(
            "POST", "/download", fields: [.contentType: "application/json"], body: json.utf8,
            sourceLocation: sourceLocation)
    }

    /// `GET` of a path.
    func get(
        _ path: String, fields: HTTPFields = [:], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        try await client.request("GET", path, fields: fields, sourceLocation: sourceLocation)
    }

    /// `PUT /entries/:key/content`.
    @discardableResult
    func put(
        _ key: String, _ body: [UInt8], query: String = "", fields: HTTPFields = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        let path = "/entries/\(key.percentEncoded)/content" + (query.isEmpty ? "" : "?" + query)
        return try await client.request("PUT", path, fields: fields, body: body, sourceLocation: sourceLocation)
    }

    /// Runs `body` with a server, and stops the server afterwards, also when `body` throws.
    static func with<Result>(
        clock: ManualClock = ManualClock(), directory: TemporaryDirectory? = nil, authority: String? = nil,
        tokens: TokenStore? = nil, eventLimits: EventHub.Limits = EventHub.Limits(), log: ServerLog? = nil,
        configure: (inout Configuration) -> Void = { _ in }, _ body: (TestServer) async throws -> Result
    ) async throws -> Result {
        let server = try TestServer(
            clock: clock, directory: directory, authority: authority, tokens: tokens, eventLimits: eventLimits,
            log: log, configure: configure)
        do {
            let result = try await body(server)
            try await server.stop()
            return result
        } catch {
            try? await server.stop()
            throw error
        }
    }
}

extension HTTPReply {
    /// The body as JSON. Throws when the body is not JSON.
    var json: JSON {
        get throws { try JSON(parsing: body) }
    }

    /// The member at a path of names in the body's JSON object; `nil` when there is none.
    func member(_ path: String...) throws -> JSON? {
        var value: JSON? = try json
        for name in path { value = value?[name] }
        return value
    }
}

extension String {
    /// The text with every character percent-encoded that is not unreserved (RFC 3986 §2.3).
    var percentEncoded: String {
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        return unicodeScalars.map { scalar in
            scalar.isASCII && allowed.contains(scalar)
                ? String(scalar) : String(scalar).utf8.map { String(format: "%%%02X", $0) }.joined()
        }.joined()
    }
}

extension JSON {
    /// The instant of an RFC 3339 string of the API; `nil` for any other value.
    var date: Timestamp? {
        guard let text = stringValue else { return nil }
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        return formatter.date(from: text).map {
            Timestamp(milliseconds: Int64(($0.timeIntervalSince1970 * 1000).rounded()))
        }
    }
}
