/// What one worker is to be.
struct SoakRole: Sendable {
    let number: Int
    /// How many names of each kind it has.
    let count: Int
    /// Whether all that it stores is pinned: then nothing of it may be lost.
    var isPinned = false
    /// Whether it sends and reads as slowly as one may.
    var isSlow = false
    /// The namespace that it has for itself; `nil`: the default one, with all others.
    var namespace: String?

    /// What its own keys begin with. In two namespaces the same ones are in use, and have to be told apart.
    var keyPrefix: String { namespace == nil ? "w\(number)-" : "shared-" }

    /// All of them.
    static let all: [SoakRole] =
        [SoakRole(number: 0, count: 15, isPinned: true)]
        + (1...4).map { SoakRole(number: $0, count: 60) }
        + (5...6).map { SoakRole(number: $0, count: 10, isSlow: true) }
        + [
            SoakRole(number: 7, count: 8, isPinned: true, namespace: "soak-7"),
            SoakRole(number: 8, count: 30, namespace: "soak-8"),
        ]
}
