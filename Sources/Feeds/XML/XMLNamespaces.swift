/// The namespaces in scope. Elements of feeds get the conventional prefix of their namespace: `dc:date` for any prefix
/// that is bound to Dublin Core, and no prefix for the vocabularies of RSS and Atom. A prefix of an unknown or
/// undeclared namespace stays, because many feeds lack a declaration.
struct XMLNamespaces {
    /// The conventional prefixes of the namespaces in scope for each prefix, innermost last; `nil` stands for an
    /// unknown namespace. The default namespace has the empty prefix. A URI is looked up only once.
    private var bindings: [String: [String?]] = [:]
    /// The prefixes that the open elements declare, with the depth of the element.
    private var declared: [(depth: Int, prefix: String)] = []
    /// The names that were already looked up in the present scope.
    private var known: [String: String] = [:]

    mutating func declare(_ prefix: String, _ uri: String, depth: Int) {
        bindings[prefix, default: []].append(uri.asToken.flatMap(Self.prefix))
        declared.append((depth, prefix))
        known.removeAll()
    }

    /// Ends the scope of the declarations of the element at `depth`.
    mutating func leave(depth: Int) {
        while let last = declared.last, last.depth >= depth {
            declared.removeLast()
            bindings[last.prefix]?.removeLast()
            known.removeAll()
        }
    }

    /// The name in lower case, such as `dc:date`.
    mutating func name(_ qualified: String) -> String {
        if let name = known[qualified] { return name }
        let parts = qualified.split(separator: ":", maxSplits: 1)
        let prefix = parts.count == 2 ? String(parts[0]) : ""
        let local = parts.last?.lowercased() ?? ""
        let conventional = (bindings[prefix]?.last ?? nil) ?? prefix.lowercased()
        let name = conventional.isEmpty ? local : conventional + ":" + local
        if known.count < 1000 { known[qualified] = name }
        return name
    }

    private static func prefix(_ uri: String) -> String? {
        uri.contains("backend.userland.com/rss") ? "" : prefixes[uri]
    }

    private static let prefixes: [String: String] = [
        "http://blogs.law.harvard.edu/tech/rss": "", "http://purl.org/rss/1.0/": "",
        "http://my.netscape.com/rdf/simple/0.9/": "", "http://purl.org/rss/1.0/modules/rss091#": "",
        "http://purl.org/atom/ns#": "", "http://www.w3.org/2005/atom": "", "http://purl.org/pie/": "",
        "http://purl.org/echo/": "", "http://example.com/newformat#": "", "http://example.com/necho": "",
        "uri/of/echo/namespace#": "", "http://www.sitemaps.org/schemas/sitemap/0.9": "",
        "http://www.google.com/schemas/sitemap/0.84": "", "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
        "http://purl.org/dc/elements/1.1/": "dc", "http://purl.org/dc/terms/": "dcterms",
        "http://purl.org/rss/1.0/modules/content/": "content",
        "http://purl.org/rss/1.0/modules/syndication/": "sy", "http://www.w3.org/1999/xhtml": "xhtml",
        "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes", "http://example.com/dtds/podcast-1.0.dtd": "itunes",
        "http://search.yahoo.com/mrss": "media", "http://search.yahoo.com/mrss/": "media",
        "http://rssnamespace.org/feedburner/ext/1.0": "feedburner", "http://www.w3.org/2000/svg": "svg",
    ]
}
