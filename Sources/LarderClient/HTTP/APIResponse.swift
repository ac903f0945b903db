import HTTPTypes
import Origin
import Primitives

/// A response whose head has arrived. A single task reads the body.
package struct APIResponse: Sendable {
    private static let collectLimit = 256 << 20

    package let status: Int
    package let fields: HTTPFields
    private let incoming: IncomingResponse
    private let server: ServerAddress

    /// Waits for the head.
    init(_ incoming: IncomingResponse, server: ServerAddress) async throws {
        switch await incoming.next() {
        case .head(let head):
            status = head.status
            fields = head.fields
        case .end(.failure(let error)): throw ClientError(error, server: server, hasAnswer: false)
        case .piece, .end(.success): throw ClientError.unreachable("\(server) answered without a head")
        }
        self.incoming = incoming
        self.server = server
    }

    /// Never empty; `nil` at the end. Throws ``ClientError`` when the body is incomplete.
    package func nextPiece() async throws -> [UInt8]? {
        switch await incoming.next() {
        case .piece(let bytes): return bytes
        case .end(.success): return nil
        case .end(.failure(let error)): throw ClientError(error, server: server, hasAnswer: true)
        case .head: throw ClientError.unexpected("it has two heads")
        }
    }

    /// At most 256 MiB.
    package func collect() async throws -> [UInt8] {
        var body: [UInt8] = []
        while let piece = try await nextPiece() {
            body += piece
            guard body.count <= Self.collectLimit else { throw ClientError.unexpected("it is too long") }
        }
        return body
    }

    /// Throws ``ClientError/unexpected(_:)`` when more than 16 MiB are kept of an incomplete line or event, because no
    /// answer of the API has such long parts, and the reader would fill the memory.
    func check(pendingBytes: Int) throws {
        guard pendingBytes <= 16 << 20 else { throw ClientError.unexpected("a part of it is too long") }
    }

    package func checkStatus() async throws {
        guard !(200..<300).contains(status) else { return }
        throw ClientError.refused(ServerProblem(status: status, fields: fields, body: try await collect()))
    }
}

package struct APIReply: Sendable {
    package let status: Int
    package let fields: HTTPFields
    package let body: [UInt8]

    package func json() throws -> JSON {
        do {
            return try JSON(parsing: body)
        } catch {
            throw ClientError.unexpected("it is not JSON: \(error)")
        }
    }
}
