import HTTPTypes
import Primitives

/// The answer to `POST /download`, with the whole JSON.
package enum DownloadAnswer: Sendable {
    case entry(Outcome, HeldEntry, JSON)
    /// The JSON is the status of a download that runs or waits for its turn.
    case started(JSON)

    package var json: JSON {
        switch self {
        case .entry(_, _, let json), .started(let json): json
        }
    }
}

extension APIClient {
    /// Without `waits`, only starts the download.
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
