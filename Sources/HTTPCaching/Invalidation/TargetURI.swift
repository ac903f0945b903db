import Primitives

/// An absolute http or https URI, and what a reference means that stands in an answer from it (RFC 3986 §5).
///
/// Scheme and host are in lower case, a default port and the fragment are dropped, an empty path is `/`: so much is the
/// same for everybody (RFC 9110 §4.2.3). Path and query stay byte for byte.
struct TargetURI: Hashable {
    /// `http` or `https`.
    let scheme: String
    /// Host and, when it is not the default, port.
    let authority: String
    /// Begins with `/`.
    private let path: String
    /// With its `?`; empty without one.
    private let query: String

    /// Two URIs are of one origin when this is the same (RFC 9110 §4.3.1).
    var origin: String { scheme + "://" + authority }

    /// The whole URI.
    var text: String { origin + path + query }

    /// Reads an absolute URI. `nil` for a relative reference, another scheme, user information, or no host.
    init?(_ text: String) {
        let parts = Reference(text)
        guard let scheme = parts.scheme, let authority = parts.authority else { return nil }
        self.init(scheme: scheme, authority: authority, path: parts.path, query: parts.query)
    }

    /// What a reference means here (RFC 3986 §5.2.2); `nil` when that is no http or https URI.
    func resolve(_ text: String) -> TargetURI? {
        let reference = Reference(text.trimmingWhitespace())
        if let scheme = reference.scheme {
            guard let authority = reference.authority else { return nil }
            return TargetURI(scheme: scheme, authority: authority, path: reference.path, query: reference.query)
        }
        if let authority = reference.authority {
            return TargetURI(scheme: scheme, authority: authority, path: reference.path, query: reference.query)
        }
        if reference.path.isEmpty {
            return TargetURI(
                scheme: scheme, authority: authority, path: path,
                query: reference.query.isEmpty ? query : reference.query)
        }
        let merged: String
        if reference.path.utf8.first == UInt8(ascii: "/") {
            merged = reference.path
        } else {
            let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? "/"
            merged = directory + reference.path
        }
        return TargetURI(
            scheme: scheme, authority: authority, path: URLPath.removeDotSegments(merged), query: reference.query)
    }

    private init?(scheme: String, authority: String, path: String, query: String) {
        let defaults = ["http": ":80", "https": ":443"]
        let scheme = scheme.lowercased()
        guard let defaultPort = defaults[scheme], !authority.utf8.contains(UInt8(ascii: "@")) else { return nil }
        // Behind the host, which may be an address in brackets, stands one port and no more.
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

/// The components of a URI or a relative reference, by the expression of RFC 3986 appendix B. The fragment is dropped.
private struct Reference {
    var scheme: String?
    var authority: String?
    var path: String
    /// With its `?`; empty without one.
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

extension String {
    fileprivate func trimmingWhitespace() -> String {
        var text = Substring(self).drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
