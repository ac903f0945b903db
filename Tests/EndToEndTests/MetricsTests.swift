import Foundation
import HTTPTypes
import Larder
import Primitives
import TestSupport
import Testing

@Suite("What /metrics counts")
struct MetricsTests {
    @Test("Requests of every operation of openapi.yaml are counted, and so is each that trims memory")
    func operations() async throws {
        try await TestServer.with { (server) async throws in
            #expect(try await server.client.request("POST", "/memory/trim").status == 200)
            let samples = MetricSamples(try await server.get("/metrics").text)
            let counted = samples.values(of: "route", in: "larder_http_requests_total")
            // HEAD counts as GET, and all methods of one open path count together.
            let described = try OpenAPIDocument.repository().operations
                .filter { $0.method == "GET" || ($0.method != "HEAD" && !$0.takesRest) }.map(\.id)
            #expect(described.count > 30 && Set(described).isSubset(of: counted))
            #expect(
                try await server.get("/metrics").text.contains(
                    "larder_http_requests_total{route=\"trimMemory\",status=\"200\"} 1\n"))
        }
    }
}
