import HTTPTypes
import Primitives

/// The answer to `POST /download`.
package enum DownloadAnswer: Sendable {
    /// The entry is held: the outcome, the entry and the whole answer.
    case entry(Outcome, HeldEntry, JSON)
    /// The download runs or waits for its turn: its status.
    case started(JSON)

    /// The whole answer.
    package var json: JSON {
        switch self {
        case .entry(_, _, let json), .started(let json): json
        }
    }
}

extension APIClient {
    /// Gets a URL through the cache. Throws ``ClientError``.
    ///
    /// - Parameter waits: whether to wait for the entry; `false` only starts the download.
    package func download(_ url: String, _ options: DownloadOptions, waits: Bool = true) async throws -> DownloadAnswer
    {
        let fields: HTTPFields = waits ? [:] : [Self.prefer: "respond-async"]
        let reply = try await send(.post(options.json(url: url), to: ["download"], fields: fields))
        let json = try reply.json()
        if reply.status == 202 { return .started(json) }
        guard let outcome = json["outcome"]?.stringValue.flatMap(Outcome.init(rawValue:)) else {
            throw ClientError.unexpected("it has no outcome")
        }
        return .entry(outcome, try HeldEntry(json["entry"]), json)
    }

    private static let prefer = HTTPField.Name("Prefer")!
}
