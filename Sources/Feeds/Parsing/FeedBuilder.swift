import Primitives

/// Builds a ``Feed`` from the parts of an XML document. Elements count at any depth inside an item, because feeds wrap
/// them in elements of their own. Parts of a text are not elements of the feed: `title` inside a picture in SVG, inside
/// `content`, is no title.
final class FeedBuilder: XMLHandler {
    private(set) var feed: Feed
    private let limits: SourceLimits
    /// The number of open elements.
    private var depth = 0
    /// The URL against which links are resolved, for each open element (XML Base §4).
    private var bases: [String?]
    /// The element that is read as text.
    private var text: TextElement?
    private var item: OpenItem?
    /// The depth of an open `source`, `image` or `textinput`. The elements inside it do not describe the item.
    private var foreignDepth: Int?
    private var schedule = FeedSchedule()
    private var budget: LinkBudget

    init(url: String?, limits: SourceLimits) {
        feed = Feed(format: .rss)
        // A base over the limit is not used.
        bases = [url.flatMap { $0.utf8.count <= limits.fieldBytes ? $0 : nil }]
        self.limits = limits
        budget = LinkBudget(limit: limits.linkBytes)
    }

    private var base: String? { bases[bases.count - 1] }

    func start(_ name: String, _ attributes: [(name: String, value: String)]) throws(SourceFault) {
        depth += 1
        let attributes = Attributes(attributes)
        let url = try resolve(attributes["xml:base"] ?? attributes["base"], base)
        bases.append(url.flatMap { URLReference.isWebAddress($0) ? $0 : nil } ?? base)
        if depth == 1 { try begin(name) }
        if text != nil {
            text?.startMarkup(name, depth: depth)
        } else if name == "item" || name == "entry" {
            try startItem(attributes)
        } else if foreignDepth == nil {
            try startElement(name, attributes)
        }
    }

    private func resolve(_ reference: String?, _ base: String?) throws(SourceFault) -> String? {
        try URLReference.resolve(reference, base, limits, &budget)
    }

    func end(_ name: String) throws(SourceFault) {
        if let element = text {
            if element.depth == depth {
                text = nil
                try take(element)
            } else {
                text?.endMarkup(depth: depth)
            }
        } else if foreignDepth == depth {
            foreignDepth = nil
        } else if name == "item" || name == "entry" {
            try finishItem()
        }
        if depth == 1 { finish() }
        bases.removeLast()
        depth -= 1
    }

    func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(SourceFault) {
        guard text != nil else { return }
        if text!.kind.isContent { item?.digest.add(bytes.prefix(max(0, limits.fieldBytes - text!.length))) }
        text!.append(bytes, limit: limits.fieldBytes)
    }

    /// Checks the root element.
    private func begin(_ root: String) throws(SourceFault) {
        switch root {
        case "rss", "channel": feed.format = .rss
        case "feed": feed.format = .atom
        case "rdf:rdf", "rdf": feed.format = .rdf
        case "html", "xhtml:html": throw SourceFault("the answer is an HTML page, not a feed")
        case "urlset", "sitemapindex": throw SourceFault("the answer is a sitemap, not a feed")
        default:
            throw SourceFault(
                "the answer is XML, but no feed: its root is \"\(root.prefix(40))\", not rss, feed or RDF")
        }
    }

    private func startItem(_ attributes: Attributes) throws(SourceFault) {
        try finishItem()
        guard feed.items.count < limits.items else { throw SourceFault("the feed has over \(limits.items) items") }
        foreignDepth = nil
        var item = OpenItem()
        item.set(id: attributes["rdf:about"], depth: .max)
        // Two attributes of CDF, the oldest feeds.
        item.updated = attributes["lastmod"].flatMap(FeedDate.parse)
        item.link = try resolve(attributes["href"], base)
        self.item = item
    }

    private func finishItem() throws(SourceFault) {
        guard let item else { return }
        feed.items.append(item.finished)
        self.item = nil
    }

