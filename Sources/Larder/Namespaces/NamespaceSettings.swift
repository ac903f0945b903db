import DiskCache

/// The settings of a namespace; `nil` stands for the server's default.
public struct NamespaceSettings: Hashable, Sendable {
    /// The version of the caller's data model. A changed version begins the namespace anew, without entries.
    public var version: String?
    /// The ttl of an entry when neither the caller nor the origin states a ttl; `nil`: `--default-ttl`.
    public var defaultTTL: Duration?
    /// The most bytes of entries on disk; `nil`: a tenth of `--disk-limit`. Always `nil` in the default namespace,
    /// which has the bytes that the others leave.
    public var diskLimit: Int64?
    /// The most bytes in the memory tier; `nil`: a tenth of `--memory-limit`. Always `nil` in the default namespace, as
    /// with ``diskLimit``.
    public var memoryLimit: Int64?
    /// The layout of the bodies on disk; `nil`: `--layout`.
    public var layout: Layout?
    /// The only origins that the namespace may contact, if the server permits them, too; `nil`: all that it permits.
    public var origins: OriginRules?

    /// The time for which caches in front of the server may reuse a body; `nil`: ``ContentCaching/revalidate``.
    public var contentCaching: ContentCaching?

    /// Creates settings with all defaults.
    public init() {}

    /// The longest version, in bytes.
    public static let versionLimit = 255
}

/// A change of a namespace's settings. `nil` keeps a setting, and `.some(nil)` resets it to the server's default.
public struct NamespaceChange: Hashable, Sendable {
    /// See ``NamespaceSettings/version``.
    public var version: String??
    /// See ``NamespaceSettings/defaultTTL``.
    public var defaultTTL: Duration??
    /// See ``NamespaceSettings/diskLimit``.
    public var diskLimit: Int64??
    /// See ``NamespaceSettings/memoryLimit``.
    public var memoryLimit: Int64??
    /// See ``NamespaceSettings/layout``.
    public var layout: Layout??
    /// See ``NamespaceSettings/origins``.
    public var origins: OriginRules??
    /// See ``NamespaceSettings/contentCaching``.
    public var contentCaching: ContentCaching??

    /// Creates a change without an effect.
    public init() {}

    /// Returns the authority that a caller needs for this change.
    ///
    /// - Parameter old: the current settings; `nil` when the namespace is to be created.
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

    /// Returns the settings after this change.
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
