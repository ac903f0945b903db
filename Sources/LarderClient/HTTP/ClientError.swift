import Origin

/// The reason for the failure of a call.
package enum ClientError: Error, Sendable, CustomStringConvertible {
    /// The server refused the call or failed.
    case refused(ServerProblem)
    /// No answer came; the reason in words.
    case unreachable(String)
    /// The answer broke off; the reason in words.
    case broken(String)
    /// The answer does not follow the API; the reason in words.
    case unexpected(String)
    /// The calling task was cancelled.
    case cancelled

    /// A sentence for the user.
    package var description: String {
        switch self {
        case .refused(let problem): problem.detail
        case .unreachable(let words): words
        case .broken(let words): "the answer broke off: \(words)"
        case .unexpected(let words): "unexpected answer of the server: \(words)"
        case .cancelled: "cancelled"
        }
    }

    /// The server's problem; `nil` for errors without one.
    package var problem: ServerProblem? {
        if case .refused(let problem) = self { problem } else { nil }
    }

    /// The error for a failed transfer; `hasAnswer`: after the head.
    init(_ error: OriginError, server: ServerAddress, hasAnswer: Bool) {
        switch error.kind {
        case .cancelled: self = .cancelled
        case .timedOut(let phase) where phase != .connecting:
            self = hasAnswer ? .broken("\(server) stopped sending") : .unreachable("\(server) does not answer")
        default: self = hasAnswer ? .broken(error.message) : .unreachable("\(server): \(error.message)")
        }
    }
}
