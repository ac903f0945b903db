import TestSupport
import Testing

@testable import LarderBenchmarks

@Suite("The times of hits")
struct HitTimerTests {
    @Test("Each client requests the targets in turn; a hit's time ends with its last byte; the warm-up is not counted")
    func times() async throws {
        let never = Gate("gate that never opens")
        let origin = try ScriptedOrigin { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo")
            try? never.waitBlocking(limit: .milliseconds(2))
            try connection.send("dy")
        }
        defer { origin.stop() }
        let timer = HitTimer(port: origin.port, targets: ["/a", "/b", "/c"], bodyBytes: 4)
        let times = try await blocking { try timer.run(clients: 2, from: 4, warmUp: 10, milliseconds: 400) }
        #expect(times.allSatisfy { $0 >= 2_000_000 })
        #expect(!times.isEmpty && times.count < origin.requests.count)
        let targets = Dictionary(grouping: origin.requests, by: \.connection).mapValues { $0.map(\.target) }
        #expect(Set(targets.values.compactMap(\.first)) == ["/b", "/c"])
        for asked in targets.values {
            let first = try #require(asked.first)
            let order = first == "/b" ? ["/b", "/c", "/a", "/b"] : ["/c", "/a", "/b", "/c"]
            #expect(Array(asked.prefix(4)) == order)
        }
    }

    @Test(
        "An answer that is not the expected hit is an error",
        arguments: [
            "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nbody",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbodyx",
        ])
    func noHit(answer: String) async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.send(answer) }
        defer { origin.stop() }
        let timer = HitTimer(port: origin.port, targets: ["/a"], bodyBytes: 4)
        await #expect(throws: BenchmarkError.self) {
            try await blocking { try timer.run(clients: 1, warmUp: 0, milliseconds: 1000) }
        }
    }
}
