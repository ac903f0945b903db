import HTTPTypes

/// Invalidation of stored responses by a request that may have changed a resource (RFC 9111 §4.4).
package enum Invalidation {
    /// RFC 9110 §9.2.1 and the registry of methods. Any other method may change its target.
    package static let safeMethods: Set<String> = [
        "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY",
    ]

    /// Stored responses under these URLs must be validated before reuse: the absolute target, unchanged, and the URLs
    /// in Location and Content-Location that have the same origin. Empty for a safe method and for an error answer. The
    /// other URLs have a scheme and a host in lower case and no default port or fragment. Their dot segments are
    /// resolved only when the reference had neither a scheme nor a host.
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
