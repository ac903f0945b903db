import Primitives

/// A credential as the API shows it, without its fields.
package struct StoredCredential: Hashable, Sendable {
    package let name: String
    /// The origins that may get the fields.
    package let origins: [String]
    package let json: JSON

    /// Throws ``ClientError/unexpected(_:)`` when `json` is no credential.
    package init(_ json: JSON) throws {
        guard let name = json["name"]?.stringValue else { throw ClientError.unexpected("it has no credential") }
        self.name = name
        origins = (json["origins"]?.arrayValue ?? []).compactMap(\.stringValue)
        self.json = json
    }
}

/// All calls throw ``ClientError``.
extension APIClient {
    /// Stores or replaces a credential: `headers` are the fields for requests to `origins`.
    package func put(
        credential name: String, origins: [String], headers: [(name: String, value: String)]
    ) async throws -> StoredCredential {
        let json: JSON = [
            "origins": .array(origins.map(JSON.string)),
            "headers": .object(headers.map { .init($0.name, .string($0.value)) }),
        ]
        return try StoredCredential(try await send(.put(json, to: ["credentials", name])).json())
    }

    package func credentials() async throws -> [StoredCredential] {
        let json = try await send(APICall(["credentials"])).json()
        return try (json["credentials"]?.arrayValue ?? []).map { try StoredCredential($0) }
    }

    /// Throws also when the server has no such credential.
    package func remove(credential name: String) async throws {
        _ = try await send(APICall(.delete, ["credentials", name]))
    }
}
