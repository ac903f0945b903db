import HTTPTypes
import Primitives
import TestSupport

extension HTTPFields {
    /// These, where `others` does not have the same.
    func merging(_ others: HTTPFields) -> HTTPFields {
        var merged = self
        for field in others { merged[field.name] = field.value }
        return merged
    }
}

/// One worker's connection: it is made anew after every restart, and tells what ended with a process from what did not.
final class SoakClient {
    /// How a talk over the connection ended.
    enum Talk<Value> {
        case value(Value)
        /// The connection failed, and the process runs on.
        case broken(String)
        /// The process was killed or is draining, or the run has ended.
        case gone
    }

    /// What all its requests have.
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

    /// Runs `body` with a connection to the process that runs.
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

    /// What says which namespace is meant.
    static func fields(of namespace: String?) -> HTTPFields {
        guard let namespace else { return [:] }
        return [HTTPField.Name("Larder-Namespace")!: namespace]
    }

    /// Sends a request and reads the answer.
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

    /// The same with a body of JSON.
    func ask(_ method: String, _ target: String, fields: HTTPFields = [:], json: JSON) -> Talk<HTTPReply> {
        var fields = fields
        fields[.contentType] = "application/json"
        return ask(method, target, fields: fields, body: json.utf8)
    }

    /// Counts an answer that was read in a talk, and does what it says of the connection.
    func note(_ reply: HTTPReply) {
        run.tally.answered(reply.status)
        if reply.fields[.connection]?.lowercased() == "close" { hangUp() }
    }

    /// Closes the connection; the next talk makes another.
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
