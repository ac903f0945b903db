import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Pauses of hosts behind redirects")
struct RedirectPauseTests {
    @Test(
        "A Retry-After behind a redirect pauses the host that asks for it, and not the host that redirects",
        arguments: ["urls", "feed", "capture"])
    func redirect(kind: String) async throws {
        try await TestSubscriptions.withOne { test in
            let target = try TestWeb(["/other": "other"])
            target["/busy"] = .init(status: 429, fields: [.retryAfter: "86400"])
            let busy = target.url("/busy")
            let origin = try ScriptedOrigin { request, connection in
                guard request.target == "/moved" else { return try connection.respond(body: "here") }
                try connection.respond(302, fields: [.location: busy])
            }
            defer { origin.stop() }
            let moved = JSON.string(origin.url("/moved"))
            try await test.put(
                "moved",
                ["source": kind == "feed" ? ["feed": moved] : .object([.init(kind, [moved])]), "maxDelay": 0])
            func reason(_ report: SubscriptionReport) -> String? {
                report.sourceProblem?.reason ?? report.missing.first?.reason
            }
            try await test.wait("moved") { !$0.isRefreshing && reason($0)?.contains("429") == true }
            try await test.put("here", ["source": ["urls": [.string(origin.url("/here"))]]])
            #expect(try await test.wait("here", generation: 1).held == 1)

            // The redirect is refused here, without a request to the host behind it.
            try await test.refresh("moved")
            test.turn(.seconds(60))
            try await test.wait("moved") { reason($0)?.contains("asked for a pause") == true }
            try await test.refresh("here")
            try await test.wait("here", generation: 2)
            #expect(target.origin.requestCount == 1)

            let other = JSON.string(target.url("/other"))
            try await test.put("other", ["source": ["urls": [other]], "maxDelay": 86_400])
            try await test.wait("other") { $0.wanted == 1 }
            test.service.clockChanged()
            _ = try await test.report("other")
            #expect(target.origin.requestCount == 1)
            // The subscription of the busy URL is due, too, and its answer would begin another pause.
            target["/busy"] = .init(body: "free")
            // The pause is over now, and the new subscription's `maxDelay` is not.
            test.turn(.seconds(86_400 - 60))
            #expect(try await test.wait("other", generation: 1).held == 1)
        }
    }
}
