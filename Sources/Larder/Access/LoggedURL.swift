/// The form of a URL in the log: without its query, which may contain a secret.
package enum LoggedURL {
    /// Replaces the query by `?…`. Returns only scheme and host when the path contains a token of Larder, in plain or
    /// encoded form, and only `…` when the host contains a token. A canonical URL has no user name and no password.
    package static func text(of url: String) -> String {
        let shown = url.prefix { $0 != "?" }
        guard !TokenCredentials.areIn(shown) else {
            let host = url.split(separator: "/", maxSplits: 3).prefix(2).joined(separator: "//")
            return TokenCredentials.areIn(host) ? "…" : host + "/…"
        }
        return shown.endIndex == url.endIndex ? url : shown + "?…"
    }
}
