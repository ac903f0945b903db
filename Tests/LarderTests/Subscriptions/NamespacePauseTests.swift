import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Pauses of hosts for several namespaces")
struct NamespacePauseTests {
    private static func definition(_ web: TestWeb, _ path: String, gap: Int = 0, maxDelay: Int = 0) -> JSON {
        [
            "source": ["urls": [.string(web.url(path))]], "maxDelay": .number(maxDelay), "minGap": .number(gap),
            "interval": "2d",
        ]
    }

    @Test(
        "The pause of a host concerns only the namespace that learned of it, also after a restart",
        arguments: ["member", "source", "download"])
    func isolation(place: String) async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a1", "/b": "b1"])
            web["/busy"] = .init(status: 429, fields: [.retryAfter: "86400"])
            try await test.makeNamespace("other")
            if place == "download" {
                let url = try CanonicalURL(web.url("/busy"))
                await withCheckedContinuation { continuation in
                    test.server.namespaces.default.downloads.download(DownloadRequest(url: url)) { _ in
                        continuation.resume()
                    }
                }
                // The subscription learns of the pause.
                try await test.put("busy", Self.definition(web, "/a"))
            } else if place == "source" {
                try await test.put("busy", ["source": ["feed": .string(web.url("/busy"))], "interval": "2d"])
            } else {
                try await test.put("busy", Self.definition(web, "/busy"))
            }
            try await test.wait("busy") { _ in test.isPaused }
            try await test.put("set", Self.definition(web, "/b"), in: "other")
            #expect(try await test.wait("set", in: "other", generation: 1).held == 1)
            try await test.put("late", Self.definition(web, "/a"))
            try await test.wait("late") { $0.wanted == 1 }

            try await test.restart()
            web["/b"] = .init(body: "b2")
            try await test.refresh("set", in: "other")
            try await test.wait("set", in: "other", generation: 2)
            try await test.wait("late") { $0.wanted == 1 }
            test.turn(.seconds(43_200))
            _ = try await test.report("late")
            #expect(web.origin.requests.map(\.target) == ["/busy", "/b", "/b"])
            web["/busy"] = .init(body: "ready")
            test.turn(.seconds(43_200))
            #expect(try await test.wait("late") { $0.held == 1 }.generation > 0)
        }
    }

    @Test("The pauses in a database of an older program go on, for all namespaces with subscriptions")
    func olderFormat() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a", "/b": "b"])
            try await test.makeNamespace("other")
            // The rounds wait for the end of the pause.
            try await test.put("set", Self.definition(web, "/a", maxDelay: 86_400))
            try await test.put("set", Self.definition(web, "/b", maxDelay: 86_400), in: "other")
            for name in ["default", "other"] { try await test.wait("set", in: name, generation: 1) }
            let (temporary, now) = (test.temporary, test.clock.now())
            let end = now + .seconds(3600)
            let pause = "'127.0.0.1:\(web.origin.port)', \(end.milliseconds), \(now.milliseconds)"
            try await test.restart {
                try TestSubscriptions.executeAtRest(
                    """
                    ALTER TABLE members DROP COLUMN isForbidden;
                    ALTER TABLE subscriptions DROP COLUMN leftOut;
                    DROP TABLE hostPauses;
                    CREATE TABLE pauses (host TEXT PRIMARY KEY, until INTEGER NOT NULL, saved INTEGER NOT NULL)
                      WITHOUT ROWID;
                    INSERT INTO pauses VALUES (\(pause));
                    PRAGMA user_version = 4;
                    """, temporary)
            }
            for name in ["default", "other"] { try await test.refresh("set", in: name) }
            test.turn(.seconds(3599))
            for name in ["default", "other"] { _ = try await test.report("set", in: name) }
            #expect(web.origin.requestCount == 2)
            test.turn(.seconds(1))
            for name in ["default", "other"] { try await test.wait("set", in: name, generation: 2) }
        }
    }

    @Test("A namespace that is made again has no pauses of the removed one")
    func madeAgain() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a"])
            web["/busy"] = .init(status: 429, fields: [.retryAfter: "86400"])
            try await test.makeNamespace("other")
            try await test.put("busy", Self.definition(web, "/busy"), in: "other")
            try await test.wait("busy", in: "other") { _ in test.isPaused }
            try await test.removeNamespace("other")
            try await test.restart()
            try await test.makeNamespace("other")
            try await test.put("set", Self.definition(web, "/a"), in: "other")
            try await test.wait("set", in: "other", generation: 1)
        }
    }

    @Test("Subscriptions of all namespaces together keep the gap to a host")
    func sharedGap() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a", "/b": "b"])
            try await test.makeNamespace("other")
            try await test.put("set", Self.definition(web, "/a", gap: 10))
            try await test.wait("set", generation: 1)
            try await test.put("set", Self.definition(web, "/b", gap: 10), in: "other")
            try await test.wait("set", in: "other") { $0.wanted == 1 }
            test.turn(.seconds(9))
            _ = try await test.report("set", in: "other")
            #expect(web.origin.requestCount == 1)
            test.turn(.seconds(1))
            try await test.wait("set", in: "other", generation: 1)
        }
    }
}
