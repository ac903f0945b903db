/// A URL as a line of the log shows it: without its query, which may carry a secret.
public enum LoggedURL {
    /// The URL up to its query, which becomes `?…`; nothing but its scheme and host when a token of Larder's is in its
    /// path, as it is or encoded, and nothing at all when one is in its host. A canonical URL has neither a user name
    /// nor a password.
    public static func text(of url: String) -> String {
        let shown = url.prefix { $0 != "?" }
        guard !TokenCredentials.areIn(shown) else {
            let host = url.split(separator: "/", maxSplits: 3).prefix(2).joined(separator: "//")
            return TokenCredentials.areIn(host) ? "…" : host + "/…"
        }
        return shown.endIndex == url.endIndex ? url : shown + "?…"
    }
}
