import Primitives

/// Caches the ``Freshness`` of a stored response, shared by all copies of the response. A memo never makes two
/// responses differ: all memos are equal.
///
/// ``StoredResponse`` replaces its memo whenever a property changes that the freshness depends on.
struct FreshnessMemo: Hashable, Sendable {
    private final class Known: Sendable {
        let freshness: Locked<Freshness?>

        init(_ freshness: Freshness?) {
            self.freshness = Locked(freshness)
        }
    }

    private let known: Known

    /// Creates a memo with a known freshness; `nil` when the freshness is not known yet.
    init(_ freshness: Freshness? = nil) {
        known = Known(freshness)
    }

    /// Returns the cached freshness, or calls `make` and caches its result.
    func freshness(_ make: () -> Freshness) -> Freshness {
        if let freshness = known.freshness.withLock({ $0 }) { return freshness }
        let freshness = make()
        known.freshness.withLock { $0 = freshness }
        return freshness
    }

    static func == (_: Self, _: Self) -> Bool { true }

    func hash(into _: inout Hasher) {}
}
