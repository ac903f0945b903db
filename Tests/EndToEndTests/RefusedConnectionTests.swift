import TestSupport
import Testing

@Suite("Refused connections")
struct RefusedConnectionTests {
    @Test("A connection beyond the limit of its address gets 503; /metrics counts it as a connection, not as a request")
    func perAddress() async throws {
        try await TestServer.with(configure: { $0.maxConnectionsPerClient = 2 }) { (server) async throws in
            let port = server.api.port
            try await blocking {
                let kept = try (0..<2).map { _ in try RawConnection(port: port) }
                func get(_ target: String, _ connection: RawConnection) throws -> HTTPReply {
                    try connection.sendRequest("GET", target)
                    return try connection.readReply()
                }
                func refused(_ reason: String) -> String { "larder_connections_refused_total{reason=\"\(reason)\"}" }
                #expect(try get("/livez", kept[0]).status == 200)
                let before = try get("/metrics", kept[1]).text
                #expect(before.contains(refused("address") + " 0\n") && before.contains(refused("limit") + " 0\n"))
                for _ in 0..<3 {
                    let third = try RawConnection(port: port)
                    let answer = try get("/livez", third)
                    #expect(answer.status == 503 && answer.text.contains("your address"))
                    third.close()
                }
                let after = try get("/metrics", kept[1]).text
                #expect(after.contains(refused("address") + " 3\n") && after.contains(refused("limit") + " 0\n"))
                #expect(after.contains(#"larder_http_requests_total{route="getLiveness",status="200"} 1"# + "\n"))
                // Prometheus computes an increase from the first value, so the samples exist even before an answer has
                // their status.
                for status in [500, 503, 507] {
                    let row = "larder_http_requests_total{route=\"getLiveness\",status=\"\(status)\"} 0\n"
                    #expect(after.contains(row))
                }
                for connection in kept { connection.close() }
            }
        }
    }
}
