import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The request rate of a token")
struct TokenRateTests {
    @Test("A token's rate also limits ready answers, and does not slow other tokens down")
    func rate() async throws {
        let start = ContinuousClock.now
        let passed = Locked(Duration.zero)
        let tokens = try TestTokens(
            [.init(name: "me"), .init(name: "slow", rate: 2)], clock: { start + passed.withLock { $0 } })
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            let target = "/entries/a/content"
            func ask(_ name: String) async throws -> HTTPReply {
                try await server.client.request("GET", target, fields: tokens.fields(name, for: target))
            }
            let put = tokens.fields("me", for: target)
            #expect(try await server.client.request("PUT", target, fields: put, text: "one").status == 200)
            for _ in 0..<2 {
                for _ in 0..<10 { #expect(try await ask("me").status == 200) }
                for _ in 0..<4 { #expect(try await ask("slow").status == 200) }
                let reply = try await ask("slow")
                #expect(reply.status == 429)
                #expect(reply["Retry-After"] == "1")
                #expect(try await ask("me").status == 200)
                passed.withLock { $0 += .seconds(2) }
            }
            #expect(server.space.cache.hitsAtHand > 0)
        }
    }

    @Test("Each element of a batch counts as one request against the token's rate, and so does each refused request")
    func batchRate() async throws {
        let start = ContinuousClock.now
        let passed = Locked(Duration.zero)
        let tokens = try TestTokens([.init(name: "slow", rate: 5)], clock: { start + passed.withLock { $0 } })
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            func ask(_ method: String, _ target: String, _ text: String = "") async throws -> Int {
                var fields = tokens.fields("slow", for: target)
                fields[.contentType] = "application/json"
                return try await server.client.request(method, target, fields: fields, text: text).status
            }
            let batch = "[" + Array(repeating: #"{"url": "x"}"#, count: 30).joined(separator: ",") + "]"
            #expect(try await ask("POST", "/downloads", batch) == 200)
            #expect(try await ask("GET", "/entries") == 429)
            // The burst is 10, so after the batch of 30 the balance is -20. At 5 requests a second, it reaches 1
            // after 4.2 seconds.
            passed.withLock { $0 = .milliseconds(4100) }
            #expect(try await ask("GET", "/entries") == 429)
            passed.withLock { $0 = .milliseconds(4300) }
            #expect(try await ask("GET", "/entries/none") == 404)
            #expect(try await ask("GET", "/entries/none") == 429)
        }
    }

    @Test("Retry-After of a token that exceeded its rate is the time until the token's next request is allowed")
    func retryAfter() async throws {
        let start = ContinuousClock.now
        let tokens = try TestTokens([.init(name: "slow", rate: 0.1)], clock: { start })
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            var fields = tokens.fields("slow", for: "/downloads")
            fields[.contentType] = "application/json"
            let batch = "[" + Array(repeating: #"{"url": "x"}"#, count: 30).joined(separator: ",") + "]"
            _ = try await server.client.request("POST", "/downloads", fields: fields, text: batch)
            let reply = try await server.client.request("GET", "/entries", fields: fields)
            #expect(reply.status == 429)
            // The burst is 1, so after the batch of 30 the balance is -29. At 0.1 requests a second, it reaches 1
            // after 300 seconds.
            #expect(reply["Retry-After"] == "300")
        }
    }
}
