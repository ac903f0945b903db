import HTTPTypes

/// What a request that may have changed something makes of what is stored (RFC 9111 §4.4).
public enum Invalidation {
    /// The methods that are known to be safe (RFC 9110 §9.2.1, and the registry of methods): any other may change what
    /// it is used on.
    public static let safeMethods: Set<String> = [
        "GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "QUERY",
    ]

    /// The URLs whose stored responses must be validated before they are used again: the target, and those that
    /// Location and Content-Location name when they are of the same origin. Empty for a safe method, and when the
    /// answer is an error.
    ///
    /// - Parameter url: the target, absolute. It comes back as it is; the others come with a scheme and a host in lower
    ///   case, without a default port and a fragment, their dot segments resolved only when they were relative.
    public static func urls(method: HTTPRequest.Method, url: String, answer: OriginAnswer) -> [String] {
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
