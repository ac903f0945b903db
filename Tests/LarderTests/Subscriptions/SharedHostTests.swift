import Primitives
import TestSupport
import Testing

@testable import Larder

struct SharedHostTests {
    @Test("Subscriptions with one host and other limits all become complete, each within its own limits")
    func limits() async throws {
        try await TestSubscriptions.withOne { test in
            func paths(_ name: String, _ count: Int) -> [String] { (0..<count).map { "/\(name)/\($0)" } }
            let all = paths("slow", 2) + paths("wide", 30) + paths("narrow", 10)
            let web = try TestWeb(Dictionary(uniqueKeysWithValues: all.map { ($0, "body of \($0)") }))
            func put(_ name: String, _ count: Int, gap: Int, concurrency: Int) async throws {
                let urls = JSON.array(paths(name, count).map { .string(web.url($0)) })
                try await test.put(
                    name,
                    [
                        "source": ["urls": urls], "minGap": .number(gap), "concurrencyPerHost": .number(concurrency),
                        "interval": "1d",
                    ])
            }
            try await put("slow", 2, gap: 3600, concurrency: 1)
            try await test.wait("slow") { _ in web.origin.requestCount == 1 }
            try await put("wide", 30, gap: 0, concurrency: 16)
            try await put("narrow", 10, gap: 0, concurrency: 1)
            #expect(try await test.wait("wide", generation: 1).held == 30)
            #expect(try await test.wait("narrow", generation: 1).held == 10)
            #expect(try await test.report("slow").generation == 0)
            test.turn(.seconds(3600))
            #expect(try await test.wait("slow", generation: 1).held == 2)
            #expect(web.origin.requestCount == 42)
        }
    }
}
