import HTTPTypes
import Origin
import Primitives

package enum ClientError: Error, Sendable, CustomStringConvertible {
    case refused(ServerProblem)
    case unreachable(String)
    case broken(String)
    /// The answer does not follow the API.
    case unexpected(String)
    case cancelled

    package var description: String {
        switch self {
        case .refused(let problem): problem.detail
        case .unreachable(let words): words
        case .broken(let words): "the answer broke off: \(words)"
        case .unexpected(let words): "unexpected answer of the server: \(words)"
        case .cancelled: "cancelled"
        }
    }

    package var problem: ServerProblem? {
        if case .refused(let problem) = self { problem } else { nil }
    }

    /// `hasAnswer`: whether the head had arrived before the error.
    init(_ error: OriginError, server: ServerAddress, hasAnswer: Bool) {
        switch error.kind {
        case .cancelled: self = .cancelled
        case .timedOut(let phase) where phase != .connecting:
            self = hasAnswer ? .broken("\(server) stopped sending") : .unreachable("\(server) does not answer")
        default: self = hasAnswer ? .broken(error.message) : .unreachable("\(server): \(error.message)")
        }
    }
}

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

    init?(_ json: JSON, retryAfter: Duration? = nil, isForeign: Bool = false) {
        guard let status = json["status"]?.integerValue, let detail = json["detail"]?.stringValue else { return nil }
        self.status = Int(status)
        self.detail = detail
        pointer = json["pointer"]?.stringValue
        self.retryAfter = retryAfter
        self.isForeign = isForeign
        self.json = json
    }

    init(status: Int, fields: HTTPFields, body: [UInt8]) {
        let digits = fields[.retryAfter].flatMap { !$0.isEmpty && $0.utf8.allSatisfy(\.isDigit) ? $0 : nil }
        // A number that does not fit is a long wait, too (RFC 9110 §10.2.3).
        let wait = digits.map { Duration.seconds(min(Int64(digits: $0) ?? .max, 86_400)) }
        let own = (try? JSON(parsing: body)).flatMap { ServerProblem($0, retryAfter: wait) }
        let detail = "status \(status) without an explanation by Larder; check that LARDER_SERVER names a Larder server"
        let foreign: JSON = ["status": .number(status), "detail": .string(detail)]
        self = own ?? ServerProblem(foreign, retryAfter: wait, isForeign: true)!
    }
}
