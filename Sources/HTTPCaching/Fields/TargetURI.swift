import Primitives

/// An absolute http or https URI. References in the response are relative to this URI (RFC 3986 §5). Scheme and host
/// are in lower case, a default port and the fragment are dropped, and an empty path becomes `/`, because URIs that
/// differ only in these points are equivalent (RFC 9110 §4.2.3). Path and query stay unchanged.
struct TargetURI: Hashable {
    let scheme: String
    /// The host, with the port unless the port is the scheme's default.
    let authority: String
    private let path: String
    /// Begins with `?`; empty without a query.
    private let query: String
    /// Two URIs have the same origin when these texts are equal (RFC 9110 §4.3.1).
    var origin: String { scheme + "://" + authority }
    var text: String { origin + path + query }

    /// `nil` for a relative reference, another scheme, user information, a missing host, or two ports.
    init?(_ text: String) {
        let parts = Reference(text)
        guard let scheme = parts.scheme, let authority = parts.authority else { return nil }
        self.init(scheme: scheme, authority: authority, path: parts.path, query: parts.query)
    }

    /// Resolves a reference (RFC 3986 §5.2.2). `nil` when the result is not an http or https URI.
    func resolve(_ text: String) -> TargetURI? {
        let reference = Reference(String(text.trimmingSpace()))
        if let authority = reference.authority {
            return TargetURI(
                scheme: reference.scheme ?? scheme, authority: authority, path: reference.path, query: reference.query)
        }
        guard reference.scheme == nil else { return nil }
        var (newPath, newQuery) = (path, reference.query)
        if reference.path.isEmpty {
            if newQuery.isEmpty { newQuery = query }
        } else {
            let isAbsolute = reference.path.utf8.first == UInt8(ascii: "/")
            let directory = isAbsolute ? "" : path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? "/"
            newPath = URLPath.removeDotSegments(directory + reference.path)
        }
        return TargetURI(scheme: scheme, authority: authority, path: newPath, query: newQuery)
    }

    private init?(scheme: String, authority: String, path: String, query: String) {
        let defaults = ["http": ":80", "https": ":443"]
        let scheme = scheme.lowercased()
        guard let defaultPort = defaults[scheme], !authority.utf8.contains(UInt8(ascii: "@")) else { return nil }
        // At most one port may follow the host, which may be an address in brackets.
        let colons = authority.utf8.reversed().prefix { $0 != UInt8(ascii: "]") }.count { $0 == UInt8(ascii: ":") }
        guard colons < 2 else { return nil }
        var authority = authority.lowercased()
        if authority.hasSuffix(defaultPort) { authority.removeLast(defaultPort.count) }
        if authority.hasSuffix(":") { authority.removeLast() }
        guard !authority.isEmpty else { return nil }
        self.scheme = scheme
        self.authority = authority
        self.path = path.isEmpty ? "/" : path
        self.query = query
    }
}

/// The components of a URI or a relative reference, split as in RFC 3986 appendix B. The fragment is dropped.
private struct Reference {
    var scheme: String?
    var authority: String?
    var path: String
    var query: String

    init(_ text: String) {
        var rest = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        let name = rest.prefix { !":/?".utf8.contains($0) }
        if !name.isEmpty, name.endIndex < rest.endIndex, rest[name.endIndex] == UInt8(ascii: ":") {
            scheme = String(Substring(name))
            rest = rest[name.endIndex...].dropFirst()
        }
        if rest.starts(with: "//".utf8) {
            let end = rest.dropFirst(2).prefix { !"/?".utf8.contains($0) }
            authority = String(Substring(end))
            rest = rest[end.endIndex...]
        }
        let path = rest.prefix { $0 != UInt8(ascii: "?") }
        self.path = String(Substring(path))
        query = String(Substring(rest[path.endIndex...]))
    }
}
