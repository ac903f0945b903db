import DiskCache
import Feeds
import HTTPCaching
import HTTPTypes
import Primitives
import Subscriptions

/// The list of a subscription's resources, while the documents of its source arrive: a pure value.
///
/// ```swift
/// var reading = SourceReading(subscription, schemes: ["http", "https"])
/// while let url = reading.next { reading.receive(try await get(url), at: now) }
/// machine.handle(.sourceAnswered(reading.answer(at: now)), at: now)
/// ```
struct SourceReading: Sendable {
    /// A document of the source, as an origin sent it.
    struct Document: Sendable {
        var body: [UInt8]
        /// After redirects.
        var url: String
        var fields: HTTPFields
        /// The memory of the body, which the last copy of the document gives back; `nil`: it is not counted.
        var memory: SharedAllowance.Part?
    }

    private enum Kind: Sendable {
        case list([String], isPages: Bool)
        case feed(url: String, enclosures: Bool, SourceOutcome<Feed>?)
        case sitemap(SitemapWalk)
        case pages(PagedList)
    }

    private var kind: Kind
    private let latest: Int?
    private let schemes: Set<String>
    /// The URL of the document to get, which ``receive(_:at:)`` or ``fail(_:)`` must follow; `nil` at the end.
    private(set) var next: String?
    /// The time for which the source wants no further request: the most of its documents' lifetimes and the ttl of RSS.
    private var least: Duration = .zero
    private var fault: String?
    /// The time for which a document that failed cannot be had.
    private var pause: Duration?
    /// The validators of a document that is the whole source.
    private(set) var validators: (etag: String?, lastModified: String?)?
    /// ``answer(at:)`` notes the items that claim to be from the future.
    private(set) var futureDates: FutureDates
    /// ``answer(at:)`` counts the items and links of the whole list that have no URL which a download may have. Items
    /// that `latest` would not choose count, too, because `latest` chooses from items with a link.
    private(set) var leftOut = 0

    /// - Parameters:
    ///   - schemes: the schemes of URLs that the server downloads.
    ///   - futureDates: as the last reading left them.
    init(_ subscription: Subscription, schemes: Set<String>, futureDates: FutureDates = FutureDates()) {
        latest = subscription.latest
        self.schemes = schemes
        self.futureDates = futureDates
        switch subscription.source {
        case .urls(let urls): kind = .list(urls, isPages: false)
        case .capture(let urls): kind = .list(urls, isPages: true)
        case .feed(let url, let enclosures):
            kind = .feed(url: url, enclosures: enclosures, nil)
            next = url
        case .sitemap(let url):
            var walk = SitemapWalk(url)
            next = walk.next()
            kind = .sitemap(walk)
        case .pages(let url, let next, let items):
            let list =
                switch next {
                case .link: PagedList(url, next: .link, items: items)
                case .pointer(let pointer): PagedList(url, next: .pointer(pointer), items: items)
                }
            self.next = list.next
            kind = .pages(list)
        }
    }

    /// The most bytes of the next document.
    var byteLimit: Int {
        switch kind {
        case .list: 0
        case .feed: SourceLimits.feed.bytes
        case .sitemap: SourceLimits.sitemap.bytes
        case .pages: PagedList.Limits().bytes
        }
    }

    /// Whether one document is the whole source, so that its validators are those of the list.
    var isOneDocument: Bool {
        switch kind {
        case .feed: true
        case .list, .sitemap, .pages: false
        }
    }

    /// Takes the document at ``next``. Parsing takes long for a long document.
    mutating func receive(_ document: Document, at now: Timestamp) {
        least = max(least, Self.lifetime(document.fields, at: now))
        switch kind {
        case .list: next = nil
        case .feed(let url, let enclosures, _):
            let contentType = document.fields[fields: .contentType].first?.text
            let outcome = FeedParser.parse(document.body, url: document.url, contentType: contentType)
            least = max(least, outcome.content?.timeToLive ?? .zero)
            validators = (document.fields[values: .eTag].first, document.fields[values: .lastModified].first)
            kind = .feed(url: url, enclosures: enclosures, outcome)
            next = nil
        case .sitemap(var walk):
            walk.receive(SitemapParser.parse(document.body))
            next = walk.next()
            kind = .sitemap(walk)
        case .pages(var list):
            let links = document.fields[fields: Self.link].map(\.text)
            list.receive(document.body, links: links, url: document.url)
            next = list.next
            kind = .pages(list)
        }
    }

    /// Notes that the document at ``next`` could not be got, with the reason in words, which ends the reading. `pause`:
    /// the time for which the document cannot be had.
    mutating func fail(_ reason: String, pause: Duration? = nil) {
        self.pause = pause
        next = nil
        switch kind {
        case .list: break
        case .feed: fault = reason
        case .sitemap(var walk):
            walk.fail(reason)
            kind = .sitemap(walk)
        case .pages(var list):
            list.fail(reason)
            kind = .pages(list)
        }
    }

    /// The items, when ``next`` is `nil`. A source with an unreadable part gives no items, because a part of a set
    /// would look like a set that shrank.
    mutating func answer(at now: Timestamp) -> SourceAnswer {
        let answer = answerWithoutPause(at: now)
        if let pause, case .failed(let reason, nil) = answer { return .failed(reason: reason, pause: pause) }
        return answer
    }

