import Larder
import MicroHTTPD
import Synchronization

/// What a client that waits has done.
private final class Departure: Sendable {
    let hasLeft = Atomic<Bool>(false)
}

extension Call {
    /// Answers with what may look at many entries, when it is its turn; not for a client that has left by then. Throws
    /// 503 when too many wait in the namespace.
    func respondInTurn(_ answer: @escaping @Sendable () throws(Problem) -> Response) throws(Problem) {
        let departure = Departure()
        exchange.onHangUp { departure.hasLeft.store(true, ordering: .relaxed) }
        let isInLine = context.namespace.listings.enter {
            if departure.hasLeft.load(ordering: .relaxed) { return }
            respond(Result(catching: answer))
        }
        if !isInLine {
            throw Problem(status: 503, detail: "\(ListingLine.limit) listings wait already; ask again later")
        }
    }
}
