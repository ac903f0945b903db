import HTTPTypes

/// The groups that an answer belongs to or invalidates (RFC 9875). The caller must check the origin, too (§2.1).
package struct CacheGroups: Hashable, Sendable {
    /// §2 and §3 ask for at least 32. Further groups are ignored.
    package static let maximumCount = 128
    /// In bytes; §2 and §3 ask for at least 32 characters. Longer names are ignored.
    package static let maximumLength = 256
    /// Without repetitions, in their order. Empty when the field is absent or is not a list of strings.
    package let names: [String]

    /// `Cache-Groups` (§2).
    package init(_ fields: HTTPFields) {
        self.init(fields, name: .cacheGroups)
    }

    /// `Cache-Group-Invalidation` (§3). Empty for a safe method. Other groups of the members stay valid (§2.2.1).
    package init(invalidatedBy fields: HTTPFields, method: HTTPRequest.Method) {
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
    package static let cacheGroups = Self("Cache-Groups")!
    package static let cacheGroupInvalidation = Self("Cache-Group-Invalidation")!
}
