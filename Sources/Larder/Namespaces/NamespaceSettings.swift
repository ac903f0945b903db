import DiskCache

/// What was chosen of a namespace; `nil`: what the server does by itself.
public struct NamespaceSettings: Hashable, Sendable {
    /// The version of the caller's data model. When it changes, the namespace is begun anew, empty.
    public var version: String?
    /// How long an entry stays fresh when neither the caller nor the origin says; `nil`: `--default-ttl`.
    public var defaultTTL: Duration?
    /// Bytes that entries may take on disk; `nil`: a tenth of `--disk-limit`. Always `nil` in the default namespace,
    /// which has what the others leave.
    public var diskLimit: Int64?
    /// Bytes that the memory tier may hold; `nil`: a tenth of `--memory-limit`. As ``diskLimit`` in the default one.
    public var memoryLimit: Int64?
    /// How bodies are kept; `nil`: `--layout`.
    public var layout: Layout?
    /// The only origins that are asked, of those that the server may ask; `nil`: all of them.
    public var origins: OriginRules?

    /// For how long caches in front of the server may hand out a body; `nil`: ``ContentCaching/revalidate``.
    public var contentCaching: ContentCaching?

    /// Nothing was chosen.
    public init() {}

    /// The longest version, in bytes.
    public static let versionLimit = 255
}

/// What is to become of a namespace's settings: what is `nil` stays, what is `.some(nil)` goes back to the server's.
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

    /// Nothing changes.
    public init() {}

    /// Who may make this change.
    ///
    /// - Parameter old: the settings that there are; `nil`: the namespace is to be made.
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

    /// What the settings become.
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
