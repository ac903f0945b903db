import HTTPTypes
import Primitives

/// What a server says about a call that it did not do (RFC 9457), or about one download of a batch.
public struct ServerProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The HTTP status.
    public let status: Int
    /// What went wrong and what to do about it.
    public let detail: String
    /// The field that is to blame, as a JSON Pointer; `nil` when none is.
    public let pointer: String?
    /// After which time to ask again; `nil` when the server does not say.
    public let retryAfter: Duration?
    /// Whether it has no word of Larder's in it: somebody else answered, a proxy perhaps.
    public let isForeign: Bool
    /// The problem as it came.
    public let json: JSON

    /// ``detail``.
    public var description: String { detail }

    /// A problem within an answer; `nil` when it is none.
    init?(_ json: JSON, retryAfter: Duration? = nil) {
        guard let status = json["status"]?.integerValue, let detail = json["detail"]?.stringValue else { return nil }
        self.status = Int(status)
        self.detail = detail
        pointer = json["pointer"]?.stringValue
        self.retryAfter = retryAfter
        isForeign = false
        self.json = json
    }

    /// An answer with a status that is no success.
    init(status: Int, fields: HTTPFields, body: [UInt8]) {
        let seconds = fields[.retryAfter].flatMap { Int64($0) }.map { min(max($0, 0), 86_400) }
        let wait = seconds.map { Duration.seconds($0) }
        if let json = try? JSON(parsing: body), let problem = ServerProblem(json, retryAfter: wait) {
            self = problem
            return
        }
        self.status = status
        detail = "status \(status) without a word of Larder's: does LARDER_SERVER lead to it?"
        pointer = nil
        retryAfter = wait
        isForeign = true
        json = ["status": .number(status), "detail": .string(detail)]
    }
}
