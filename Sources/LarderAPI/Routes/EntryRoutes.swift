import Larder
import MicroHTTPD
import Primitives

/// `/entries` and `/entries/:key`: metadata, changes and removal.
struct EntryRoutes: Sendable {
    private static let filterNames: Set<String> = ["url", "params", "prefix", "host", "tag", "state", "kind"]
    private static let changeLimit = 64 << 10

    let clock: any WallClock
    /// Returns the key of the entry that a request names.
    var key: @Sendable (Endpoint.Head) throws(Problem) -> String = { $0.parameter("key") }

    var routes: [Route] {
        [
            Route("GET", "/entries", .read, .calling("listEntries", list)),
            Route("DELETE", "/entries", .purge, .calling("removeEntries", checking: checkSelection, removeAll)),
            Route("GET", "/entries/:key", .read, .calling("getEntry", get)),
            Route("PATCH", "/entries/:key", .write, updating("updateEntry")),
            Route("DELETE", "/entries/:key", .purge, .calling("removeEntry", checking: checkKey, remove)),
        ]
    }

    private func list(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(Self.filterNames.union(["sort", "limit", "cursor"]))
        let filter = try Self.filter(query)
        let sort = try Self.sort(query)
        let (limit, cursor) = (try query.limit(), query["cursor"])
        try call.respondInTurn { () throws(Problem) in
            let page = try Problem.mapping(try head.entries.list(filter, sort: sort, limit: limit, cursor: cursor))
            let holders = try Problem.mapping(try head.entries.holders(of: page.entries))
            let now = clock.now()
            var object = JSONObjectWriter()
            let entries = page.entries.lazy.map { entry in
                Processor.offer()
                return entry.json(at: now, holders: holders[entry.key] ?? [])
            }
            object.add("entries", elements: entries)
            if let cursor = page.nextCursor { object.add("nextCursor", cursor) }
            return .json(consume object)
        }
    }

    private func get(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        head.entries.findHeldEntry(head.parameter("key")) { result in
            call.take(result, Problem.init) { found in
                guard let found else { return call.respond(Problem.noEntry) }
                call.respond(.json(found.entry.json(at: clock.now(), holders: found.holders)))
            }
        }
    }

    func updating(_ operation: String) -> Endpoint {
        .collecting(operation, limit: Self.changeLimit, checking: checkUpdate, update)
    }

    func checkKey(_ head: Endpoint.Head) throws(Problem) {
        _ = try head.query()
        let key = try key(head)
        try Problem.mapping(try head.entries.check(head.condition(at: clock.now()), on: key))
    }

    private func checkUpdate(_ head: Endpoint.Head) throws(Problem) {
        // RFC 9110 §13.2.1: errors in the rest of the head take precedence over the conditions.
        try BodyDecoding.checkJSON(contentType: head.request.field("Content-Type"))
        try checkKey(head)
    }

    private func update(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        let json = try BodyDecoding.json(body, contentType: head.request.field("Content-Type"))
        let fields = try JSONFields(json, known: ["ttl", "tags", "pinned"])
        let ttl = try fields.ttl("ttl")
        let tags = try fields.tags("tags").map { $0.sorted() }
        let pinned = try fields.bool("pinned")
        let key = try key(head)
        let condition = head.condition(at: clock.now())
        head.entries.patch(key, ttl: ttl, tags: tags, pinned: pinned, condition: condition) { result in
            switch result {
            case .success(.changed(let entry)):
                call.changed(key)
                call.respond(.json(entry.json(at: clock.now())))
            case .success(.removed): call.respondRemoved(1, key)
            case .success(.absent): call.respond(Problem.noEntry)
            case .failure(let error): call.respond(Problem(error))
            }
        }
    }

    private func remove(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let key = head.parameter("key")
        head.entries.remove(key, condition: head.condition(at: clock.now())) { result in
            call.take(result, Problem.init) { count in
                if count == 0 { call.respond(Problem.noEntry) } else { call.respondRemoved(count, key) }
            }
        }
    }

    /// Checks the conditions as `untagged`, because the list of entries has neither an ETag nor a date.
    private func checkSelection(_ head: Endpoint.Head) throws(Problem) {
        _ = try Self.selection(head)
        try head.checkCondition(at: clock.now(), untagged: true)
    }

