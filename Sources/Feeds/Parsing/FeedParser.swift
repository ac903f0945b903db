import Primitives

/// Reads RSS 0.9x and 2.0, RSS 1.0 (RDF), Atom 0.3 and 1.0, and JSON Feed 1.x.
///
///     let outcome = FeedParser.parse(body, url: "https://example.com/feed", contentType: "application/rss+xml")
///     guard case .items(let feed) = outcome else { … }
///     print(feed.items[0].link ?? "no link")
package enum FeedParser {
    /// Reads the body of an answer. `url` is the URL of the document after redirections, against which relative links
    /// are resolved; without it they stay relative. `contentType` is the field of the answer, of which only the charset
    /// counts: feeds have all kinds of media types. A body in gzip is decompressed.
    package static func parse(
        _ body: [UInt8], url: String? = nil, contentType: String? = nil, limits: SourceLimits = .feed
    ) -> SourceOutcome<Feed> {
        do throws(SourceFault) {
            let feed = try read(body, url: url, contentType: contentType, limits: limits)
            return feed.items.isEmpty ? .empty(feed) : .items(feed)
        } catch {
            return .unparsable(error.reason)
        }
    }

    private static func read(
        _ body: [UInt8], url: String?, contentType: String?, limits: SourceLimits
    ) throws(SourceFault) -> Feed {
        let body = try SourceBody.checked(body, limits)
        let charset = ContentDisposition.parameters(of: contentType ?? "").first { $0.name == "charset" }
            .map { String(decoding: $0.value, as: UTF8.self) }
        let text = SourceText.xml(body, charset: charset)
        switch text.first(where: { $0 > 0x20 }) {
        case UInt8(ascii: "<"): break
        // JSON is in UTF-8 with any charset (RFC 8259 §8.1).
        case UInt8(ascii: "{"), UInt8(ascii: "["): return try JSONFeed.read(body, url: url, limits: limits)
        case nil: throw SourceFault("the answer is empty")
        default: throw SourceFault("the answer is neither XML nor JSON")
        }
        let builder = FeedBuilder(url: url, limits: limits)
        do throws(SourceFault) {
            try XMLReader.read(text, limits: limits, builder)
        } catch {
            // Most pages are not well-formed, and the place of the error would hide the cause.
            throw SourceBody.isPage(text) ? SourceFault("the answer is an HTML page, not a feed") : error
        }
        return builder.feed
    }
}

/// The checks that all sources share.
enum SourceBody {
    /// Returns the decompressed body. Throws ``SourceFault`` for a body over the limit.
    static func checked(_ body: [UInt8], _ limits: SourceLimits) throws(SourceFault) -> [UInt8] {
        guard body.count <= limits.bytes else { throw SourceFault("the answer is over \(limits.bytes) bytes") }
        return try GzipText.decompressed(body, limit: limits.bytes)
    }

    /// Whether a document begins as HTML does: with its DOCTYPE or its first element, behind comments.
    static func isPage(_ text: [UInt8]) -> Bool {
        var rest = text.prefix(4096)
        while true {
            rest = rest.drop { $0 <= 0x20 }
            let ending: [UInt8]
            if rest.starts(with: "<!--".utf8) {
                ending = Array("-->".utf8)
            } else if rest.starts(with: "<?".utf8) {
                ending = Array("?>".utf8)
            } else {
                break
            }
            guard let end = rest.firstRange(of: ending) else { return false }
            rest = rest[end.upperBound...]
        }
        let head = String(decoding: rest.prefix(15), as: UTF8.self).lowercased()
        return ["<!doctype html", "<html", "<head", "<body"].contains { head.hasPrefix($0) }
    }
}
