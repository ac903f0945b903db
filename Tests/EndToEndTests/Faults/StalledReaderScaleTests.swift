import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Hundreds of clients request a large body and read no byte. `scripts/test` runs this suite alone, after the other
/// tests.
@Suite("Clients that stall", .serialized)
struct StalledReaderScaleTests {
    private static let count = 800
    private static let size = 4 << 20

    /// The kinds of large bodies.
    enum Body: CaseIterable {
        /// The body of an entry that `PUT …/content` stored.
        case content
        /// A range of an entry's body, small enough for the server to read it as a whole.
        case part
        /// A response that `/fetch` has stored.
        case stored
        /// A response that is still arriving from the origin.
        case live
    }

    @Test(
        "Stalled clients take at most 16 MiB together plus 32 KiB each, and no descriptors except their sockets",
        arguments: Body.allCases)
    func stalled(body: Body) async throws {
        let bytes = [UInt8](repeating: 0x78, count: Self.size)
        let end = Gate("the end of the body")
        defer { end.open() }
        let origin = try ScriptedOrigin { request, connection in
            try connection.sendHead(fields: [.contentLength: "\(bytes.count)", .cacheControl: "max-age=60"])
            if request.target == "/live" {
                try connection.send([Array(bytes.dropLast()), [0x78]], gates: [end])
            } else {
                try connection.send(bytes)
            }
        }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--max-connections-per-client", "0"])
        #expect(try await larder.client.request("PUT", "/entries/big/content", body: bytes).status == 200)
        let (target, fields): (String, HTTPFields) =
            switch body {
            case .content: ("/entries/big/content", [:])
            case .part: ("/entries/big/content", [.range: "bytes=1000-200000"])
            case .stored: ("/fetch/\(origin.url("/stored"))", [:])
            case .live: ("/fetch/\(origin.url("/live"))", [:])
            }
        if body == .stored { #expect(try await larder.client.request("GET", target).body.count == Self.size) }
        let port = larder.port
        let before = (larder.residentBytes, try Self.descriptors(of: larder))
        let clients = try await blocking {
            try (0..<Self.count).map { _ in
                let client = try RawConnection(port: port)
                try client.sendRequest("GET", target, fields: fields)
                return client
            }
        }
        // A received head shows that the server has also begun to write the body.
        let statuses = try await blocking { try Set(clients.map { try $0.readHead().status }) }
        #expect(statuses == [body == .part ? 206 : 200])
        let after = (larder.residentBytes, try Self.descriptors(of: larder))
        #expect(after.1 - before.1 < Self.count + 16)
        let each = (after.0 - before.0 - 16 << 20) / Self.count
        #expect(each < 32 << 10, "\(each >> 10) KiB each")
        end.open()
        let length = body == .part ? 199_001 : Self.size
        for client in [clients[0], clients[Self.count - 1]] {
            #expect(try await blocking { try client.read(length).count } == length)
        }
        for client in clients { client.close() }
        #expect(try await larder.stop() == .status(0))
    }

    private static func descriptors(of larder: LarderProcess) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(larder.process.pid)/fd").count
    }
}
