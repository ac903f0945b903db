import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Documents of subscriptions' sources")
struct SourceDocumentTests {
    @Test("While too many documents wait for the parser, no source is asked for another one")
    func waitingDocuments() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "one"])
            web["/feed"] = .init(body: web.feed(["/1"]))
            let service = test.service
            service.queue.sync { service.waitingDocuments = SubscriptionService.waitingDocumentLimit }
            try await test.put("news", ["source": ["feed": .string(web.url("/feed"))]])
            let now = test.clock.now()
            try await test.wait("news") { _ in
                service.queue.sync { service.sets.values.contains { $0.machine.sourceIsDue(at: now) } }
            }
            // A turn in which the source would be asked.
            service.clockChanged()
            #expect(service.queue.sync { service.sets.values.allSatisfy { !$0.isReadingDocument } })
            #expect(web.origin.requestCount == 0)
            service.queue.sync { service.waitingDocuments = 0 }
            #expect(try await test.wait("news", generation: 1).held == 1)
            #expect(service.queue.sync { service.waitingDocuments } == 0)
        }
    }

    @Test("The items of a list and of a feed are selected on the parser's queue, so that calls do not wait for this")
    func selection() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "one"])
            web["/feed"] = .init(body: web.feed(["/1"]))
            let gate = Gate("the parser")
            defer { gate.open() }
            SubscriptionService.parsing.async { try? gate.waitBlocking() }
            try await test.put("set", ["source": ["urls": [.string(web.url("/1"))]]])
            try await test.put("news", ["source": ["feed": .string(web.url("/feed"))]])
            for name in ["set", "news"] {
                let report = try await test.wait(name) { _ in
                    test.service.queue.sync { test.service.waitingDocuments == 2 }
                }
                #expect(report.wanted == 0 && report.isRefreshing)
            }
            gate.open()
            for name in ["set", "news"] { #expect(try await test.wait(name, generation: 1).held == 1) }
        }
    }

    @Test("Without memory for another long document, a source fails until memory is free; short documents have a place")
    func memory() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/1": "one"])
            web["/short"] = .init(body: web.feed(["/1"]))
            web["/long"] = .init(body: web.feed(["/1"]) + String(repeating: "\n", count: 1 << 20))
            var others = (0..<40).map { _ in SharedAllowance.Part(of: test.service.documentMemory) }
            for part in others { while part.take(1 << 18) {} }
            try await test.put("short", ["source": ["feed": .string(web.url("/short"))]])
            try await test.put("long", ["source": ["feed": .string(web.url("/long"))]])
            let failed = try await test.wait("long") { $0.sourceProblem != nil }
            #expect(failed.sourceProblem?.reason.contains("no memory for another long document") == true)
            #expect(try await test.wait("short", generation: 1).held == 1)
            others = []
            try await test.refresh("long")
            #expect(try await test.wait("long", generation: 1).held == 1)
            // All memory is given back, so that one owner can again take half of it.
            try await test.wait("long") { _ in SharedAllowance.Part(of: test.service.documentMemory).take(128 << 20) }
        }
    }

    @Test("Quiet hours that begin between two documents of a source delay the second one, unless a caller asks for it")
    func quietHours() async throws {
        try await TestSubscriptions.withOne { test in
            let clock = test.clock
            // The clock starts at midnight. The scheduled refresh begins at 01:00, and the quiet hours begin during it,
            // before the request is so slow that it is cancelled.
            let origin = try ScriptedOrigin { request, connection in
                let page = request.target == "/1" ? #"{"next":"/2","items":["/a"]}"# : #"{"items":["/b"]}"#
                if request.target == "/1", request.index > 3 { clock.advance(by: .seconds(90)) }
                try connection.respond(fields: [.contentType: "application/json"], body: page)
            }
            let source: JSON = ["pages": .string(origin.url("/1")), "next": "/next", "items": "/items"]
            try await test.put("list", ["source": source, "interval": "1h", "quietHours": "01:01-03:00"])
            try await test.wait("list", generation: 1)
            test.turn(.seconds(3600))
            try await test.wait("list") { _ in
                test.service.queue.sync {
                    test.service.sets.values.contains { $0.reading?.next == origin.url("/2") && !$0.isReadingDocument }
                }
            }
            #expect(origin.requests.count { $0.target == "/1" } == 2)
            #expect(origin.requests.count { $0.target == "/2" } == 1)
            try await test.refresh("list")
            try await test.wait("list", generation: 2)
            #expect(origin.requests.count { $0.target == "/2" } == 2)
        }
    }
}
