import Primitives

/// Which requests have answers that cannot be shared, as far as is known: they must not queue behind each other.
struct SharingHints {
    /// How long requests do not wait for one another when the last such answer could not be shared.
    static let time = Duration.seconds(10)
    /// How many kinds of requests that is known of in each of a gateway's parts.
    private static let limit = 1000

    /// Until when it is believed of a kind.
    private var unshared: [Int: Timestamp] = [:]

    /// Whether requests of a kind may wait for each other.
    func isShareable(_ kind: Int, now: Timestamp) -> Bool {
        unshared[kind].map { $0 <= now } ?? true
    }

    /// Remembers for a while what the last answer to such a request showed.
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
