import HTTPTypes

/// A small HTTP/1.1 client for tests of a server: one connection a request, off the threads of tasks.
public struct HTTPClient: Sendable {
    /// Where the server listens on loopback.
    public let port: UInt16
    /// How long it waits for a byte.
    public let limit: Duration

    /// A client of the server on `port`.
    public init(port: UInt16, limit: Duration = Gate.defaultLimit) {
        self.port = port
        self.limit = limit
    }

    /// Sends a request with `Connection: close` and reads the answer. Throws when there is none, or no whole one.
    public func request(
        _ method: String = "GET", _ target: String, fields: HTTPFields = [:], body: [UInt8] = []
    ) async throws -> HTTPReply {
        try await blocking { [self] in
            let connection = try RawConnection(port: port, limit: limit)
            var fields = fields
            if fields[.connection] == nil { fields[.connection] = "close" }
            try connection.sendRequest(method, target, fields: fields, body: body)
            return try connection.readReply(to: method)
        }
    }

    /// The same with a text as the body.
    public func request(
        _ method: String, _ target: String, fields: HTTPFields = [:], text: String
    ) async throws -> HTTPReply {
        try await request(method, target, fields: fields, body: Array(text.utf8))
    }

    /// Opens a connection and runs `body` with it on a thread of its own; closes it afterwards. Throws what `body`
    /// throws.
    public func withConnection<Result: Sendable>(
        _ body: @escaping @Sendable (RawConnection) throws -> Result
    ) async throws -> Result {
        try await blocking { [self] in
            let connection = try RawConnection(port: port, limit: limit)
            defer { connection.close() }
            return try body(connection)
        }
    }
}
