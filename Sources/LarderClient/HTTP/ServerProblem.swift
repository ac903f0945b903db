import HTTPTypes
import Primitives

/// A server's report on a failed call (RFC 9457), or on a failed download of a batch.
package struct ServerProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package let status: Int
    package let detail: String
    /// The faulty field of the request, as a JSON Pointer; `nil`: none.
    package let pointer: String?
    /// The wait before the next attempt, at most a day; `nil` when the server states none.
    package let retryAfter: Duration?
    /// Whether the answer is not from Larder, but perhaps from a proxy.
    package let isForeign: Bool
    package let json: JSON

    package var description: String { detail }

    init?(_ json: JSON, retryAfter: Duration? = nil) {
        guard let status = json["status"]?.integerValue, let detail = json["detail"]?.stringValue else { return nil }
        self.status = Int(status)
        self.detail = detail
        pointer = json["pointer"]?.stringValue
        self.retryAfter = retryAfter
        isForeign = false
        self.json = json
    }

    init(status: Int, fields: HTTPFields, body: [UInt8]) {
        let seconds = fields[.retryAfter].flatMap { Int64($0) }.map { min(max($0, 0), 86_400) }
        let wait = seconds.map { Duration.seconds($0) }
        if let json = try? JSON(parsing: body), let problem = ServerProblem(json, retryAfter: wait) {
            self = problem
            return
        }
        self.status = status
        detail = "status \(status) without an explanation by Larder; check that LARDER_SERVER names a Larder server"
        pointer = nil
        retryAfter = wait
        isForeign = true
        json = ["status": .number(status), "detail": .string(detail)]
    }
}