    private mutating func answerWithoutPause(at now: Timestamp) -> SourceAnswer {
        if let fault { return .failed(reason: fault, pause: nil) }
        switch kind {
        case .list(let urls, let isPages):
            return answer(urls: Array(urls.prefix(latest ?? .max)), of: urls, isPages: isPages)
        case .feed(_, let enclosures, let outcome):
            switch outcome {
            case nil: return .failed(reason: "the feed has not been read", pause: nil)
            case .unparsable(let reason): return .failed(reason: reason, pause: nil)
            case .empty: return .failed(reason: "the feed has no items", pause: nil)
            case .items(let feed):
                let chosen = choose(feed.items, countsLinks: !enclosures, now)
                leftOut = feed.items.count { $0.urls(withEnclosures: enclosures).isEmpty }
                return answer(
                    urls: chosen.flatMap { $0.urls(withEnclosures: enclosures) },
                    of: feed.items.lazy.flatMap { $0.urls(withEnclosures: enclosures) })
            }
        case .sitemap(let walk):
            if let problem = walk.problem {
                return .failed(reason: "\(problem.url): \(problem.reason)", pause: nil)
            }
            leftOut = walk.leftOut
            return answer(urls: choose(walk.entries, now).map(\.location), of: walk.entries.lazy.map(\.location))
        case .pages(let list):
            switch list.outcome {
            case .unparsable(let reason): return .failed(reason: reason, pause: nil)
            case .empty: return .failed(reason: "the list has no items", pause: nil)
            case .items(let items):
                let urls = choose(items, countsLinks: true, now).compactMap(\.link)
                return answer(urls: urls, of: items.lazy.compactMap(\.link))
            }
        }
    }

    /// URLs that no download may have are left out. `all`: the URLs of the whole list.
    private mutating func answer(
        urls: [String], of all: some Sequence<String>, isPages: Bool = false
    ) -> SourceAnswer {
        guard urls.count <= Self.itemLimit else {
            return .failed(reason: "the source lists over \(Self.itemLimit) URLs", pause: nil)
        }
        var usable: [String] = []
        let items = urls.compactMap { url in
            let item = WantedItem(url: url, isPage: isPages, schemes: schemes)
            if item != nil { usable.append(url) }
            return item
        }
        var known = Set(usable)
        leftOut += all.count { known.insert($0).inserted && CanonicalURL(downloadable: $0, schemes) == nil }
        guard !items.isEmpty else { return .failed(reason: "the source lists no URL that can be fetched", pause: nil) }
        return .items(items, least: least)
    }

    private mutating func choose(_ items: [FeedItem], countsLinks: Bool, _ now: Timestamp) -> [FeedItem] {
        futureDates.note(items.lazy.map { (ItemIdentity($0).description, $0.date) }, now: now)
        return ItemSelection.latest(
            latest, of: items, now: now, futureDates: futureDates, countsLinks: countsLinks)
    }

    /// The entries that changed last, in the order of the sitemaps for one date.
    private mutating func choose(_ entries: [Sitemap.Entry], _ now: Timestamp) -> [Sitemap.Entry] {
        guard let latest, entries.count > latest else { return entries }
        futureDates.note(entries.lazy.map { ($0.location, $0.modified) }, now: now)
        let dates = entries.map { entry in
            futureDates.date(entry.modified, of: entry.location, now: now) ?? Timestamp(milliseconds: .min)
        }
        let order = entries.indices.sorted { left, right in
            dates[left] == dates[right] ? left < right : dates[left] > dates[right]
        }
        return order.prefix(latest).map { entries[$0] }
    }

    /// The most URLs of a source. Each item of a feed may have many enclosures.
    static let itemLimit = 100_000

    private static let link = HTTPField.Name("Link")!

    /// The explicit lifetime of an answer (RFC 9111 §4.2.1); zero without one.
    static func lifetime(_ fields: HTTPFields, at now: Timestamp) -> Duration {
        let control = CacheControl(fields)
        if control.noStore || control.noCache { return .zero }
        return FreshnessLifetime(fields, receivedAt: now)?.remaining ?? .zero
    }
}

extension FeedItem {
    /// The link and the enclosures, without empty ones.
    fileprivate func urls(withEnclosures: Bool) -> [String] {
        ([link].compactMap(\.self) + (withEnclosures ? enclosures.map(\.url) : [])).filter { !$0.isEmpty }
    }
}

extension CanonicalURL {
    /// `nil` for a URL that no download may have.
    fileprivate init?(downloadable url: String, _ schemes: Set<String>) {
        guard let url = try? CanonicalURL(url), schemes.contains(url.scheme) else { return nil }
        self = url
    }
}

extension WantedItem {
    /// `nil` for a URL that no download may have. `schemes`: the permitted ones.
    init?(url: String, isPage: Bool = false, schemes: Set<String> = CanonicalURL.schemes) {
        guard let canonical = CanonicalURL(downloadable: url, schemes) else { return nil }
        let text = canonical.string
        let key: CacheKey = isPage ? .page(canonical: text) : .url(canonical: text)
        self.init(url: text, key: key.text, host: canonical.authorityText, requestURL: canonical.requestURL)
    }
}
