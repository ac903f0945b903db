import Primitives

/// What a URL is to the cache, as `GET /explain` says it.
public struct Explanation: Sendable {
    /// The canonical URL.
    public let url: String
    /// The key.
    public let key: String
    /// The namespace that was looked into.
    public let namespace: String
    /// Where the body is, or would be; `nil` when that is, or may be, in the slab.
    public let localPath: String?
    /// Whether the cache would answer.
    public let isHit: Bool
    /// Why, for a person to read.
    public let detail: String
    /// What is held; `nil` when nothing is.
    public let entry: HeldEntry?
    /// What `/fetch` stored for the URL, a variant each.
    public let responses: [HeldEntry]
    /// All of it.
    public let json: JSON

    init(_ json: JSON) throws {
        guard let url = json["url"]?.stringValue, let key = json["key"]?.stringValue,
            let namespace = json["namespace"]?.stringValue, let isHit = json["hit"]?.boolValue,
            let detail = json["detail"]?.stringValue
        else { throw ClientError.unexpected("it explains nothing") }
        self.url = url
        self.key = key
        self.namespace = namespace
        localPath = json["localPath"]?.stringValue
        self.isHit = isHit
        self.detail = detail
        entry = try json["entry"] == .null ? nil : HeldEntry(json["entry"])
        responses = try (json["responses"]?.arrayValue ?? []).map { try HeldEntry($0) }
        self.json = json
    }
}

extension APIClient {
    /// Asks what a URL is to the cache. Throws ``ClientError``.
    public func explain(_ url: String) async throws -> Explanation {
        try Explanation(try await send(APICall(["explain"], query: [("url", url)])).json())
    }
}
