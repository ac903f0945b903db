import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The order of events")
struct EventOrderTests {
    @Test("The start of a download is reported after the end of the earlier download of its URL")
    func following() async throws {
        try await TestServer.withGatedOrigin { (server, origin, gate) async throws in
            let listener = try await server.listen("type=download.started&type=download.succeeded")
            let call: JSON = ["url": .string(origin.url("/a"))]
            async let first = server.download(call)
            try await origin.waitForRequests(1)
            // A call after this purge must not get the body of the earlier request to the origin.
            #expect(try await server.client.request("DELETE", "/entries?all=true").status == 200)
            async let second = server.download(call)
            try await poll("the second download") { server.space.downloads.laterCount(of: md5(origin.url("/a"))) == 1 }
            gate.open()
            #expect(try await first.status == 200)
            #expect(try await second.status == 200)
            let types = try await listener.wait(for: 4).map(\.type)
            #expect(types == ["download.started", "download.succeeded", "download.started", "download.succeeded"])
        }
    }
}
