import Primitives

/// The content of a sitemap (sitemaps.org, protocol 0.9).
package struct Sitemap: Equatable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        /// The entries are pages.
        case pages
        /// The entries are other sitemaps.
        case index
    }

    package struct Entry: Equatable, Sendable {
        /// An absolute URL of http, https or ftp, as the sitemap writes it.
        package var location: String
        /// `nil` if the sitemap states no date that can be read.
        package var modified: Timestamp?

        package init(location: String, modified: Timestamp? = nil) {
            self.location = location
            self.modified = modified
        }
    }

    package var kind: Kind
    /// In the order of the document. Entries without an absolute URL are left out.
    package var entries: [Entry]
    /// The number of elements that are not in ``entries``: their `loc` is missing, empty, or no absolute URL.
    package var leftOut: Int

    package init(kind: Kind, entries: [Entry], leftOut: Int = 0) {
        self.kind = kind
        self.entries = entries
        self.leftOut = leftOut
    }
}
