import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Origin

/// Tests that a request with an effect is not repeated unseen.
@Suite struct RepetitionTests {
    private let client = OriginClient(
        configuration: .local {
            $0.threads = 1
            $0.retry = .never
        })

    /// An origin that takes every `DELETE` and resets its connection without an answer.
    private func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            if request.method == "DELETE" { return connection.reset() }
            try connection.respond(body: "right")
        }
    }

    @Test("A DELETE with a lost answer that must not be repeated reaches the origin once, not twice")
    func deletion() async throws {
        let origin = try origin()
        for _ in 0..<2 { try await client.get(origin.url("/a")) }
        let error = try await client.failure(origin.url("/a")) {
            $0.method = .delete
            $0.mayRepeat = false
        }
        #expect(!error.isBeforeRequest)
        #expect(origin.requests.map(\.method) == ["GET", "GET", "DELETE"])
        // Only a new connection tells that libcurl does not repeat the request.
        #expect(origin.requests.map(\.connection) == [0, 0, 1])
    }

    @Test("A request that must not be repeated is not tried again after it has reached the origin")
    func retries() async throws {
        let origin = try origin()
        let client = OriginClient(configuration: .local { $0.threads = 1 })
        for mayRepeat in [true, false] {
            let before = origin.requestCount
            _ = try await client.failure(origin.url("/a")) {
                $0.method = .delete
                $0.mayRepeat = mayRepeat
            }
            #expect(origin.requestCount - before == (mayRepeat ? 3 : 1))
        }
    }

    @Test("A GET that must not be repeated takes a connection of its own, and leaves the others for reuse")
    func reading() async throws {
        let origin = try origin()
        for mayRepeat in [true, false, true] {
            try await client.get(origin.url("/a")) { $0.mayRepeat = mayRepeat }
        }
        #expect(origin.requests.map(\.connection) == [0, 1, 0])
    }
}
