import LarderClient
import TestSupport
import Testing

@testable import LarderCommand

@Suite("The readiness probe")
struct ReadinessProbeTests {
    @Test("An answer that is incomplete when the time limit of the probe ends counts as no answer")
    func late() async throws {
        let server = try ScriptedOrigin { _, connection in
            try connection.send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 100\r\n\r\n{")
            connection.waitForHangUp()
        }
        defer { server.stop() }
        let url = server.url("")
        let probe = ReadinessProbe(server: try ServerAddress(url), patience: .milliseconds(300))
        #expect(await probe.run() == "\(url) does not answer")
    }
}
