import HTTPTypes

/// The groups that an answer belongs to, or that it invalidates (RFC 9875).
///
/// Two answers share a group only when they have the same origin too (§2.1), which is for the caller to see to.
public struct CacheGroups: Hashable, Sendable {
    /// The most groups that count; §2 and §3 ask for 32. The rest of a longer list is ignored.
    public static let maximumCount = 128
    /// The most bytes that a group's name may have; §2 and §3 ask for 32 characters. A longer one is ignored.
    public static let maximumLength = 256

    /// The groups, each once, in their order; empty when the field is not there or is no list of strings.
    public let names: [String]

    /// The groups that an answer belongs to: `Cache-Groups` (§2).
    public init(_ fields: HTTPFields) {
        self.init(fields, name: .cacheGroups)
    }

    /// The groups that an answer invalidates: `Cache-Group-Invalidation` (§3). A safe method invalidates none.
    ///
    /// Invalidating a group does not invalidate the other groups of its members (§2.2.1).
    public init(invalidatedBy fields: HTTPFields, method: HTTPRequest.Method) {
        self.init(Self.safeMethods.contains(method) ? [:] : fields, name: .cacheGroupInvalidation)
    }

    private init(_ fields: HTTPFields, name: HTTPField.Name) {
        var seen: Set<String> = []
        let names = (StructuredField.strings(fields, name: name) ?? []).filter { name in
            (1...Self.maximumLength).contains(name.utf8.count) && seen.insert(name).inserted
        }
        self.names = Array(names.prefix(Self.maximumCount))
    }

    /// RFC 9110 §9.2.1.
    private static let safeMethods: Set<HTTPRequest.Method> = [.get, .head, .options, .trace]
}

extension HTTPField.Name {
    /// `Cache-Groups` (RFC 9875 §2).
    public static let cacheGroups = Self("Cache-Groups")!
    /// `Cache-Group-Invalidation` (RFC 9875 §3).
    public static let cacheGroupInvalidation = Self("Cache-Group-Invalidation")!
}
