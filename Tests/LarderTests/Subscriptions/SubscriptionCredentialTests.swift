import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder
@testable import Outbox

@Suite("Subscriptions without their credential")
struct SubscriptionCredentialTests {
    private static let secret = "Bearer right"

    /// An origin that hides its documents from requests without the secret, as many APIs do.
    private static func origin(maxAge: Int? = nil, refusal: Int = 404) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            guard request["Authorization"] == secret || request.target == "/open" else {
                return try connection.respond(refusal)
            }
            guard request.target == "/feed" else { return try connection.respond(body: "\(request.index)") }
            let host = request["Host"] ?? ""
            let items = [1, 2].map { "<item><guid>\($0)</guid><link>http://\(host)/\($0)</link></item>" }
            var fields: HTTPFields = [.contentType: "application/rss+xml"]
            fields[.cacheControl] = maxAge.map { "max-age=\($0)" }
            try connection.respond(
                fields: fields,
                body: "<rss version=\"2.0\"><channel><title>t</title>\(items.joined())</channel></rss>")
        }
    }

    private static func store(
        _ origin: ScriptedOrigin, _ test: TestSubscriptions, secret: String = Self.secret
    ) async throws {
        let credential = OutboxCredential(
            origins: ["http://127.0.0.1:\(origin.port)"], fields: [.init("Authorization", secret)])
        try await test.setCredential("key", credential)
    }

    private static func definition(_ source: String, _ origin: ScriptedOrigin) -> JSON {
        let urls: JSON = ["urls": [.string(origin.url("/1")), .string(origin.url("/2"))]]
        let feed: JSON = ["feed": .string(origin.url("/feed"))]
        return ["source": source == "feed" ? feed : urls, "credential": "key", "interval": "1h"]
    }

    /// A set of two resources with copies.
    private static func withSet(
        _ source: String, _ body: (TestSubscriptions, ScriptedOrigin) async throws -> Void
    ) async throws {
        let origin = try origin()
        defer { origin.stop() }
        try await TestSubscriptions.withOne { test in
            try await store(origin, test)
            try await test.put("set", definition(source, origin))
            #expect(try await test.wait("set", generation: 1).held == 2)
            try await body(test, origin)
        }
        #expect(origin.requests.allSatisfy { $0["Authorization"] == secret })
    }

    @Test(
        "After its credential was removed, a subscription asks for no resource and keeps its copies until the next one",
        arguments: ["urls", "feed"])
    func missing(source: String) async throws {
        try await Self.withSet(source) { test, origin in
            let count = origin.requestCount
            try await test.removeCredential("key")
            try await test.refresh("set")
            let report = try await test.wait("set") { $0.sourceProblem != nil }
            #expect(
                report.sourceProblem?.reason
                    == "there is no credential \"key\"; store it first (PUT /credentials/key)")
            #expect(report.generation == 1 && report.held == 2 && report.state == .complete)
            // The subscription looks for the credential again.
            test.turn(.seconds(61))
            try await test.wait("set") { $0.sourceProblem != nil }
            #expect(origin.requestCount == count)
            #expect(try await test.cache.stored(test.key(origin.url("/1")))?.entry.held == true)
            // The clock stands still.
            try await Self.store(origin, test)
            let next = try await test.wait("set", generation: 2)
            #expect(next.held == 2 && next.sourceProblem == nil)
        }
    }

    @Test(
        "A credential that was stored for other origins counts as missing, because the requests would be anonymous",
        arguments: ["urls", "feed"])
    func foreign(source: String) async throws {
        try await Self.withSet(source) { test, origin in
            let count = origin.requestCount
            let foreign = OutboxCredential(
                origins: ["http://127.0.0.2:\(origin.port)"], fields: [.init("Authorization", Self.secret)])
            try await test.setCredential("key", foreign)
            try await test.refresh("set")
            let report = try await test.wait("set") { $0.sourceProblem != nil }
            #expect(
                report.sourceProblem?.reason
                    == "the credential \"key\" is for no origin of the source; "
                    + "store it for http://127.0.0.1:\(origin.port) (PUT /credentials/key)")
            #expect(report.generation == 1 && report.held == 2 && report.state == .complete)
            do {
                try await test.put("other", Self.definition(source, origin))
                Issue.record("a refusal")
            } catch SubscriptionFailure.foreignCredential {}
            #expect(try await test.names() == ["set"] && origin.requestCount == count)
            // The clock stands still.
            try await Self.store(origin, test)
            let next = try await test.wait("set", generation: 2)
            #expect(next.held == 2 && next.sourceProblem == nil)
        }
    }

    @Test("A credential for one of the origins of a source is enough, and the other origins do not get it")
    func partlyForeign() async throws {
        let (origin, web) = (try Self.origin(), try TestWeb(["/open": "open"]))
        defer { origin.stop() }
        try await TestSubscriptions.withOne { test in
            try await Self.store(origin, test)
            let urls: JSON = [.string(origin.url("/1")), .string(web.url("/open"))]
            try await test.put("set", ["source": ["urls": urls], "credential": "key"])
            #expect(try await test.wait("set", generation: 1).held == 2)
        }
        #expect(origin.requests.allSatisfy { $0["Authorization"] == Self.secret })
        #expect(web.origin.requests.allSatisfy { $0["Authorization"] == nil })
    }

    @Test(
        "A source or member that answered 401 or 403 does not wait for a day when another secret is stored",
        arguments: [("feed", 401, false), ("feed", 403, true), ("urls", 403, false), ("urls", 401, true)])
    func wrongSecret(source: String, status: Int, restarts: Bool) async throws {
        let origin = try Self.origin(refusal: status)
        defer { origin.stop() }
        try await TestSubscriptions.withOne { test in
            try await Self.store(origin, test, secret: "Bearer wrong")
            let urls: JSON = ["urls": [.string(origin.url("/open")), .string(origin.url("/1"))]]
            let list = source == "feed" ? ["feed": .string(origin.url("/feed"))] : urls
            try await test.put("set", ["source": list, "credential": "key"])
            let refused = try await test.wait("set") { !$0.isRefreshing && ($0.sourceProblem != nil || $0.held == 1) }
            #expect(refused.held == (source == "feed" ? 0 : 1))
            if restarts {
                // A secret may have been stored before, so one request finds out.
                try await test.restart()
                try await test.wait("set") { !$0.isRefreshing && origin.requestCount == refused.held + 2 }
            }
            test.turn(.seconds(60))
            _ = try await test.report("set")
            let count = origin.requestCount
            #expect(count == refused.held + (restarts ? 2 : 1))
            // The clock stands still.
            try await Self.store(origin, test)
            let next = try await test.wait("set") { $0.held == 2 && !$0.isRefreshing }
            #expect(next.sourceProblem == nil && next.missing.isEmpty)
            #expect(origin.requestCount == count + (source == "feed" ? 3 : 1))
        }
    }

    @Test("A credential that cannot be read is none that is missing: the set waits a minute, and then goes on")
    func unreadable() async throws {
        try await Self.withSet("urls") { test, origin in
            let count = origin.requestCount
            try test.executeInOutbox("ALTER TABLE credentials RENAME TO hidden")
            try await test.refresh("set")
            let report = try await test.wait("set") { $0.sourceProblem != nil }
            #expect(
                report.sourceProblem?.reason == "the credential \"key\" cannot be read; see the log of the server")
            #expect(test.log.lines.elements.contains { $0.contains("credential of a subscription cannot be read") })
            await #expect(throws: SubscriptionFailure.self) {
                try await test.put("other", Self.definition("urls", origin))
            }
            try test.executeInOutbox("ALTER TABLE hidden RENAME TO credentials")
            #expect(origin.requestCount == count)
            test.turn(.seconds(60))
            let next = try await test.wait("set", generation: 2)
            #expect(next.held == 2 && next.sourceProblem == nil)
        }
    }

    @Test("While the outbox is damaged, a subscription with a credential keeps its copies, also after a restart")
    func damagedOutbox() async throws {
        try await Self.withSet("feed") { test, origin in
            let (path, count) = (test.temporary.path("state/outbox.sqlite"), origin.requestCount)
            let whole = Locked<Data?>(nil)
            let clock = test.clock
            try await test.restart {
                let file = URL(fileURLWithPath: path)
                let data = try Data(contentsOf: file)
                whole.withLock { $0 = data }
                try Data("no database at all".utf8).write(to: file)
                clock.advance(by: .seconds(7200))
            }
            let report = try await test.wait("set") { $0.sourceProblem != nil }
            #expect(report.held == 2 && report.state == .complete && origin.requestCount == count)
            try await test.restart {
                try whole.withLock(\.self)?.write(to: URL(fileURLWithPath: path))
                clock.advance(by: .seconds(60))
            }
            #expect(try await test.wait("set", generation: 2).sourceProblem == nil)
        }
    }

    @Test("A refresh of the members alone does not go on without the credential, and goes on once it is stored")
    func membersAlone() async throws {
        // The source is not asked again for a day.
        let origin = try Self.origin(maxAge: 86_400)
        defer { origin.stop() }
        try await TestSubscriptions.withOne { test in
            try await Self.store(origin, test)
            try await test.put(
                "news",
                [
                    "source": ["feed": .string(origin.url("/feed"))], "credential": "key",
                    "adaptive": ["min": "10s", "max": "60s"],
                ])
            try await test.wait("news", generation: 1)
            try await test.removeCredential("key")
            test.turn(.seconds(60))
            let report = try await test.wait("news") { $0.sourceProblem != nil }
            #expect(report.held == 2 && origin.requestCount == 3)
            try await Self.store(origin, test)
            try await test.wait("news") { report in report.sourceProblem == nil && origin.requestCount >= 5 }
            #expect(origin.requestCount(of: "/feed") == 1)
        }
        #expect(origin.requests.allSatisfy { $0["Authorization"] == Self.secret })
    }
}
