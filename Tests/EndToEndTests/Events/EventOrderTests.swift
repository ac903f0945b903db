import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("/events: in the order in which it is so")
struct EventOrderTests {
    @Test("a download's start is told after the end of the one before it")
    func following() async throws {
        try await TestServer.withGatedOrigin { (server, origin, gate) async throws in
            let listener = try await server.listen("type=download.started&type=download.succeeded")
            let call: JSON = ["url": .string(origin.url("/a"))]
            async let first = server.download(call)
            try await origin.waitForRequests(1)
            // Who asks after that must not have what the origin was asked for before.
            #expect(try await server.client.request("DELETE", "/entries?all=true").status == 200)
            async let second = server.download(call)
            try await poll("the second") { server.space.downloads.laterCount(of: md5(origin.url("/a"))) == 1 }
            gate.open()
            #expect(try await first.status == 200)
            #expect(try await second.status == 200)
            let types = try await listener.wait(for: 4).map(\.type)
            #expect(types == ["download.started", "download.succeeded", "download.started", "download.succeeded"])
        }
    }
}
