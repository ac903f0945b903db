import Primitives

/// The kinds of requests whose answers cannot be shared, as far as known. Such requests must not queue behind each
/// other.
struct SharingHints {
    /// The time for which requests of a kind do not wait for each other after an answer could not be shared.
    static let time = Duration.seconds(10)
    /// The greatest number of kinds in each shard of a gateway's hints.
    private static let limit = 1000

    /// The time until which a kind counts as unshareable.
    private var unshared: [Int: Timestamp] = [:]

    /// Whether requests of a kind may wait for each other.
    func isShareable(_ kind: Int, now: Timestamp) -> Bool {
        unshared[kind].map { $0 <= now } ?? true
    }

    /// Remembers for a while whether the last answer to a request of the kind could be shared.
    mutating func note(_ kind: Int, isShareable: Bool, now: Timestamp) {
        if isShareable {
            unshared[kind] = nil
            return
        }
        if unshared.count >= Self.limit { unshared = unshared.filter { $0.value > now } }
        if unshared.count >= Self.limit { unshared = [:] }
        unshared[kind] = now + Self.time
    }
}
