import HTTPTypes
import Primitives
import TestSupport
import Testing

/// A client that checks every exchange against openapi.yaml, so that every end-to-end test tests the contract, too.
struct CheckedClient: Sendable {
    private let client: HTTPClient
    private static let document = Result { try OpenAPIDocument.repository() }

    init(port: UInt16) {
        client = HTTPClient(port: port)
    }

    /// Sends a request as `HTTPClient` does, and records an issue for each difference from the document.
    func request(
        _ method: String, _ target: String, fields: HTTPFields = [:], body: [UInt8] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        let reply = try await client.request(method, target, fields: fields, body: body)
        let document = try Self.document.get()
        let exchange = OpenAPIDocument.Exchange(
            method: method, target: Self.withoutNamespace(target),
            requestContentType: body.isEmpty ? nil : fields[.contentType], requestBody: body, status: reply.status,
            fields: reply.fields.map { ($0.name.rawName, $0.value) },
            body: reply.body)
        for violation in try document.violations(of: exchange) {
            Issue.record("openapi.yaml: \(violation)", sourceLocation: sourceLocation)
        }
        return reply
    }

    /// The target as the document has it, without the prefix `/@NAME` with which every call can begin.
    private static func withoutNamespace(_ target: String) -> String {
        guard target.hasPrefix("/@") || target.hasPrefix("/%40") else { return target }
        return String(target.dropFirst().drop { $0 != "/" })
    }

    /// Sends a request with a text as its body.
    func request(
        _ method: String, _ target: String, fields: HTTPFields = [:], text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        try await request(method, target, fields: fields, body: Array(text.utf8), sourceLocation: sourceLocation)
    }

    /// Runs `body` with a new connection. Its exchanges are not checked against the document.
    func withConnection<Result: Sendable>(
        _ body: @escaping @Sendable (RawConnection) throws -> Result
    ) async throws -> Result {
        try await client.withConnection(body)
    }
}
