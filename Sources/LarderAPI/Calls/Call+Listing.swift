import Larder
import MicroHTTPD
import Synchronization

private final class Departure: Sendable {
    let hasLeft = Atomic<Bool>(false)
}

extension Call {
    /// Answers when the call's turn in the line of listings comes, unless the client has left by then. Meant for
    /// answers that may look at many entries. Throws 503 if too many listings wait in the namespace.
    func respondInTurn(_ answer: @escaping @Sendable () throws(Problem) -> Response) throws(Problem) {
        let departure = Departure()
        exchange.onHangUp { departure.hasLeft.store(true, ordering: .relaxed) }
        let isInLine = context.namespace.listings.enter {
            if departure.hasLeft.load(ordering: .relaxed) { return }
            respond(Result(catching: answer))
        }
        if !isInLine {
            throw Problem(
                status: 503, detail: "\(ListingLine.limit) listings are waiting, which is the limit; retry later")
        }
    }
}
