import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Takes a few hundred megabytes. `scripts/test` runs this suite alone, after the other tests.
@Suite("The memory limit of request bodies")
struct BodyMemoryScaleTests {
    private static let clients = 48

    @Test("48 simultaneous requests with bodies of 8 MiB get 200 or 503, lose no entry, and free their memory")
    func large() async throws {
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(directory: directory.path("cache"))
        #expect(try await larder.client.request("PUT", "/entries/held/content", text: "held").status == 200)
        // The body of an empty batch: `[`, white space, and later `]`.
        let body = Array("[".utf8) + [UInt8](repeating: 0x20, count: 8 << 20 - 2)
        let head = """
            POST /downloads HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
            Content-Length: \(body.count + 1)\r\n\r\n
            """
        let sent = Counter("bodies that lack a byte")
        let port = larder.port
        let statuses = try await concurrently(Self.clients) { _ in
            try await HTTPClient(port: port, limit: .seconds(60)).withConnection { connection in
                try connection.send(head)
                // The server may close a refused connection before the client has sent the whole body.
                try? connection.send(body)
                sent.add()
                // No client sends its last byte before all clients have sent the rest of their bodies.
                try sent.waitBlocking(for: Self.clients, limit: .seconds(60))
                try? connection.send("]")
                return try connection.readReply().status
            }
        }
        #expect(Set(statuses) == [200, 503], "\(statuses)")
        #expect(larder.peakResidentBytes < 640 << 20, "\(larder.peakResidentBytes >> 20) MiB")
        for _ in 0..<3 {
            let reply = try await larder.client.request(
                "POST", "/downloads", fields: [.contentType: "application/json"], body: body + Array("]".utf8))
            #expect(reply.status == 200)
        }
        #expect(try await larder.client.request("GET", "/entries/held/content").text == "held")
        #expect(try await larder.stop() == .status(0))
        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(0))
    }
}
