import LarderClient
import TestSupport
import Testing

@testable import LarderCommand

@Suite("asking whether a server is ready")
struct ReadinessProbeTests {
    @Test("an answer that is not whole when the time is over is a no, even if it begins in time")
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
