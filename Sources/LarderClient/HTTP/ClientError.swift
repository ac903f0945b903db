import Origin

/// Why a call has no good end.
public enum ClientError: Error, Sendable, CustomStringConvertible {
    /// The server answered that it did not do it.
    case refused(ServerProblem)
    /// No answer came; in words.
    case unreachable(String)
    /// The answer broke off; in words.
    case broken(String)
    /// The answer is not what the API says; in words.
    case unexpected(String)
    /// The task that waited for it was cancelled.
    case cancelled

    /// A sentence for the caller.
    public var description: String {
        switch self {
        case .refused(let problem): problem.detail
        case .unreachable(let words): words
        case .broken(let words): "the answer broke off: \(words)"
        case .unexpected(let words): "the server's answer cannot be understood: \(words)"
        case .cancelled: "cancelled"
        }
    }

    /// What the server said; `nil` when it said nothing.
    public var problem: ServerProblem? {
        if case .refused(let problem) = self { problem } else { nil }
    }

    /// What became of a transfer.
    init(_ error: OriginError, server: ServerAddress, hasAnswer: Bool) {
        switch error.kind {
        case .cancelled: self = .cancelled
        case .timedOut(let phase) where phase != .connecting:
            self = hasAnswer ? .broken("\(server) is silent") : .unreachable("\(server) does not answer")
        default: self = hasAnswer ? .broken(error.message) : .unreachable("\(server): \(error.message)")
        }
    }
}
