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
    /// `nil`: a tenth of `--memory-limit`, or as with ``diskLimit`` in the default namespace.
    package var memoryLimit: Int64?
    /// `nil`: `--layout`.
    package var layout: Layout?
    /// The only origins that the namespace may contact, if the server permits them, too; `nil`: all that it permits.
    package var origins: OriginRules?
    /// `nil`: ``ContentCaching/revalidate``.
    package var contentCaching: ContentCaching?

    package init() {}

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
