import Primitives

/// What was worked out of a stored response once, for its copies too. Whether it was makes no difference between two
/// responses.
///
/// Whoever changes what it was worked out of takes a new one.
struct FreshnessMemo: Hashable, Sendable {
    private final class Known: Sendable {
        let freshness: Locked<Freshness?>

        init(_ freshness: Freshness?) {
            self.freshness = Locked(freshness)
        }
    }

    private let known: Known

    /// Begins with what is known, if anything is.
    init(_ freshness: Freshness? = nil) {
        known = Known(freshness)
    }

    /// What is known, or what `make` says.
    func freshness(_ make: () -> Freshness) -> Freshness {
        if let freshness = known.freshness.withLock({ $0 }) { return freshness }
        let freshness = make()
        known.freshness.withLock { $0 = freshness }
        return freshness
    }

    static func == (_: Self, _: Self) -> Bool { true }

    func hash(into _: inout Hasher) {}
}