    private static func selection(_ head: Endpoint.Head) throws(Problem) -> (filter: EntryFilter, isDryRun: Bool) {
        let query = try head.query(filterNames.union(["all", "dryRun"]))
        let filter = try filter(query)
        let all = try query.bool("all") ?? false
        guard all || filter != .all else {
            throw .invalid("the request selects no entries; give a filter, or all=true", pointer: "/all")
        }
        guard !all || filter == .all else {
            throw .invalid("all=true and a filter exclude each other; leave one of them out", pointer: "/all")
        }
        return (filter, try query.bool("dryRun") ?? false)
    }

    private func removeAll(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let (filter, isDryRun) = try Self.selection(head)
        if isDryRun {
            return try call.respondInTurn { () throws(Problem) in
                .removed(try Problem.mapping(try head.entries.count(matching: filter)))
            }
        }
        let what = filter.auditWords
        head.entries.remove(matching: filter) { result in
            call.take(result, Problem.init) { call.respondRemoved($0, what) }
        }
    }

    private static func filter(_ query: Query) throws(Problem) -> EntryFilter {
        var filter = EntryFilter.all
        filter.url = try query.canonicalURL()?.url.string
        if let text = try query.nonEmpty("prefix") { try add(prefix: text, to: &filter) }
        filter.host = try query.nonEmpty("host").map { (text) throws(Problem) in
            try Problem.mapping(try CanonicalURL.host(text)) { (error: InvalidURLPrefix) in
                .invalid(error, pointer: "/host")
            }
        }
        filter.tag = try query.nonEmpty("tag").map(Tags.spelling)
        filter.state = try query.value("state", "fresh or stale") { EntryFilter.State(rawValue: $0) }
        let kinds = Entry.Kind.listed.map(\.rawValue).joined(separator: ", ")
        filter.kind = try query.value("kind", "one of \(kinds)") { text in
            Entry.Kind.listed.first { $0.rawValue == text }
        }
        return filter
    }

    /// Sets the prefix in its stored spelling. Text with a slash begins a URL; other text may begin a key or a URL.
    private static func add(prefix text: String, to filter: inout EntryFilter) throws(Problem) {
        guard text.utf8.contains(UInt8(ascii: "/")) else {
            let limit = CanonicalURL.maximumLength
            guard text.utf8.count <= limit else { throw .invalid(.url(.tooLong(limit: limit)), pointer: "/prefix") }
            (filter.prefix, filter.urlPrefixes) = (text, URLPrefix.beginnings(withoutSlash: text))
            return
        }
        let prefix = try Problem.mapping(try URLPrefix(text)) { (error: InvalidURLPrefix) in
            .invalid(error, pointer: "/prefix")
        }
        (filter.prefix, filter.urlPrefixes) = (prefix.string, prefix.strings)
    }

    private static func sort(_ query: Query) throws(Problem) -> EntrySort {
        let orders = EntrySort.Order.allCases.map(\.rawValue).joined(separator: ", ")
        return try query.value("sort", "one of \(orders), with - in front to reverse the order") { text in
            let descending = text.hasPrefix("-")
            let order = EntrySort.Order(rawValue: String(text.dropFirst(descending ? 1 : 0)))
            return order.map { EntrySort($0, descending: descending) }
        } ?? .key
    }
}

extension Response {
    static func removed(_ count: Int) -> Response {
        .json(["removed": .number(count)])
    }
}

extension Call {
    func respondRemoved(_ count: Int, _ what: String) {
        if count > 0 { changed(what, count: count) }
        respond(.removed(count))
    }
}

extension EntryFilter {
    /// The text for the audit line. URLs come without their queries, which may contain secrets.
    fileprivate var auditWords: String {
        let words = stated.map { name, text in
            "\(name)=\(["url", "prefix"].contains(name) ? LoggedURL.text(of: text) : text)"
        }
        return words.isEmpty ? "all" : words.joined(separator: " ")
    }
}

extension Problem {
    /// A text that is too long gets a 414, like any URL in a query.
    fileprivate static func invalid(_ error: InvalidURLPrefix, pointer: String) -> Problem {
        if case .url(let error) = error { return .invalidURL(error, pointer: pointer, isInTarget: true) }
        return .invalid(error.description, pointer: pointer)
    }

    static let noEntry = Problem.notFound("the cache has no entry with this key")
}
