import Feeds
import Primitives

/// The first byte selects a parser of the module, and the rest is its input.
enum FeedProperties {
    private static let url = "http://h.example/d/feed"

    static func check(_ input: [UInt8]) throws(Violation) {
        guard let first = input.first else { return }
        let body = Array(input.dropFirst())
        switch first % 5 {
        case 0: try checkFeed(body, contentType: first < 128 ? nil : "text/xml; charset=shift_jis")
        case 1: try checkSitemap(body)
        case 2: try checkPages(body)
        case 3: try checkDate(body.text)
        default: try checkIdentity(body)
        }
    }

    private static func checkFeed(_ body: [UInt8], contentType: String?) throws(Violation) {
        let limits = SourceLimits(
            bytes: 1 << 20, items: 50, depth: 20, fieldBytes: 200, enclosures: 5, linkBytes: 20_000)
        let outcome = FeedParser.parse(body, url: url, contentType: contentType, limits: limits)
        guard let feed = outcome.content else {
            return try demand(outcome.reason?.isEmpty == false, "a refusal has a reason")
        }
        try demand(feed.items.count <= limits.items, "a feed has no more items than the limit")
        for item in feed.items {
            for text in [item.id, item.link].compactMap(\.self) {
                try demand(!text.isEmpty, "an id or link is not empty")
                try demand(text.utf8.count <= limits.fieldBytes, "an id or link is within the limit", text)
            }
            try demand(item.enclosures.count <= limits.enclosures, "an item has no more enclosures than the limit")
            for enclosure in item.enclosures {
                try demand(enclosure.url.utf8.count <= limits.fieldBytes, "an enclosure is within the limit")
            }
            try demand(item.title != "", "a title is not empty")
            try demand(item.digest.utf8.count == 32, "a digest has 32 digits", item.digest)
        }
        let now = Timestamp(seconds: 1_000_000_000)
        let all = ItemSelection.latest(nil, of: feed.items, now: now)
        try demand(Set(all.map(ItemIdentity.init)).count == all.count, "each identity is chosen once")
        try demand(
            Set(feed.items.map(ItemIdentity.init)).count == all.count, "each identity is chosen without a limit")
        let few = ItemSelection.latest(2, of: feed.items, now: now)
        try demand(few == Array(all.prefix(2)), "a limit cuts the list of the latest items")
    }

    private static func checkSitemap(_ body: [UInt8]) throws(Violation) {
        let limits = SourceLimits(bytes: 1 << 20, items: 50, depth: 20, fieldBytes: 200)
        let outcome = SitemapParser.parse(body, limits: limits)
        guard let sitemap = outcome.content else { return }
        try demand(sitemap.entries.count <= limits.items, "a sitemap has no more URLs than the limit")
        // Every sitemap has this content, so that an index is a loop.
        var walk = SitemapWalk(url, limits: .init(sitemaps: 20, urls: 30))
        var count = 0
        while walk.next() != nil {
            count += 1
            walk.receive(outcome)
        }
        try demand(count <= 20 && walk.isFinished, "a walk ends at the limit", "\(count)")
        let keys = walk.entries.compactMap { try? CanonicalURL($0.location).string }
        try demand(
            Set(keys).count == walk.entries.count && keys.count <= 30, "a walk has each valid URL once", "\(keys)")
    }

    /// The first line is a pointer to the next page and a `Link` field, the second one a pointer to the items.
    private static func checkPages(_ body: [UInt8]) throws(Violation) {
        let lines = body.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3, let items = try? JSONPointer(lines[1].text) else { return }
        for next in [PagedList.Next.link] + ((try? JSONPointer(lines[0].text)).map { [.pointer($0)] } ?? []) {
            var list = PagedList(url, next: next, items: items, limits: .init(pages: 5, items: 50, bytes: 1 << 20))
            var count = 0
            while let page = list.next {
                count += 1
                list.receive(Array(lines[2]), links: [lines[0].text], url: page)
            }
            try demand(count <= 5, "a list ends at the limit of pages", "\(count)")
            for item in list.items {
                let link = item.link ?? ""
                try demand(link.contains("://"), "an item of a list has an absolute URL", link)
            }
        }
    }

    private static func checkDate(_ text: String) throws(Violation) {
        let escaped = text.replacing("&", with: "").replacing("<", with: "").replacing("\0", with: "")
        let feed = "<rss><item><guid>1</guid><pubDate>\(escaped)</pubDate></item></rss>"
        guard let date = FeedParser.parse(Array(feed.utf8)).content?.items.first?.published else { return }
        let range = Timestamp(seconds: -62_200_000_000)...Timestamp(seconds: 253_500_000_000)
        try demand(range.contains(date), "a date is in the years 1 to 9999", text)
    }

    private static func checkIdentity(_ body: [UInt8]) throws(Violation) {
        let lines = body.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let texts = lines.map(\.text)
        guard let id = texts.first, let link = texts.last else { return }
        let identity = ItemIdentity(FeedItem(id: id, link: link, digest: "1"))
        try demand(
            id.isEmpty || identity == ItemIdentity(FeedItem(id: id, digest: "2")), "an id alone decides", "\(texts)")
        let other = ItemIdentity(FeedItem(link: link, digest: "1"))
        try demand(!id.isEmpty || identity == other, "an empty id counts as none", "\(texts)")
        try demand(
            link.isEmpty || other == ItemIdentity(FeedItem(link: link, digest: "2")),
            "without an id, a link alone decides", "\(texts)")
    }
}
