import TestSupport
import Testing

@testable import Origin

/// Heads and trailers that are longer than anybody needs.
@Suite struct HeadLimitTests {
    @Test("an origin that sends 100,000 fields is stopped: more than HTTPFields holds would end the process")
    func tooManyFields() async throws {
        let origin = try rawOrigin("HTTP/1.1 200 OK\n" + String(repeating: "a:\n", count: 100_000) + "\n")
        guard case .malformedResponse = try await OriginClient(configuration: .local).failure(origin.url()).kind else {
            Issue.record("the head was taken")
            return
        }
    }
}
