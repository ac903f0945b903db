/// The role of a worker.
struct SoakRole: Sendable {
    let number: Int
    /// The number of names of each kind.
    let count: Int
    /// Whether all entries of the worker are pinned. A pinned entry must not be lost.
    var isPinned = false
    /// Whether the worker sends and reads as slowly as the server permits.
    var isSlow = false
    /// The worker's own namespace; `nil` for the default namespace, which the other workers share.
    var namespace: String?

    /// The prefix of the worker's own keys. Workers in two namespaces use the same keys, which must not be confused.
    var keyPrefix: String { namespace == nil ? "w\(number)-" : "shared-" }

    /// The roles of all workers.
    static let all: [SoakRole] =
        [SoakRole(number: 0, count: 15, isPinned: true)]
        + (1...4).map { SoakRole(number: $0, count: 60) }
        + (5...6).map { SoakRole(number: $0, count: 10, isSlow: true) }
        + [
            SoakRole(number: 7, count: 8, isPinned: true, namespace: "soak-7"),
            SoakRole(number: 8, count: 30, namespace: "soak-8"),
        ]
}
