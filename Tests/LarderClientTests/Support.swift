import HTTPTypes
import LarderClient
import Primitives
import TestSupport

extension APIClient {
    /// A client of `server`.
    static func of(
        _ server: ScriptedOrigin, configure: (inout APIClient.Configuration) -> Void = { _ in }
    ) throws -> APIClient {
        var configuration = APIClient.Configuration(server: try ServerAddress(server.url("/")))
        configure(&configuration)
        return APIClient(configuration)
    }
}

extension ScriptedOrigin {
    /// A server that answers with `piece` again and again, until the client stops reading.
    static func endless(_ piece: String) throws -> ScriptedOrigin {
        try ScriptedOrigin { _, connection in
            try connection.startChunks()
            while true { try connection.sendChunk(piece) }
        }
    }
}

extension ScriptedOrigin.Connection {
    /// Answers with `json`, in the type of a problem if `status` is an error.
    func respond(_ status: Int = 200, json: JSON, fields: HTTPFields = [:]) throws {
        var fields = fields
        fields[.contentType] = status < 400 ? "application/json" : "application/problem+json"
        try respond(status, fields: fields, body: json.text)
    }
}

/// An entry in the form of the API, with the members that the client reads.
func entryJSON(url: String, length: Int = 3) -> JSON {
    [
        "key": "k", "kind": "download", "url": .string(url), "state": "fresh", "contentLength": .number(length),
        "expiryDate": "2026-01-31T08:05:09.250Z",
    ]
}
