import Origin

package enum ClientError: Error, Sendable, CustomStringConvertible {
    case refused(ServerProblem)
    /// No answer came.
    case unreachable(String)
    /// The answer broke off.
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

    /// `hasAnswer`: after the head.
    init(_ error: OriginError, server: ServerAddress, hasAnswer: Bool) {
        switch error.kind {
        case .cancelled: self = .cancelled
        case .timedOut(let phase) where phase != .connecting:
            self = hasAnswer ? .broken("\(server) stopped sending") : .unreachable("\(server) does not answer")
        default: self = hasAnswer ? .broken(error.message) : .unreachable("\(server): \(error.message)")
        }
    }
}
