import Primitives

/// Caches the ``Freshness`` of a stored response, for all its copies. All memos are equal, so that none makes two
/// responses differ. ``StoredResponse`` replaces its memo when a property changes that the freshness depends on.
struct FreshnessMemo: Hashable, Sendable {
    private final class Known: Sendable {
        let freshness: Locked<Freshness?>

        init(_ freshness: Freshness?) {
            self.freshness = Locked(freshness)
        }
    }

    private let known: Known

    init(_ freshness: Freshness? = nil) {
        known = Known(freshness)
    }

    func freshness(_ make: () -> Freshness) -> Freshness {
        if let freshness = known.freshness.withLock({ $0 }) { return freshness }
        let freshness = make()
        known.freshness.withLock { $0 = freshness }
        return freshness
    }

    static func == (_: Self, _: Self) -> Bool { true }

    func hash(into _: inout Hasher) {}
}
