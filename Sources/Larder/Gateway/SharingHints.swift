import Primitives

/// The kinds of requests whose answers cannot be shared or kept, as far as known. Such requests must not queue behind
/// each other.
struct SharingHints {
    /// The time for which an answer counts for the next requests of its kind.
    static let time = Duration.seconds(10)
    /// The greatest number of kinds in each shard of a gateway's hints.
    private static let limit = 1000

    private struct Hint {
        let isKept: Bool
        let end: Timestamp
    }

    /// The kinds of requests with an unshareable last answer.
    private var unshared: [Int: Hint] = [:]

    /// Whether requests of a kind may wait for each other.
    func isShareable(_ kind: Int, now: Timestamp) -> Bool {
        unshared[kind].map { $0.end <= now } ?? true
    }

    /// Whether the answer to a request of a kind may be kept.
    func isKeepExpected(_ kind: Int, now: Timestamp) -> Bool {
        unshared[kind].map { $0.isKept || $0.end <= now } ?? true
    }

    /// Remembers for a while whether the last answer to a request of the kind could be shared and kept.
    mutating func note(_ kind: Int, isShareable: Bool, isKept: Bool, now: Timestamp) {
        if isShareable {
            unshared[kind] = nil
            return
        }
        if unshared.count >= Self.limit { unshared = unshared.filter { $0.value.end > now } }
        if unshared.count >= Self.limit { unshared = [:] }
        unshared[kind] = Hint(isKept: isKept, end: now + Self.time)
    }
}
