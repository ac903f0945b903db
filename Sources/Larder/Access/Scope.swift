/// A permission of the bearer of a token.
package enum Scope: String, CaseIterable, Sendable {
    /// Read entries, and watch downloads.
    case read
    /// Fetch URLs by a download or through the gateway, and cancel downloads.
    case download
    /// Store own bodies, and change the metadata of entries.
    case write
    /// Remove entries.
    case purge
    /// Read counters, free memory, and create and remove namespaces.
    case admin
}
