import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// A client that works in a single namespace.
struct NamespaceClient {
    let server: TestServer
    let name: String

    @discardableResult
    func request(
        _ method: String, _ target: String, fields: HTTPFields = [:], text: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        var (fields, target) = (fields, target)
        if target.hasPrefix("/fetch") {
            target = "/@\(name)" + target
        } else {
            fields[HTTPField.Name("Larder-Namespace")!] = name
        }
        if target.hasPrefix("/download"), method == "POST" { fields[.contentType] = "application/json" }
        return try await server.client.request(
            method, target, fields: fields, body: Array(text.utf8), sourceLocation: sourceLocation)
    }

    func get(
        _ target: String, fields: HTTPFields = [:], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        try await request("GET", target, fields: fields, sourceLocation: sourceLocation)
    }

    /// The number of entries in the namespace, up to 1,000, or -1 if the answer is not a list.
    var count: Int {
        get async throws { try await get("/entries?limit=1000").member("entries")?.arrayValue?.count ?? -1 }
    }
}

extension TestServer {
    func inNamespace(_ name: String) -> NamespaceClient { NamespaceClient(server: self, name: name) }

    /// `PUT /namespaces/:name`.
    @discardableResult
    func putNamespace(
        _ name: String, _ json: JSON = [:], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        try await client.request(
            "PUT", "/namespaces/\(name)", fields: [.contentType: "application/json"], body: json.utf8,
            sourceLocation: sourceLocation)
    }

    /// The names of the directories that hold a namespace's index, sorted.
    var namespaceDirectories: [String] {
        get throws {
            let cache = directory.path("cache")
            return try FileManager.default.contentsOfDirectory(atPath: cache)
                .filter { FileManager.default.fileExists(atPath: "\(cache)/\($0)/index.sqlite") }.sorted()
        }
    }
}
