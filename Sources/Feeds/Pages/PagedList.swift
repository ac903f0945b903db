import Primitives

/// Collects the items of a JSON API that answers in pages.
///
///     var list = PagedList("https://api.example.com/items", next: .link, items: ["data"])
///     while let url = list.next {
///         let answer = try await download(url)
///         list.receive(answer.body, links: answer.fields["Link"], url: answer.url)
///     }
///     print(list.outcome)
package struct PagedList: Sendable {
    /// Where a page names the next page.
    package enum Next: Hashable, Sendable {
        /// In the field `Link` with `rel=next` (RFC 8288).
        case link
        /// In the body: a URL. The list ends at a page where the value is absent, `null`, `false` or empty.
        case pointer(JSONPointer)
    }

    package struct Limits: Hashable, Sendable {
        package var pages: Int
        package var items: Int
        /// The most bytes of a page.
        package var bytes: Int
        /// The most bytes of all links and ids, each link together with the URL of its page.
        package var linkBytes: Int

        package init(
            pages: Int = 1000, items: Int = 100_000, bytes: Int = 32 << 20, linkBytes: Int = 64 << 20
        ) {
            self.pages = pages
            self.items = items
            self.bytes = bytes
            self.linkBytes = linkBytes
        }
    }

    /// The URL of the page to fetch; `nil` at the end, and after a page that could not be read.
    package private(set) var next: String?
    /// The items of all pages so far. An item has a link, and an id if its object has a member `id` that is not too
    /// long.
    package private(set) var items: [FeedItem] = []
    /// Whether the last page named a page that was already read.
    package private(set) var endsInLoop = false
    private let source: Next
    private let pointer: JSONPointer
    private let limits: Limits
    private var fault: SourceFault?
    private var budget: LinkBudget
    /// The canonical URLs of the pages.
    private var visited: Set<String> = []

    /// `items` leads to the array of a page. An element is a URL, or an object with a URL as its first member of `url`,
    /// `href`, `link` and `id`.
    package init(_ url: String, next source: Next, items pointer: JSONPointer, limits: Limits = Limits()) {
        self.source = source
        self.pointer = pointer
        self.limits = limits
        budget = LinkBudget(limit: limits.linkBytes)
        proceed(to: url)
    }

    /// All items, once ``next`` is `nil`. A page that cannot be read makes the whole list unparsable, because a part of
    /// a list would look like a list that shrank.
    package var outcome: SourceOutcome<[FeedItem]> {
        if let fault { return .unparsable(fault.reason) }
        return items.isEmpty ? .empty(items) : .items(items)
    }

    /// Takes the page at ``next``. `links` are the values of its `Link` fields. `url` is its URL after redirections,
    /// against which its URLs are resolved.
    package mutating func receive(_ body: [UInt8], links: [String] = [], url: String) {
        guard next != nil else { return }
        next = nil
        do throws(SourceFault) {
            // Only redirects lead to a longer URL.
            guard url.utf8.count <= CanonicalURL.maximumLength else {
                throw SourceFault("the URL of the answer is over \(CanonicalURL.maximumLength) bytes")
            }
            let page = try read(body)
            try addItems(of: page, url: url)
            try advance(from: page, links, url: url)
        } catch {
            fail(error.reason)
        }
    }

    /// Reports that the page at ``next`` could not be fetched. The list ends.
    package mutating func fail(_ reason: String) {
        next = nil
        fault = fault ?? SourceFault("page \(visited.count): \(reason)")
    }

    private func read(_ body: [UInt8]) throws(SourceFault) -> JSON {
        guard body.count <= limits.bytes else { throw SourceFault("the answer is over \(limits.bytes) bytes") }
        if SourceBody.isPage(body) { throw SourceFault("the answer is an HTML page, not JSON") }
        do throws(JSON.SyntaxError) {
            return try JSON(parsing: body, valueLimit: 2_000_000)
        } catch {
            throw SourceFault("the JSON cannot be read: \(error)")
        }
    }

    private mutating func addItems(of page: JSON, url: String) throws(SourceFault) {
        guard let elements = pointer.value(in: page)?.arrayValue else {
            throw SourceFault(
                "there is no array at \"\(pointer)\"; name the place of the list with \"items\", such as \"/data\"")
        }
        for (index, element) in elements.enumerated() {
            guard items.count < limits.items else { throw SourceFault("the list has over \(limits.items) items") }
            guard let item = try self.item(element, url: url) else {
                throw SourceFault("element \(index) of \"\(pointer)\" has no URL")
            }
            items.append(item)
        }
    }

    private mutating func item(_ element: JSON, url: String) throws(SourceFault) -> FeedItem? {
        let names = ["url", "href", "link", "id"]
        let texts = [element.stringValue] + names.map { element[$0]?.stringValue }
        let limit = CanonicalURL.maximumLength
        guard let text = texts.compactMap(\.self).first(where: { !$0.isEmpty }), text.utf8.count <= limit else {
            return nil
        }
        try budget.spend(LinkBudget.overhead + text.utf8.count + url.utf8.count, of: "list")
        let link = URLReference.resolve(text, url)
        guard URLReference.isWebAddress(link), link.utf8.count <= limit else { return nil }
        var id = element["id"]?.stringValue
        if case .number(let number) = element["id"] { id = number }
        if id.map({ $0.utf8.count > limit }) == true { id = nil }
        try budget.spend(id?.utf8.count ?? 0, of: "list")
        var digest = ContentDigest()
        digest.add(link.utf8)
        return FeedItem(id: id, link: link, digest: digest.text)
    }

    private mutating func advance(from page: JSON, _ links: [String], url: String) throws(SourceFault) {
        let target: String?
        switch source {
        case .link: target = LinkField.target(of: "next", in: links)
        case .pointer(let pointer):
            switch pointer.value(in: page) {
            case nil, .null, .bool(false): target = nil
            case .string(let text): target = text.isEmpty ? nil : text
            default: throw SourceFault("the value at \"\(pointer)\" is no URL")
            }
        }
        guard let target else { return }
        guard visited.count < limits.pages else { throw SourceFault("the list has over \(limits.pages) pages") }
        proceed(to: URLReference.resolve(target, url))
    }

    private mutating func proceed(to url: String) {
        do {
            // The list ends if the page was already read: some APIs let the last page name itself.
            if visited.insert(try CanonicalURL(url).string).inserted { next = url } else { endsInLoop = true }
        } catch {
            fault = SourceFault("the URL of page \(visited.count + 1) is not valid: \(error)")
        }
    }
}
