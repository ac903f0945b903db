import HTTPTypes
import Origin
import Primitives

package struct ServerEvent: Sendable {
    /// `download.started`, `entry.stored`, `reset`, …
    package let type: String
    package let data: JSON
    package var json: JSON { ["id": .string(id), "event": .string(type), "data": data] }

    private let id: String

    init(_ event: EventStreamParser.Event) throws {
        type = event.type
        id = event.id
        data = try Result { () throws(JSON.SyntaxError) in try JSON(parsing: event.data) }
            .mapError { ClientError.unexpected("an event's data are not JSON: \($0)") }.get()
    }
}

/// Follows `GET /events`. When the connection is lost, reconnects and continues after the last event.
package struct EventWatch: Sendable {
    /// The types to receive, or their beginnings, such as `download`; empty: all.
    package var types: [String] = []
    /// `*` for all namespaces that the token covers; `nil`: the namespace of the client's configuration.
    package var namespace: String?
    package var key: String?
    package var tag: String?
    /// The wait before a reconnection, when the server has stated none.
    var delays = RetryPolicy(maximumTries: .max, baseDelay: .seconds(1), maximumDelay: .seconds(15))

    package init() {}

    /// Runs until the task is cancelled. `onPause` gets the error of a lost connection and the wait before the next
    /// attempt. Throws errors of `onEvent`, and ``ClientError`` if the first connection fails or a retry is useless.
    package func run(
        on client: APIClient, onEvent: (ServerEvent) throws -> Void, onPause: (ClientError, Duration) -> Void
    ) async throws {
        var lastEventID = ""
        var failures = 0
        var hasConnected = false
        while true {
            var retry: Duration?
            let loss: ClientError
            do {
                try await client.withResponse(to: call(lastEventID)) { response in
                    try await response.checkStatus()
                    hasConnected = true
                    failures = 0
                    var parser = EventStreamParser()
                    while let piece = try await response.nextPiece() {
                        for event in parser.consume(piece) { try onEvent(ServerEvent(event)) }
                        if !parser.lastEventID.isEmpty { lastEventID = parser.lastEventID }
                        retry = parser.retry
                        try response.check(pendingBytes: parser.pendingBytes)
                    }
                }
                loss = .broken("the server closed the connection")
            } catch let error as ClientError where hasConnected && error.mayBeOver {
                loss = error
            }
            failures += 1
            let delay = retry ?? delays.delay(afterFailures: failures) ?? .zero
            onPause(loss, delay)
            try await Task.sleep(for: delay)
        }
    }

    private func call(_ lastEventID: String) -> APICall {
        var query: APICall.Query = [("namespace", namespace), ("key", key), ("tag", tag)]
        for type in types { query.append(("type", type)) }
        var fields: HTTPFields = [.accept: "text/event-stream"]
        if !lastEventID.isEmpty { fields[Self.lastEventID] = lastEventID }
        return APICall(["events"], query: query, fields: fields)
    }

    private static let lastEventID = HTTPField.Name("Last-Event-ID")!
}

extension ClientError {
    /// Whether the same call may succeed a little later: a proxy answers 502 or 504 while the server starts.
    fileprivate var mayBeOver: Bool {
        switch self {
        case .unreachable, .broken: true
        case .refused(let problem): [429, 502, 503, 504].contains(problem.status)
        case .unexpected, .cancelled: false
        }
    }
}
