import Primitives

/// Decides which sitemaps are fetched, beginning with one of them. Each sitemap is fetched at most once, so the walk
/// over an index that lists itself ends. The walk also ends at its first problem, because a part of the set is of no
/// use.
///
///     var walk = SitemapWalk("https://example.com/sitemap.xml")
///     while let url = walk.next() {
///         walk.receive(SitemapParser.parse(try await download(url)))
///     }
///     if let problem = walk.problem { print(problem.reason) } else { print(walk.entries) }
package struct SitemapWalk: Sendable {
    package struct Limits: Hashable, Sendable {
        /// The most sitemaps, with the first one.
        package var sitemaps: Int
        /// The most URLs of pages.
        package var urls: Int
        /// The most indexes above a sitemap. The protocol permits one.
        package var depth: Int
        /// The most bytes of all URLs of pages.
        package var urlBytes: Int

        package init(sitemaps: Int = 1000, urls: Int = 100_000, depth: Int = 3, urlBytes: Int = 64 << 20) {
            self.sitemaps = sitemaps
            self.urls = urls
            self.depth = depth
            self.urlBytes = urlBytes
        }
    }

    /// A sitemap that was not used, and the reason in words.
    package struct Problem: Equatable, Sendable {
        package let url: String
        package let reason: String
    }

    /// The pages, in the order of the sitemaps, each URL once.
    package private(set) var entries: [Sitemap.Entry] = []
    /// The number of pages without a URL that a download may have, with the pages of ``Sitemap/leftOut``.
    package private(set) var leftOut = 0
    /// The reason for which the walk ended before it had found the whole set; `nil` without one.
    package private(set) var problem: Problem?
    private let limits: Limits
    private var queue: [(url: String, depth: Int)] = []
    /// The index of the next sitemap in ``queue``.
    private var position = 0
    private var current: (url: String, depth: Int)?
    /// The canonical URLs of all sitemaps in ``queue``, and of all pages.
    private var knownSitemaps: Set<String> = []
    private var knownPages: Set<String> = []
    /// The bytes of ``entries``.
    private var urlBytes = 0

    package init(_ url: String, limits: Limits = Limits()) {
        self.limits = limits
        add(sitemap: url, depth: 0)
    }

    /// Whether all found sitemaps were received, or the walk ended at a problem.
    package var isFinished: Bool { current == nil && position == queue.count }

    /// The URL to fetch next, which ``receive(_:)`` or ``fail(_:)`` must follow; `nil` at the end of the walk.
    package mutating func next() -> String? {
        guard position < queue.count else {
            current = nil
            return nil
        }
        current = queue[position]
        position += 1
        return current?.url
    }

    /// Takes the sitemap that ``next()`` named.
    package mutating func receive(_ outcome: SourceOutcome<Sitemap>) {
        guard let (url, depth) = current else { return }
        current = nil
        switch outcome {
        case .unparsable(let reason): end(url, reason)
        case .empty(let sitemap): if sitemap.kind == .pages { leftOut += sitemap.leftOut }
        case .items(let sitemap) where sitemap.kind == .index:
            for entry in sitemap.entries where problem == nil { add(sitemap: entry.location, depth: depth + 1) }
        case .items(let sitemap):
            leftOut += sitemap.leftOut
            for entry in sitemap.entries {
                guard let key = Self.key(entry.location) else {
                    leftOut += 1
                    continue
                }
                guard !knownPages.contains(key) else { continue }
                guard entries.count < limits.urls else {
                    return end(entry.location, "the sitemaps list over \(limits.urls) URLs")
                }
                // The canonical spelling may be longer.
                urlBytes += max(entry.location.utf8.count, key.utf8.count)
                guard urlBytes <= limits.urlBytes else {
                    return end(entry.location, "the URLs of the sitemaps have over \(limits.urlBytes) bytes")
                }
                knownPages.insert(key)
                entries.append(entry)
            }
        }
    }

    /// Reports that the sitemap which ``next()`` named could not be fetched.
    package mutating func fail(_ reason: String) {
        receive(.unparsable(reason))
    }

    private mutating func add(sitemap url: String, depth: Int) {
        guard let key = Self.key(url) else { return end(url, "the URL of the sitemap is not valid") }
        guard !knownSitemaps.contains(key) else { return }
        guard depth <= limits.depth else {
            return end(url, "sitemap indexes are nested more than \(limits.depth) deep")
        }
        guard queue.count < limits.sitemaps else { return end(url, "there are over \(limits.sitemaps) sitemaps") }
        knownSitemaps.insert(key)
        queue.append((url, depth))
    }

    /// Ends the walk, which frees its memory.
    private mutating func end(_ url: String, _ reason: String) {
        problem = Problem(url: url, reason: reason)
        (queue, position, entries, knownSitemaps, knownPages) = ([], 0, [], [], [])
    }

    /// The canonical URL; `nil` for a URL that no download may have.
    private static func key(_ url: String) -> String? { try? CanonicalURL(url).string }
}
