import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The size limit of files")
struct FileLimitTests {
    private static let words = "File too large"

    @Test("A body over the file size limit gets 500 and changes no entry, and the server goes on")
    func limit() async throws {
        let body = [UInt8](repeating: 3, count: 3 << 20)
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: body)
        }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        let larder = try await LarderProcess(
            directory: directory.path("cache"), arguments: ["--layout", "hashed", "--inline-limit", "0"])
        let client = larder.client
        #expect(try await client.request("PUT", "/entries/held/content", body: body).status == 200)
        try await larder.setLimit("fsize", 1 << 20)
        for key in ["held", "new"] {
            let reply = try await client.request("PUT", "/entries/\(key)/content", body: body)
            #expect(reply.status == 500)
            #expect(reply.text.contains(Self.words), "\(reply.text)")
        }
        let call: JSON = ["url": .string(origin.url("/a")), "ttl": 60]
        let download = try await client.request(
            "POST", "/download", fields: [.contentType: "application/json"], body: call.utf8)
        #expect(download.status == 500)
        #expect(download.text.contains(Self.words), "\(download.text)")
        // A response that cannot be stored may break off, but the client notices a body that is too short.
        let fetched = try? await client.request("GET", "/fetch/" + origin.url("/b"))
        #expect(fetched == nil || fetched?.status != 200 || fetched?.body == body)
        #expect(try await client.request("GET", "/entries/held/content").body == body)
        #expect(try await client.request("PUT", "/entries/small/content", text: "small").status == 200)
        #expect(try await client.request("GET", "/entries").member("entries")?.arrayValue?.count == 2)

        try await larder.setLimit("fsize", 1 << 30)
        #expect(try await client.request("PUT", "/entries/new/content", body: body).status == 200)
        #expect(try await client.request("GET", "/fetch/" + origin.url("/b")).body == body)
        #expect(try await larder.stop() == .status(0))
        #expect(try await LarderProcess.verify(directory.path("cache")).exit == .status(0))
    }
}
