import Larder
import Logging
import MicroHTTPD

/// Logs one line for each change: the token, the operation and the number of changed items.
struct AuditLog: Sendable {
    private let logger: Logger
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

    /// Logs the key of the changed item, or the selection of the changed items. It must not contain a secret: a URL
    /// comes without its query. A text that contains a token is logged as `…`.
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
