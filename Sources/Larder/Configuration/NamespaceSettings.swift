import DiskCache
import Origin
import Primitives
import Synchronization

/// The settings of a namespace; `nil` stands for the server's default.
package struct NamespaceSettings: Hashable, Sendable {
    /// The version of the caller's data model. A change of the version removes all entries.
    package var version: String?
    /// The ttl of an entry when neither the caller nor the origin states a ttl; `nil`: `--default-ttl`.
    package var defaultTTL: Duration?
    /// The most bytes of entries on disk; `nil`: a tenth of `--disk-limit`. Always `nil` in the default namespace,
    /// which has the bytes that all other namespaces leave.
    package var diskLimit: Int64?
    /// The most bytes of entries in memory; `nil`: a tenth of `--memory-limit`. Always `nil` in the default namespace.
    package var memoryLimit: Int64?
    /// `nil`: `--layout`.
    package var layout: Layout?
    /// The only origins that the namespace may contact, if the server permits them, too; `nil`: all permitted origins.
    package var origins: OriginRules?
    /// `nil`: ``ContentCaching/revalidate``.
    package var contentCaching: ContentCaching?

    /// In bytes.
    package static let versionLimit = 255
}

/// A change of ``NamespaceSettings``. `nil` keeps a setting, and `.some(nil)` resets it to the server's default.
package struct NamespaceChange: Hashable, Sendable {
    package var version: String??
    package var defaultTTL: Duration??
    package var diskLimit: Int64??
    package var memoryLimit: Int64??
    package var layout: Layout??
    package var origins: OriginRules??
    package var contentCaching: ContentCaching??

    package init() {}

    /// The authority that a caller needs for this change. `old` is `nil` when the change creates the namespace.
    func authority(over old: NamespaceSettings?) -> NamespaceAuthority {
        guard let old else { return .operator }
        let new = applied(to: old)
        if (old.diskLimit, old.memoryLimit) != (new.diskLimit, new.memoryLimit) || old.origins != new.origins {
            return .operator
        }
        let isForOwner =
            (old.defaultTTL, old.layout, old.contentCaching) != (new.defaultTTL, new.layout, new.contentCaching)
        return isForOwner ? .owner : .purger
    }

    func applied(to old: NamespaceSettings) -> NamespaceSettings {
        var settings = old
        if let version { settings.version = version }
        if let defaultTTL { settings.defaultTTL = defaultTTL }
        if let diskLimit { settings.diskLimit = diskLimit }
        if let memoryLimit { settings.memoryLimit = memoryLimit }
        if let layout { settings.layout = layout }
        if let origins { settings.origins = origins }
        if let contentCaching { settings.contentCaching = contentCaching }
        return settings
    }
}

/// The changes of a namespace that a caller may make. A higher authority includes all lower authorities.
package enum NamespaceAuthority: Int, Comparable, Sendable {
    /// Change the version, which removes all entries of the namespace.
    case purger
    /// Change settings that affect no other namespace: default ttl, layout, and the caching of bodies.
    case owner
    /// Create and remove the namespace, and set its limits and its permitted origins.
    case `operator`

    package static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// The time for which a cache in front of the server, such as a browser's cache, may reuse a body from the server.
package enum ContentCaching: String, Hashable, Sendable, CaseIterable {
    /// Every reuse of a copy is revalidated by ETag (`Cache-Control: no-cache`, RFC 9111 §5.2.2.4). A purge, a new body
    /// and a changed ttl have an immediate effect.
    case revalidate
    /// The other cache uses its copy until the entry expires (`max-age`, RFC 9111 §5.2.2.1). It does not ask the server
    /// before, so a purge does not reach the copy. For a stale entry, the answer is as with ``revalidate``.
    case untilExpiry
}

/// The only origins that a namespace may contact, among the origins that the server permits.
package struct OriginRules: Hashable, Sendable {
    package static let limit = 100

    let rules: [AddressRule]

    /// Parses rules in the syntax of `--allow-origin`, such as `*.example.com:443` and `10.0.0.0/8`. An empty list
    /// permits no origin. Throws ``Malformed`` for the first invalid rule.
    package init(_ texts: [String]) throws(Malformed) {
        var rules: [AddressRule] = []
        for (index, text) in texts.enumerated() {
            do {
                rules.append(try AddressRule(text))
            } catch {
                throw Malformed(index: index, reason: error.description)
            }
        }
        self.rules = rules
    }

    /// The rules in their canonical spelling.
    package var texts: [String] { rules.map(\.description) }

    package struct Malformed: Error, Hashable {
        package let index: Int
        package let reason: String
    }
}

/// The settings of a namespace for its downloads, its gateway and its answers. They may change at any time.
package final class NamespaceOptions: Sendable {
    private let serverTTL: Duration
    private let serverPolicy: AddressPolicy
    private let state: Locked<NamespaceSettings>
    /// A copy of `contentCaching` that needs no lock, because every answer with a body reads it, except a ready answer.
    private let isCachedUntilExpiry: Atomic<Bool>

    init(
        _ settings: NamespaceSettings = NamespaceSettings(), serverTTL: Duration = Configuration().defaultTTL,
        serverPolicy: AddressPolicy = AddressPolicy()
    ) {
        self.serverTTL = serverTTL
        self.serverPolicy = serverPolicy
        isCachedUntilExpiry = Atomic(settings.contentCaching == .untilExpiry)
        state = Locked(settings)
    }

    var settings: NamespaceSettings {
        get { state.withLock(\.self) }
        set {
            state.withLock { $0 = newValue }
            isCachedUntilExpiry.store(newValue.contentCaching == .untilExpiry, ordering: .releasing)
        }
    }

    package var defaultTTL: Duration { state.withLock(\.defaultTTL) ?? serverTTL }

    /// Takes no lock.
    package var contentCaching: ContentCaching {
        isCachedUntilExpiry.load(ordering: .acquiring) ? .untilExpiry : .revalidate
    }

    /// `nil`: all origins that the server permits.
    var addressPolicy: AddressPolicy? { state.withLock(\.origins).map { serverPolicy.narrowed(to: $0.rules) } }
}
