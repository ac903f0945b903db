import Primitives

/// Reads JSON Feed 1.0 and 1.1 (jsonfeed.org/version/1.1).
enum JSONFeed {
    static func read(_ body: [UInt8], url: String?, limits: SourceLimits) throws(SourceFault) -> Feed {
        let root: JSON
        do throws(JSON.SyntaxError) {
            root = try JSON(parsing: body, depthLimit: min(limits.depth, 64), valueLimit: 100 * limits.items)
        } catch {
            throw SourceFault("the JSON cannot be read: \(error)")
        }
        guard root["version"]?.stringValue?.asToken?.contains("jsonfeed.org/version/") == true else {
            throw SourceFault("the answer is JSON, but no JSON Feed: \"version\" is missing")
        }
        guard let elements = root["items"]?.arrayValue else {
            throw SourceFault("the JSON Feed has no array \"items\"")
        }
        guard elements.count <= limits.items else { throw SourceFault("the feed has over \(limits.items) items") }
        // A base over the limit is not used.
        let url = url.flatMap { $0.utf8.count <= limits.fieldBytes ? $0 : nil }
        var budget = LinkBudget(limit: limits.linkBytes)
        var feed = Feed(format: .json, title: title(root["title"], limits))
        for element in elements {
            guard case .object = element else { throw SourceFault("an element of \"items\" is no object") }
            feed.items.append(try item(element, url: url, limits, &budget))
        }
        return feed
    }

    private static func item(
        _ element: JSON, url: String?, _ limits: SourceLimits, _ budget: inout LinkBudget
    ) throws(SourceFault) -> FeedItem {
        func text(_ name: String, of attachment: JSON? = nil) -> String? {
            guard let value = (attachment ?? element)[name]?.stringValue, !value.isEmpty,
                value.utf8.count <= limits.fieldBytes
            else { return nil }
            return value
        }
        var item = FeedItem(title: title(element["title"], limits))
        item.id = text("id")
        // A number is an error of the publisher that readers must correct (JSON Feed 1.1, "Items").
        if item.id == nil, case .number(let number) = element["id"], number.utf8.count <= limits.fieldBytes {
            item.id = number
        }
        item.link = try URLReference.resolve(text("url") ?? text("external_url"), url, limits, &budget)
        if item.link == nil, let id = item.id, URLReference.isWebAddress(id) { item.link = id }
        item.published = text("date_published").flatMap(FeedDate.parse)
        item.updated = text("date_modified").flatMap(FeedDate.parse)
        for attachment in element["attachments"]?.arrayValue ?? [] {
            guard let link = try URLReference.resolve(text("url", of: attachment), url, limits, &budget) else {
                continue
            }
            try item.enclosures.append(
                .init(
                    url: link, type: text("mime_type", of: attachment),
                    length: attachment["size_in_bytes"]?.integerValue), limits)
        }
        var digest = ContentDigest()
        for name in ["title", "content_html", "content_text", "summary", "date_published"] {
            if let value = element[name]?.stringValue { digest.add(value.utf8) }
            digest.separate()
        }
        for enclosure in item.enclosures {
            digest.add(enclosure.url.utf8)
            digest.separate()
        }
        item.digest = digest.text
        return item
    }

    private static func title(_ value: JSON?, _ limits: SourceLimits) -> String? {
        guard let text = value?.stringValue else { return nil }
        let title = MarkupText.normalized(Array(text.utf8.prefix(limits.fieldBytes)))
        return title.isEmpty ? nil : title
    }
}
