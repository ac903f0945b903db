import Primitives

/// The cache's view of a URL, as `GET /explain` reports it.
package struct Explanation: Sendable {
    /// Canonical.
    package let url: String
    package let key: String
    package let namespace: String
    /// Of the body, or of the file that a body would get; `nil` when the body is, or may be, in the slab.
    package let localPath: String?
    /// Whether a request would be a hit.
    package let isHit: Bool
    /// The reason for ``isHit``, for a person.
    package let detail: String
    package let entry: HeldEntry?
    /// The responses that `/fetch` stored for the URL, one for each variant.
    package let responses: [HeldEntry]
    package let json: JSON

    init(_ json: JSON) throws {
        guard let url = json["url"]?.stringValue, let key = json["key"]?.stringValue,
            let namespace = json["namespace"]?.stringValue, let isHit = json["hit"]?.boolValue,
            let detail = json["detail"]?.stringValue
        else { throw ClientError.unexpected("it has no explanation") }
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
    package func explain(_ url: String) async throws -> Explanation {
        try Explanation(try await send(APICall(["explain"], query: [("url", url)])).json())
    }
}
