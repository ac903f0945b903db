import HTTPTypes

/// A small HTTP/1.1 client for tests of a server. Each request has its own connection, and no request runs on a task's
/// thread.
package struct HTTPClient: Sendable {
    /// The port of the server on loopback.
    package let port: UInt16
    /// The longest wait for a byte.
    package let limit: Duration

    /// A client of the server on `port`.
    package init(port: UInt16, limit: Duration = Gate.defaultLimit) {
        self.port = port
        self.limit = limit
    }

    /// Sends a request and reads the answer. Adds `Connection: close` unless `fields` has a `Connection`. Throws when
    /// there is no whole answer.
    package func request(
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

    /// Sends a request with a text as its body.
    package func request(
        _ method: String, _ target: String, fields: HTTPFields = [:], text: String
    ) async throws -> HTTPReply {
        try await request(method, target, fields: fields, body: Array(text.utf8))
    }

    /// Opens a connection, runs `body` with it on a thread of its own, and closes it afterwards. Throws any error of
    /// `body`.
    package func withConnection<Result: Sendable>(
        _ body: @escaping @Sendable (RawConnection) throws -> Result
    ) async throws -> Result {
        try await blocking { [self] in
            let connection = try RawConnection(port: port, limit: limit)
            defer { connection.close() }
            return try body(connection)
        }
    }
}
