import Primitives

/// The place from which a subscription gets the list of the resources that it holds.
package enum SubscriptionSource: Hashable, Sendable {
    package enum Next: Hashable, Sendable {
        /// The `Link` field with `rel=next` (RFC 8288).
        case link
        case pointer(JSONPointer)
    }

    /// The resources themselves, in their order.
    case urls([String])
    /// RSS, Atom or JSON Feed. `enclosures`: also holds the files that the items attach.
    case feed(url: String, enclosures: Bool)
    /// A sitemap or an index of sitemaps.
    case sitemap(url: String)
    /// A JSON API with pages. `items` leads to the array of items in each page.
    case pages(url: String, next: Next, items: JSONPointer)
    /// Whole pages with all their resources.
    case capture([String])

    /// The most URLs of `urls` and `capture`.
    package static let urlLimit = 10_000

    /// The URL that is asked for the list; `nil` for a list in the definition.
    package var url: String? {
        switch self {
        case .urls, .capture: nil
        case .feed(let url, _), .sitemap(let url), .pages(let url, _, _): url
        }
    }

    /// The URLs in the definition: the list, or the URL of the source.
    package var urls: [String] {
        switch self {
        case .urls(let urls), .capture(let urls): urls
        case .feed(let url, _), .sitemap(let url), .pages(let url, _, _): [url]
        }
    }

    /// The origins of the URLs in the definition.
    package var origins: Set<String> { Set(urls.compactMap { (try? CanonicalURL($0))?.origin }) }

    package var json: JSON {
        switch self {
        case .urls(let urls): ["urls": .array(urls.map(JSON.string))]
        case .feed(let url, let enclosures): ["feed": .string(url), "enclosures": .bool(enclosures)]
        case .sitemap(let url): ["sitemap": .string(url)]
        case .pages(let url, let next, let items):
            ["pages": .string(url), "next": .string(next.text), "items": .string(items.description)]
        case .capture(let urls): ["capture": .array(urls.map(JSON.string))]
        }
    }

    /// Throws ``DefinitionFault`` unless the object has exactly one kind of source, with the members of that kind.
    package init(_ json: JSON) throws(DefinitionFault) {
        guard case .object(let members) = json else {
            throw DefinitionFault("source must be an object such as {\"feed\": URL}", at: ["source"])
        }
        let kinds = members.filter { Self.members[$0.name] != nil }
        guard let kind = kinds.first, kinds.count == 1, let known = Self.members[kind.name] else {
            let names = Self.members.keys.sorted().joined(separator: ", ")
            throw DefinitionFault("source must have exactly one of \(names)", at: ["source"])
        }
        if let stranger = members.first(where: { $0.name != kind.name && !known.contains($0.name) }) {
            let names = known.union([kind.name]).sorted().joined(separator: ", ")
            throw DefinitionFault(
                "unknown member \"\(stranger.name)\"; the members of a source with \(kind.name) are \(names)",
                at: ["source", stranger.name])
        }
        switch kind.name {
        case "urls": self = .urls(try Self.urls(kind))
        case "capture": self = .capture(try Self.urls(kind))
        case "feed":
            self = .feed(
                url: try Self.url(kind.value, ["source", "feed"]), enclosures: try Self.bool(json, "enclosures"))
        case "sitemap": self = .sitemap(url: try Self.url(kind.value, ["source", "sitemap"]))
        default:
            let next = try Self.text(json, "next") ?? "link"
            self = .pages(
                url: try Self.url(kind.value, ["source", "pages"]),
                next: next == "link" ? .link : .pointer(try Self.pointer(next, "next")),
                items: try Self.pointer(try Self.text(json, "items") ?? "", "items"))
        }
    }

    /// The further members of each kind.
    private static let members: [String: Set<String>] = [
        "urls": [], "feed": ["enclosures"], "sitemap": [], "pages": ["next", "items"], "capture": [],
    ]

    private static func urls(_ member: JSON.Member) throws(DefinitionFault) -> [String] {
        guard let elements = member.value.arrayValue, !elements.isEmpty, elements.count <= urlLimit else {
            throw DefinitionFault(
                "\(member.name) must be an array of 1 to \(urlLimit) URLs", at: ["source", member.name])
        }
        var urls: [String] = []
        for (index, element) in elements.enumerated() {
            urls.append(try url(element, ["source", member.name, "\(index)"]))
        }
        return urls
    }

    private static func url(_ json: JSON, _ pointer: JSONPointer) throws(DefinitionFault) -> String {
        guard let text = json.stringValue else { throw DefinitionFault("expected the text of a URL", at: pointer) }
        do {
            // The query keeps its escapes, which may be part of a signature.
            return try CanonicalURL(text).requestURL
        } catch {
            throw DefinitionFault("\(error)", at: pointer)
        }
    }

    private static func bool(_ json: JSON, _ name: String) throws(DefinitionFault) -> Bool {
        guard let value = json[name], value != .null else { return false }
        guard let bool = value.boolValue else {
            throw DefinitionFault("\(name) must be true or false", at: ["source", name])
        }
        return bool
    }

    private static func text(_ json: JSON, _ name: String) throws(DefinitionFault) -> String? {
        guard let value = json[name], value != .null else { return nil }
        guard let text = value.stringValue else {
            throw DefinitionFault("\(name) must be a text", at: ["source", name])
        }
        return text
    }

    private static func pointer(_ text: String, _ name: String) throws(DefinitionFault) -> JSONPointer {
        do {
            return try JSONPointer(text)
        } catch {
            throw DefinitionFault("\(name): \(error.reason)", at: ["source", name])
        }
    }
}

extension SubscriptionSource.Next {
    fileprivate var text: String {
        switch self {
        case .link: "link"
        case .pointer(let pointer): pointer.description
        }
    }
}
