import Primitives

/// What was asked and answered, counted.
final class SoakTally: Sendable {
    struct Figures: Sendable {
        var requests = 0
        /// Answers from the cache.
        var hits = 0
        /// Answers that were errors by their status, and what else did not end well, by kind.
        var errors: [String: Int] = [:]
    }

    private let counted = Locked(Figures())

    var figures: Figures { counted.withLock { $0 } }

    /// A request was answered.
    func answered(_ status: Int) {
        counted.withLock { figures in
            figures.requests += 1
            // Nothing held is no error of anybody.
            if status >= 400, status != 404 { figures.errors["\(status)", default: 0] += 1 }
        }
    }

    func hit() { counted.withLock { $0.hits += 1 } }

    /// Something ended without an answer.
    func count(_ kind: String) { counted.withLock { $0.errors[kind, default: 0] += 1 } }
}
