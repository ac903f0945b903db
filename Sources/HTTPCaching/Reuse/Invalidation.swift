import HTTPTypes

/// Invalidation of stored responses by a request that may have changed a resource (RFC 9111 §4.4).
package enum Invalidation {
    /// The safe methods of RFC 9110 §9.2.1 and of IANA's registry of methods. Any other method may change its target.
    fileprivate static let safeMethods: Set<String> = [
        "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY",
    ]

    /// Returns the URLs under which stored responses must be validated before reuse: `url`, unchanged, and the URLs of
    /// the same origin in Location and Content-Location (scheme and host in lower case, no default port or fragment,
    /// dot segments resolved only in relative references). Empty for a safe method and for an error answer.
    package static func urls(method: HTTPRequest.Method, url: String, answer: OriginAnswer) -> [String] {
        guard !safeMethods.contains(method.rawValue), (200..<400).contains(answer.status) else { return [] }
        var urls = [url]
        guard let target = TargetURI(url) else { return urls }
        for name in [HTTPField.Name.location, .contentLocation] {
            for reference in answer.fields[values: name] {
                guard let other = target.resolve(reference), other.origin == target.origin else { continue }
                if other.text != target.text, !urls.contains(other.text) { urls.append(other.text) }
            }
        }
        return urls
    }
}

/// The groups that an answer belongs to or invalidates (RFC 9875). Callers must compare the origins (§2.1).
package struct CacheGroups: Hashable, Sendable {
    /// The most groups of an answer; RFC 9875 §2 and §3 ask for at least 32. Further groups are ignored.
    package static let maximumCount = 128
    /// The longest name in bytes; RFC 9875 §2 and §3 ask for at least 32 characters. Longer names are ignored.
    package static let maximumLength = 256
    /// Without repetitions, in their order. Empty when the field is absent or is not a list of strings.
    package let names: [String]

    /// `Cache-Groups` (RFC 9875 §2).
    package init(_ fields: HTTPFields) {
        self.init(fields, name: .cacheGroups)
    }

    /// `Cache-Group-Invalidation` (RFC 9875 §3): a response in any of these groups is invalid. Empty for a safe method.
    package init(invalidatedBy fields: HTTPFields, method: HTTPRequest.Method) {
        self.init(Invalidation.safeMethods.contains(method.rawValue) ? [:] : fields, name: .cacheGroupInvalidation)
    }

    private init(_ fields: HTTPFields, name: HTTPField.Name) {
        var seen: Set<String> = []
        let names = (StructuredField.strings(fields, name: name) ?? []).filter { name in
            (1...Self.maximumLength).contains(name.utf8.count) && seen.insert(name).inserted
        }
        self.names = Array(names.prefix(Self.maximumCount))
    }
}

extension HTTPField.Name {
    package static let cacheGroups = Self("Cache-Groups")!
    package static let cacheGroupInvalidation = Self("Cache-Group-Invalidation")!
}
