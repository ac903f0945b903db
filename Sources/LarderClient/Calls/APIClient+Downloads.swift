import HTTPTypes
import Primitives

/// The result of a successful download.
package struct DownloadedEntry: Sendable {
    package let outcome: Outcome
    package let entry: HeldEntry
}

extension DownloadedEntry {
    init(_ json: JSON) throws {
        guard let outcome = json["outcome"]?.stringValue.flatMap(Outcome.init(rawValue:)) else {
            throw ClientError.unexpected("it has no outcome")
        }
        self.init(outcome: outcome, entry: try HeldEntry(json["entry"]))
    }
}

extension APIClient {
    /// Without `waits`, a miss only starts the download: `json` is the download's status, and `result` is `nil`.
    package func download(
        _ url: String, _ options: DownloadOptions, waits: Bool = true
    ) async throws -> (json: JSON, result: DownloadedEntry?) {
        let fields: HTTPFields = waits ? [:] : [Self.prefer: "respond-async"]
        let reply = try await send(.post(options.json(url: url), to: ["download"], fields: fields))
        let json = try reply.json()
        return (json, reply.status == 202 ? nil : try DownloadedEntry(json))
    }

    static let prefer = HTTPField.Name("Prefer")!

    /// Returns at most a thousand running downloads, the latest start first.
    package func runningDownloads() async throws -> [RunningDownload] {
        let json = try await send(APICall(["downloads"], query: [("limit", "1000")])).json()
        return (json["downloads"]?.arrayValue ?? []).compactMap { RunningDownload($0) }
    }
}

/// A download that is running or queued.
package struct RunningDownload: Hashable, Sendable {
    /// The canonical URL.
    package let url: String
    package let receivedBytes: Int64
    /// In bytes; `nil` when the origin did not state it.
    package let totalBytes: Int64?
    /// The average since the start.
    package let bytesPerSecond: Double
}

extension RunningDownload {
    /// `nil` for a download that has ended.
    init?(_ json: JSON) {
        guard json["state"] == "running", let url = json["url"]?.stringValue,
            let received = json["receivedBytes"]?.countValue
        else { return nil }
        self.init(
            url: url, receivedBytes: received, totalBytes: json["totalBytes"]?.countValue,
            bytesPerSecond: json["bytesPerSecond"]?.doubleValue ?? 0)
    }
}

/// The options of a download. A duration of `nil` is not sent.
package struct DownloadOptions: Sendable {
    /// `nil`: the lifetime that the origin states, else the server's default ttl.
    package var ttl: Seconds?
    /// Whether a hit restarts the ttl of the entry.
    package var updateExpiry = false
    /// Whether to ask the origin even if the entry is fresh.
    package var refresh = false
    /// The time after the expiry date in which the stale entry is the answer, and is revalidated in the background.
    package var staleWhileRevalidate: Seconds?
    /// The time after the expiry date in which the server answers with the stale entry when the origin fails.
    package var staleIfError: Seconds?
    /// Parameters of the URL, in the given order; a name may occur several times.
    package var params: [(name: String, value: String)] = []
    /// Fields for the request to the origin.
    package var headers: [(name: String, value: String)] = []
    package var tags: [String] = []
    package var pinned = false

    package init() {}

    /// `ttl` overrides the option of the same name.
    func json(url: String, ttl: Seconds? = nil) -> JSON {
        var members: [JSON.Member] = [.init("url", .string(url))]
        func add(_ name: String, _ value: JSON?) {
            if let value { members.append(.init(name, value)) }
        }
        add("ttl", (ttl ?? self.ttl)?.json)
        add("staleWhileRevalidate", staleWhileRevalidate?.json)
        add("staleIfError", staleIfError?.json)
        for (name, isSet) in [("updateExpiry", updateExpiry), ("refresh", refresh), ("pinned", pinned)] where isSet {
            add(name, true)
        }
        var fields = FormFields()
        for (name, value) in params { fields.append(value, to: name) }
        if !params.isEmpty { add("params", fields.json) }
        if !headers.isEmpty { add("headers", .object(headers.map { .init($0.name, .string($0.value)) })) }
        if !tags.isEmpty { add("tags", .array(tags.map(JSON.string))) }
        return .object(members)
    }
}

/// A duration as the user writes it, such as `3600`, `0.5`, `15m` or `7d`. The server decides whether it is too long.
package struct Seconds: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    private let hasUnit: Bool

    /// `nil` when the text is no number in JSON's form, with or without a unit (``Primitives/DurationText``), or is
    /// negative.
    package init?(_ text: String) {
        guard let duration = DurationText(text) else { return nil }
        let number = String(Substring(duration.hasUnit ? text.utf8.dropLast() : text.utf8[...]))
        guard case .number? = try? JSON(parsing: number), !number.hasPrefix("-") else { return nil }
        description = text
        hasUnit = duration.hasUnit
    }

    var json: JSON { hasUnit ? .string(description) : .number(description) }
}

package enum Outcome: String, Hashable, Sendable, CaseIterable {
    case downloaded
    /// The origin confirmed that the stored entry is still valid.
    case revalidated
    case joined
    /// The answer is an expired entry from the cache.
    case stale
    /// The answer is a fresh entry from the cache; the origin was not contacted.
    case cached
}
