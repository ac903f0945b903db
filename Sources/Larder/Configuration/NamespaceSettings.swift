import DiskCache

/// The settings of a namespace; `nil` stands for the server's default.
package struct NamespaceSettings: Hashable, Sendable {
    /// The version of the caller's data model. A changed version begins the namespace anew, without entries.
    package var version: String?
    /// The ttl of an entry when neither the caller nor the origin states a ttl; `nil`: `--default-ttl`.
    package var defaultTTL: Duration?
    /// The most bytes of entries on disk; `nil`: a tenth of `--disk-limit`. Always `nil` in the default namespace,
    /// which has the bytes that the others leave.
    package var diskLimit: Int64?
    /// The most bytes in the memory tier; `nil`: a tenth of `--memory-limit`. Always `nil` in the default namespace, as
    /// with ``diskLimit``.
    package var memoryLimit: Int64?
    /// The layout of the bodies on disk; `nil`: `--layout`.
    package var layout: Layout?
    /// The only origins that the namespace may contact, if the server permits them, too; `nil`: all that it permits.
    package var origins: OriginRules?

    /// The time for which caches in front of the server may reuse a body; `nil`: ``ContentCaching/revalidate``.
    package var contentCaching: ContentCaching?

    /// Creates settings with all defaults.
    package init() {}

    /// The longest version, in bytes.
    package static let versionLimit = 255
}

/// A change of a namespace's settings. `nil` keeps a setting, and `.some(nil)` resets it to the server's default.
package struct NamespaceChange: Hashable, Sendable {
    /// See ``NamespaceSettings/version``.
    package var version: String??
    /// See ``NamespaceSettings/defaultTTL``.
    package var defaultTTL: Duration??
    /// See ``NamespaceSettings/diskLimit``.
    package var diskLimit: Int64??
    /// See ``NamespaceSettings/memoryLimit``.
    package var memoryLimit: Int64??
    /// See ``NamespaceSettings/layout``.
    package var layout: Layout??
    /// See ``NamespaceSettings/origins``.
    package var origins: OriginRules??
    /// See ``NamespaceSettings/contentCaching``.
    package var contentCaching: ContentCaching??

    /// Creates a change without an effect.
    package init() {}

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
