import Primitives

/// Reads sitemaps and sitemap indexes in XML, and sitemaps that are lists of URLs in plain text, also in gzip.
///
///     let outcome = SitemapParser.parse(body)
///     guard case .items(let sitemap) = outcome, sitemap.kind == .index else { … }
package enum SitemapParser {
    /// Reads the body of an answer. The first two bytes tell whether the body is in gzip, because servers send
    /// `sitemap.xml.gz` with any media type.
    package static func parse(_ body: [UInt8], limits: SourceLimits = .sitemap) -> SourceOutcome<Sitemap> {
        do throws(SourceFault) {
            let sitemap = try read(body, limits)
            return sitemap.entries.isEmpty ? .empty(sitemap) : .items(sitemap)
        } catch {
            return .unparsable(error.reason)
        }
    }

    private static func read(_ body: [UInt8], _ limits: SourceLimits) throws(SourceFault) -> Sitemap {
        let text = SourceText.xml(try SourceBody.checked(body, limits), charset: nil)
        guard let first = text.first(where: { $0 > 0x20 }) else { throw SourceFault("the answer is empty") }
        guard first == UInt8(ascii: "<") else { return try readLines(text, limits) }
        let builder = SitemapBuilder(limits)
        do throws(SourceFault) {
            try XMLReader.read(text, limits: limits, builder)
        } catch {
            throw SourceBody.isPage(text) ? SourceFault("the answer is an HTML page, not a sitemap") : error
        }
        return builder.sitemap
    }

    /// A text sitemap has a URL in each line, and no other content.
    private static func readLines(_ text: [UInt8], _ limits: SourceLimits) throws(SourceFault) -> Sitemap {
        var sitemap = Sitemap(kind: .pages, entries: [])
        var rest = text[...]
        // Line by line, because a list of all lines would need many times the memory of the text.
        while !rest.isEmpty {
            let line = rest.prefix { $0 != 0x0a && $0 != 0x0d }
            rest = rest[line.endIndex...].dropFirst()
            let start = line.firstIndex { $0 > 0x20 } ?? line.endIndex
            guard start < line.endIndex, let end = line.lastIndex(where: { $0 > 0x20 }) else { continue }
            let location = String(decoding: line[start...end].prefix(limits.fieldBytes), as: UTF8.self)
            guard URLReference.isWebAddress(location) else {
                throw SourceFault("the answer is neither XML nor a list of URLs")
            }
            guard sitemap.entries.count < limits.items else {
                throw SourceFault("the sitemap has over \(limits.items) URLs")
            }
            sitemap.entries.append(.init(location: location))
        }
        return sitemap
    }
}

/// Builds a ``Sitemap`` from the parts of an XML document.
private final class SitemapBuilder: XMLHandler {
    private(set) var sitemap = Sitemap(kind: .pages, entries: [])
    private let limits: SourceLimits
    private var depth = 0
    /// The `url` or `sitemap` element that is open.
    private var entry: (location: String, modified: Timestamp?)?
    /// The text of the `loc` or `lastmod` element that is open.
    private var text: [UInt8]?

    init(_ limits: SourceLimits) {
        self.limits = limits
    }

    func start(_ name: String, _ attributes: [(name: String, value: String)]) throws(SourceFault) {
        depth += 1
        switch (depth, name) {
        case (1, "urlset"): sitemap.kind = .pages
        case (1, "sitemapindex"): sitemap.kind = .index
        case (1, "html"), (1, "xhtml:html"): throw SourceFault("the answer is an HTML page, not a sitemap")
        case (1, "rss"), (1, "feed"), (1, "rdf:rdf"): throw SourceFault("the answer is a feed, not a sitemap")
        case (1, _):
            throw SourceFault("the answer is XML, but no sitemap: its root is \"\(name.prefix(40))\", not urlset")
        case (2, "url") where sitemap.kind == .pages, (2, "sitemap") where sitemap.kind == .index:
            guard sitemap.entries.count < limits.items else {
                throw SourceFault("the sitemap has over \(limits.items) URLs")
            }
            entry = ("", nil)
        case (3, "loc"), (3, "lastmod"): text = entry == nil ? nil : []
        default: break
        }
    }

    func end(_ name: String) throws(SourceFault) {
        if depth == 3, let bytes = text {
            let value = String(decoding: bytes, as: UTF8.self)
            if name == "loc" {
                entry?.location = URLReference.resolve(value, nil)
            } else {
                entry?.modified = FeedDate.parse(value)
            }
            text = nil
        } else if depth == 2, let found = entry {
            if URLReference.isWebAddress(found.location) {
                sitemap.entries.append(.init(location: found.location, modified: found.modified))
            } else {
                sitemap.leftOut += 1
            }
            entry = nil
        }
        depth -= 1
    }

    func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(SourceFault) {
        guard depth == 3, let count = text?.count else { return }
        text! += bytes.prefix(limits.fieldBytes - count)
    }
}
