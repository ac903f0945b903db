import Primitives
import TestSupport
import Testing

@testable import DiskCache
@testable import Larder

struct EvictedMemberTests {
    @Test("A member that is evicted between its fetch and the switch of its generation comes back at once")
    func evicted() async throws {
        try await TestSubscriptions.withOne { test in
            let gate = Gate("the answer of /b")
            let origin = try ScriptedOrigin { request, connection in
                if request.target == "/b" { try gate.waitBlocking() }
                let isKnown = request["If-None-Match"] == "\"1\""
                try connection.respond(isKnown ? 304 : 200, fields: [.eTag: "\"1\""], body: isKnown ? "" : "body")
            }
            let (a, b) = (origin.url("/a"), origin.url("/b"))
            // An ordinary entry, which the origin only confirms for the other subscription.
            try await test.put("one", ["source": ["urls": [.string(a)]]])
            try await test.wait("one", generation: 1)
            try await test.remove("one", keepingCopies: true)

            try await test.put(
                "two", ["source": ["urls": [.string(a), .string(b)]], "concurrencyPerHost": 2, "interval": "1d"])
            let key = try test.key(a)
            try await test.wait("two") { _ in test.isSettled(key) }
            try await outcome { then in
                test.cache.writer.submit(
                    { context in
                        guard let row = try context.index.row(forKey: key) else { return }
                        try context.remove(row, because: .limit, as: .evicted)
                    }, completion: then)
            }
            #expect(try await test.body(a) == nil)
            gate.open()
            let report = try await test.wait("two", generation: 2)
            #expect(report.state == .complete && report.held == 2)
            #expect(try await test.body(a) == "body")
            #expect(origin.requests.map(\.target).count { $0 == "/a" } == 3)
        }
    }
}
