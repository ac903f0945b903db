import HTTPTypes
import Primitives
import TestSupport

extension HTTPFields {
    /// These fields with `others` added. A field of `others` replaces the field of the same name.
    func merging(_ others: HTTPFields) -> HTTPFields {
        var merged = self
        for field in others { merged[field.name] = field.value }
        return merged
    }
}

/// The connection of a worker. The client opens a new connection after every restart, and distinguishes failures due to
/// the end of the server process from other failures.
final class SoakClient {
    /// The outcome of one or more calls over the connection.
    enum Talk<Value> {
        case value(Value)
        /// The connection failed although the process runs on.
        case broken(String)
        /// The process was killed or is draining, or the run has ended.
        case gone
    }

    /// The fields of all requests.
    let fields: HTTPFields
    private let run: SoakRun
    private var connection: (connection: RawConnection, life: Int)?

    init(_ run: SoakRun, namespace: String? = nil) {
        self.run = run
        fields = SoakClient.fields(of: namespace)
    }

    deinit {
        connection?.connection.close()
    }

    /// Runs `body` with a connection to the running process.
    func talk<Value>(_ body: (RawConnection) throws -> Value) -> Talk<Value> {
        guard let life = run.server.awaitLife(until: run.ending) else { return .gone }
        do {
            return .value(try body(try connect(to: life)))
        } catch {
            hangUp()
            guard !life.isEnding else {
                run.tally.count("gone")
                return .gone
            }
            run.tally.count("broken")
            return .broken("\(error)")
        }
    }

    /// The field that selects a namespace; no field for `nil`.
    static func fields(of namespace: String?) -> HTTPFields {
        guard let namespace else { return [:] }
        return [HTTPField.Name("Larder-Namespace")!: namespace]
    }

    /// Sends a request and reads the response.
    func ask(
        _ method: String, _ target: String, fields: HTTPFields = [:], body: [UInt8] = []
    ) -> Talk<HTTPReply> {
        let fields = self.fields.merging(fields)
        let talk = talk { connection in
            try connection.sendRequest(method, target, fields: fields, body: body)
            return try connection.readReply(to: method)
        }
        if case .value(let reply) = talk { note(reply) }
        return talk
    }

    /// Sends a request with a JSON body, and reads the response.
    func ask(_ method: String, _ target: String, fields: HTTPFields = [:], json: JSON) -> Talk<HTTPReply> {
        var fields = fields
        fields[.contentType] = "application/json"
        return ask(method, target, fields: fields, body: json.utf8)
    }

    /// Counts a response that the body of ``talk(_:)`` has read. Closes the connection if the response says `close`.
    func note(_ reply: HTTPReply) {
        run.tally.answered(reply.status)
        if reply.fields[.connection]?.lowercased() == "close" { hangUp() }
    }

    /// Closes the connection. The next call opens another connection.
    func hangUp(byReset: Bool = false) {
        if byReset { connection?.connection.reset() } else { connection?.connection.close() }
        connection = nil
    }

    private func connect(to life: SoakServer.Life) throws -> RawConnection {
        if let connection, connection.life == life.number { return connection.connection }
        hangUp()
        let new = try RawConnection(port: life.process.port, limit: .seconds(60))
        connection = (new, life.number)
        return new
    }
}
