import Origin
import Primitives
import Synchronization

/// What of a namespace's settings its downloads and its gateway go by. It may change while they work.
public final class NamespaceOptions: Sendable {
    private struct State {
        var settings: NamespaceSettings
        /// Where origins may be, when that is less than the server's own policy lets through.
        var policy: AddressPolicy?
    }

    private let serverTTL: Duration
    private let serverPolicy: AddressPolicy
    private let state: Locked<State>
    /// Beside `state`, because each answer past the memory tier asks for it.
    private let isCachedUntilExpiry: Atomic<Bool>

    /// What the server does by itself is what it does by default.
    init(
        _ settings: NamespaceSettings = NamespaceSettings(), serverTTL: Duration = Configuration().defaultTTL,
        serverPolicy: AddressPolicy = AddressPolicy()
    ) {
        self.serverTTL = serverTTL
        self.serverPolicy = serverPolicy
        isCachedUntilExpiry = Atomic(settings.contentCaching == .untilExpiry)
        state = Locked(
            State(settings: settings, policy: settings.origins.map { serverPolicy.narrowed(to: $0.rules) }))
    }

    /// What was chosen.
    var settings: NamespaceSettings {
        get { state.withLock(\.settings) }
        set {
            let policy = newValue.origins.map { serverPolicy.narrowed(to: $0.rules) }
            state.withLock { $0 = State(settings: newValue, policy: policy) }
            isCachedUntilExpiry.store(newValue.contentCaching == .untilExpiry, ordering: .releasing)
        }
    }

    /// How long an entry stays fresh when neither the caller nor the origin says.
    public var defaultTTL: Duration { state.withLock(\.settings.defaultTTL) ?? serverTTL }

    /// For how long caches in front of the server may hand out a body. It takes no lock.
    public var contentCaching: ContentCaching {
        isCachedUntilExpiry.load(ordering: .acquiring) ? .untilExpiry : .revalidate
    }

    /// Which origins may be asked; `nil`: those that the server may ask.
    var addressPolicy: AddressPolicy? { state.withLock(\.policy) }
}
