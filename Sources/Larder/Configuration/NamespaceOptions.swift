import Origin
import Primitives
import Synchronization

/// The settings of a namespace for its downloads, its gateway and its answers. They may change at any time.
package final class NamespaceOptions: Sendable {
    private struct State {
        var settings: NamespaceSettings
        /// `nil` unless the permitted origins are narrower than the server's own policy.
        var policy: AddressPolicy?
    }

    private let serverTTL: Duration
    private let serverPolicy: AddressPolicy
    private let state: Locked<State>
    /// An atomic copy beside `state`, because every answer with a body reads it, unless the answer is ready in memory.
    private let isCachedUntilExpiry: Atomic<Bool>

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

    var settings: NamespaceSettings {
        get { state.withLock(\.settings) }
        set {
            let policy = newValue.origins.map { serverPolicy.narrowed(to: $0.rules) }
            state.withLock { $0 = State(settings: newValue, policy: policy) }
            isCachedUntilExpiry.store(newValue.contentCaching == .untilExpiry, ordering: .releasing)
        }
    }

    package var defaultTTL: Duration { state.withLock(\.settings.defaultTTL) ?? serverTTL }

    /// Reading it takes no lock.
    package var contentCaching: ContentCaching {
        isCachedUntilExpiry.load(ordering: .acquiring) ? .untilExpiry : .revalidate
    }

    /// `nil`: all origins that the server permits.
    var addressPolicy: AddressPolicy? { state.withLock(\.policy) }
}