    private func startElement(_ name: String, _ attributes: Attributes) throws(SourceFault) {
        switch name {
        case "source", "image", "textinput":
            foreignDepth = depth
            item?.titleDepth = nil
        case "link": try startLink(attributes)
        case "enclosure":
            try addEnclosure(attributes["url"] ?? attributes["uri"] ?? attributes["href"], attributes)
        default:
            guard let kind = TextElement.Kind(name, isInItem: item != nil) else { return }
            text = TextElement(kind, name, depth: depth, attributes, base: base)
        }
    }

    private func startLink(_ attributes: Attributes) throws(SourceFault) {
        guard let reference = attributes["href"] ?? attributes["url"] ?? attributes["uri"] else {
            text = TextElement(.link, "link", depth: depth, attributes, base: base)
            return
        }
        let relation = attributes["rel"].map { $0.asToken ?? "" } ?? "alternate"
        let type = attributes["type"].map(TextElement.mediaType) ?? "text/html"
        if relation == "alternate", TextElement.htmlTypes.contains(type) {
            setLink(try resolve(reference, base))
        } else if relation == "enclosure" {
            try addEnclosure(reference, attributes)
        }
    }

    private func setLink(_ link: String?) {
        if let link, !link.isEmpty { item?.link = link }
    }

    private func addEnclosure(_ reference: String?, _ attributes: Attributes) throws(SourceFault) {
        guard item != nil, reference != "", let url = try resolve(reference, base) else { return }
        let length = attributes["length"].flatMap { Int64(digits: $0) }
        try item!.enclosures.append(.init(url: url, type: attributes["type"], length: length), limits)
    }

    /// Takes the text of an element that has ended.
    private func take(_ element: TextElement) throws(SourceFault) {
        let text = element.isTooLong ? "" : element.value
        switch element.kind {
        case .title:
            let title = element.title(isAtom: feed.format == .atom)
            if item != nil {
                item!.set(title: title, of: element)
            } else if feed.title == nil, !title.isEmpty {
                feed.title = title
            }
        case .link: setLink(text.isEmpty ? nil : try resolve(text, element.base))
        case .id where element.isPermanentLink:
            let id = text.isEmpty ? nil : try resolve(text, element.base)
            item?.set(id: id, depth: element.depth)
            item?.permanentLink = id
        case .id: item?.set(id: text, depth: element.depth)
        case .published: if let date = FeedDate.parse(text) { item?.published = date }
        case .updated: if let date = FeedDate.parse(text) { item?.updated = date }
        case .created: if let date = FeedDate.parse(text) { item?.created = date }
        case .timeToLive: schedule.minutes = Int(digits: text)
        case .updatePeriod: schedule.period = text.lowercased()
        case .updateFrequency: schedule.frequency = Int(digits: text)
        case .content, .other: break
        }
        guard element.kind.isContent else { return }
        item?.digest.add(String(element.length).utf8)
        item?.digest.separate()
    }

    private func finish() {
        feed.timeToLive = schedule.timeToLive
    }
}

/// The attributes of an element. If a name is given twice in different cases, the first one counts.
struct Attributes {
    private let list: [(name: String, value: String)]

    init(_ list: [(name: String, value: String)]) {
        self.list = list
    }

    subscript(name: String) -> String? { list.first { $0.name == name }?.value }
}

/// The elements with which a feed says how often it changes.
struct FeedSchedule {
    /// `ttl` of RSS 2.0.
    var minutes: Int?
    /// `sy:updatePeriod` and `sy:updateFrequency` of RSS 1.0.
    var period: String?
    var frequency: Int?

    var timeToLive: Duration? {
        // Four weeks are longer than any interval, and a longer number may be an error.
        if let minutes, minutes > 0 { return .seconds(60 * min(minutes, 28 * 24 * 60)) }
        let hours: [String: Int] = ["hourly": 1, "daily": 24, "weekly": 7 * 24, "monthly": 30 * 24, "yearly": 365 * 24]
        guard let period, let length = hours[period], let frequency = Optional(frequency ?? 1), frequency > 0 else {
            return nil
        }
        return .seconds(min(length, 28 * 24) * 3600 / frequency)
    }
}
