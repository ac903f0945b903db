import Synchronization

/// Shared by all exchanges of a daemon.
final class ExchangeResources: Sendable {
    let bodyMemory: BodyMemory
    private let answerMemory: AnswerMemory
    let discardLimit: Int
    /// Whether every answer says that the connection closes after it.
    let isDraining = Atomic<Bool>(false)

    init(bodyMemory: Int, answerMemory: Int, discardLimit: Int) {
        self.bodyMemory = BodyMemory(limit: bodyMemory)
        self.answerMemory = AnswerMemory(limit: answerMemory)
        self.discardLimit = discardLimit
    }

    func prepare(_ response: Response, for request: Request, on connection: Connection) -> PreparedResponse {
        response.prepared(
            for: request, on: connection, memory: answerMemory, draining: isDraining.load(ordering: .relaxed))
    }
}
