import Larder
import Logging
import MicroHTTPD

/// One line for each change that somebody made: who, what, how many.
struct AuditLog: Sendable {
    private let logger: Logger
    /// The token's name; `nil` where none are asked for.
    private let bearer: String?
    private let request: Request
    private let operation: String
    private let namespace: String

    init(
        _ request: Request, operation: String, namespace: String, visitor: AccessGate.Visitor, logger: Logger
    ) {
        self.logger = logger
        self.operation = operation
        self.namespace = namespace
        bearer = visitor.bearer?.token.name
        self.request = request
    }

    /// Something was changed.
    ///
    /// - Parameters:
    ///   - what: the key, or what selects what was changed. Nothing of it may be a secret: a URL goes without its
    ///     query. A text with a token in it is not shown.
    ///   - count: how many entries, or others.
    func note(_ what: String, count: Int) {
        logger.notice(
            "change",
            metadata: [
                "operation": "\(operation)", "token": "\(bearer ?? "-")", "remote": "\(request.remoteAddress)",
                "namespace": "\(namespace)", "what": "\(TokenCredentials.areIn(what) ? "…" : what)",
                "count": .number(count),
            ])
    }
}
