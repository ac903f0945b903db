/// What the bearer of a token may do.
public enum Scope: String, CaseIterable, Sendable {
    /// Read what is held, and watch downloads.
    case read
    /// Have URLs fetched, by a download or through the gateway, and cancel downloads.
    case download
    /// Store bodies of one's own, and change what is said of entries.
    case write
    /// Remove entries.
    case purge
    /// See counters, give memory back, and make and remove namespaces.
    case admin
}
