import HTTPTypes
import Primitives

/// A real server on 127.0.0.1 that answers every request as a script says, byte for byte if needed, and records the
/// requests.
///
///     let origin = try ScriptedOrigin { request, connection in
///         try connection.respond(fields: [.contentType: "text/plain"], body: "hello")
///     }
///     defer { origin.stop() }
///     origin.url("/a")  // http://127.0.0.1:40123/a
///
/// Connections are kept alive: when the script returns without closing the connection, the next request on it is
/// read. A script that throws closes the connection.
package final class ScriptedOrigin: Sendable {
    /// Answers one request; runs on the connection's thread and may block.
    package typealias Script = @Sendable (Request, Connection) throws -> Void

    /// A request that a client has sent.
    package struct Request: Sendable {
        /// The method.
        package let method: String
        /// The request target, as sent.
        package let target: String
        /// The HTTP version as sent, for example `HTTP/1.1`.
        package let version: String
        /// The valid field lines, in order.
        package let fields: HTTPFields
        /// Every line of the head, as sent: the request line, then the field lines.
        package let lines: [String]
        /// The body, without chunk framing.
        package let body: [UInt8]
        /// The number of the request's connection, from 0.
        package let connection: Int
        /// The number of earlier requests on any connection, since the last ``ScriptedOrigin/forgetRequests()``.
        package let index: Int

        /// The value of a field, with its lines joined by commas; `nil` when the request has no such field.
        package subscript(name: String) -> String? {
            HTTPField.Name(name).flatMap { fields[$0] }
        }
    }

    private let log = Recorder<Request>()
    private let counter = Counter("requests at the origin")
    private let listener: Listener

    /// Starts the server on a free port.
    ///
    /// - Parameters:
    ///   - address: the loopback address on which the server listens.
    ///   - accepting: runs on every new connection before the first read; empty by default.
    ///   - script: answers each request.
    ///
    /// Throws ``SystemError`` when it cannot listen.
    package init(
        address: String = "127.0.0.1", accepting: @escaping @Sendable (Connection) throws -> Void = { _ in },
        _ script: @escaping Script
    ) throws {
        let (log, counter) = (log, counter)
        listener = try Listener(address: address) { stream, number in
            let connection = Connection(stream: stream, number: number)
            try? accepting(connection)
            while !connection.isClosed, let request = try? connection.readRequest(index: 0) {
                let numbered = log.append { request.numbered($0) }
                counter.add()
                do {
                    try script(numbered, connection)
                } catch {
                    return
                }
                if request["Connection"]?.lowercased() == "close" { return }
            }
        }
    }

    deinit {
        listener.stop()
    }

    /// The port of the server.
    package var port: UInt16 { listener.port }

    /// An absolute URL of the server; `path` starts with a slash.
    package func url(_ path: String = "/", host: String = "127.0.0.1") -> String {
        "http://\(host):\(port)\(path)"
    }

    /// The requests received so far, in order of arrival.
    package var requests: [Request] { log.elements }

    /// The number of requests received so far.
    package var requestCount: Int { log.elements.count }

    /// The number of requests received with exactly this target.
    package func requestCount(of target: String) -> Int {
        log.elements.count { $0.target == target }
    }

    /// The number of connections accepted in all.
    package var connectionCount: Int { listener.acceptedCount }

    /// The number of connections that are open now.
    package var openConnectionCount: Int { listener.openCount }

    /// Waits until at least `count` requests have arrived. Throws ``Gate/TimedOut`` after `limit`.
    package func waitForRequests(_ count: Int, limit: Duration = Gate.defaultLimit) async throws {
        try await counter.wait(for: count, limit: limit)
    }

    /// Forgets the requests recorded so far. The count of ``waitForRequests(_:limit:)`` still includes them.
    package func forgetRequests() {
        log.removeAll()
    }

    /// Stops listening and ends every connection. Called by `deinit`, too.
    package func stop() {
        listener.stop()
    }

    /// Opens when the server stops. A script that waits for another event can wait for this gate, too.
    package var stopping: Gate { listener.stopping }
}

extension ScriptedOrigin.Request {
    fileprivate func numbered(_ index: Int) -> Self {
        Self(
            method: method, target: target, version: version, fields: fields, lines: lines, body: body,
            connection: connection, index: index)
    }
}
