import HTTPTypes
import Primitives

extension APIClient {
    private static let pagePartLimit = 1000
    /// The longest wait that the server accepts, in seconds.
    private static let waitLimit = 300

    /// Starts a capture, or joins the running capture of the page. Without `waits`, returns at once. With `waits`,
    /// returns the page after the end of the capture, however long the capture takes. Throws ``ClientError``, also
    /// when the capture failed or was cancelled.
    ///
    /// `pollInterval` is the pause between two questions after the server has ended its own wait of 5 minutes.
    package func capture(
        _ url: String, _ options: CaptureOptions, waits: Bool, pollInterval: Duration = .seconds(1)
    ) async throws -> HeldPage {
        let fields: HTTPFields = waits ? [Self.prefer: "wait=\(Self.waitLimit)"] : [:]
        let reply = try await send(.post(options.json(url: url), to: ["pages"], fields: fields))
        let page = try HeldPage(try reply.json())
        guard waits, reply.status == 202 else { return page }
        return try await end(of: page.key, pollInterval: pollInterval)
    }

    private func end(of key: String, pollInterval: Duration) async throws -> HeldPage {
        let end = try await poll(every: pollInterval) {
            try await page(key)
        } until: {
            $0.lastCapture == nil || $0.failure != nil || !$0.isRunning
        }
        // A server knows each capture that it has accepted, until it is restarted.
        guard end.lastCapture != nil else {
            throw ClientError.broken("the server has no record of the capture, perhaps after a restart")
        }
        if let problem = end.failure { throw ClientError.refused(problem) }
        return end
    }

    /// Returns the page with a key in either form. Throws ``ClientError``, also when the server has no such page.
    package func page(_ key: String) async throws -> HeldPage {
        try HeldPage(try await send(APICall(["pages", key])).json())
    }

    /// Lists the pages that match all filters that are not `nil`, by key, a part of the list at a time. A part may be
    /// empty although more parts follow.
    package func pages(
        tag: String?, state: String?, text: String?, _ body: ([HeldPage]) throws -> Void
    ) async throws {
        var cursor: String?
        repeat {
            let query: APICall.Query = [
                ("tag", tag), ("state", state), ("q", text), ("limit", String(Self.pagePartLimit)), ("cursor", cursor),
            ]
            let part = try await send(APICall(["pages"], query: query)).json()
            try body(try (part["pages"]?.arrayValue ?? []).map { try HeldPage($0) })
            cursor = part["nextCursor"]?.stringValue
        } while cursor != nil
    }

    /// Returns the address of a view of the page, for a browser, which needs no token for it. Throws ``ClientError``,
    /// also when the server has no such page.
    package func viewAddress(of key: String) async throws -> String {
        try await withResponse(to: APICall(["pages", key, "view"])) { response in
            guard response.status == 303 else {
                try await response.checkStatus()
                throw ClientError.unexpected("expected status 303 with the address of the view, got \(response.status)")
            }
            guard let address = response.fields[.location].flatMap(configuration.server.resolve) else {
                throw ClientError.unexpected("the address of the view is missing or invalid")
            }
            return address
        }
    }

    /// Removes the page, and cancels its running capture. Returns the number of removed entries, which is 0 when the
    /// page had only a running capture. Throws ``ClientError``, also when the server has no such page.
    package func remove(page key: String) async throws -> Int64 {
        try removedCount(in: try await send(APICall(.delete, ["pages", key])))
    }
}

extension ServerAddress {
    /// The address for the field `Location` of an answer: an http or https URL, or an absolute path. A path lies below
    /// this address, unless a proxy has already added the path of this address. `nil` for any other text.
    func resolve(_ location: String) -> String? {
        if location.hasPrefix("http://") || location.hasPrefix("https://") { return location }
        guard location.hasPrefix("/"), !location.hasPrefix("//") else { return nil }
        // The scheme, an empty part, the host, and the parts of the path.
        let parts = description.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, location.hasPrefix("/\(parts[3])/") else { return description + location }
        return parts[..<3].joined(separator: "/") + location
    }
}

/// The options of a capture. An option of `nil` is not sent, so the default of the server applies.
package struct CaptureOptions: Sendable {
    /// `auto`, `static` or `rendered`; the server checks the mode.
    package var mode: String?
    package var ttl: Seconds?
    /// Whether each view of the page restarts the ttl.
    package var updateExpiry = false
    package var tags: [String] = []
    package var pinned = false
    /// The caller's own document, which replaces the document of the origin.
    package var html: String?
    /// Fields for requests to the page's own origin.
    package var headers: [(name: String, value: String)] = []
    /// Cookies for the page's own origin, each in the form `NAME=VALUE`.
    package var cookies: [String] = []
    /// The time limit of the capture.
    package var maxSeconds: Int?

    package init() {}

    func json(url: String) -> JSON {
        var members: [JSON.Member] = [.init("url", .string(url))]
        func add(_ name: String, _ value: JSON?) {
            if let value { members.append(.init(name, value)) }
        }
        add("mode", mode.map(JSON.string))
        add("ttl", ttl?.json)
        if updateExpiry { add("updateExpiry", true) }
        if !tags.isEmpty { add("tags", .array(tags.map(JSON.string))) }
        if pinned { add("pinned", true) }
        if !headers.isEmpty { add("headers", .object(headers.map { .init($0.name, .string($0.value)) })) }
        if !cookies.isEmpty { add("cookies", .array(cookies.map(JSON.string))) }
        add("maxSeconds", maxSeconds.map { .number($0) })
        add("html", html.map(JSON.string))
        return .object(members)
    }
}
