import Primitives

/// The counts of requests, hits and errors.
final class SoakTally: Sendable {
    struct Figures: Sendable {
        var requests = 0
        /// Responses from the cache.
        var hits = 0
        /// The number of responses for each error status, and of other notable events for each kind.
        var errors: [String: Int] = [:]
    }

    private let counted = Locked(Figures())

    var figures: Figures { counted.withLock { $0 } }

    /// Counts the response to a request.
    func answered(_ status: Int) {
        counted.withLock { figures in
            figures.requests += 1
            // A 404 is no error, because an entry may be missing.
            if status >= 400, status != 404 { figures.errors["\(status)", default: 0] += 1 }
        }
    }

    func hit() { counted.withLock { $0.hits += 1 } }

    /// Counts a call without a response, or another notable event, under its kind.
    func count(_ kind: String) { counted.withLock { $0.errors[kind, default: 0] += 1 } }
}
