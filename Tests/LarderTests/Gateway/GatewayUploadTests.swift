import DiskCache
import HTTPTypes
import Origin
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("A body on its way to the origin")
struct GatewayUploadTests {
    /// Writes at the origin's pace until the upload is closed.
    private func produce(into upload: GatewayUpload, until over: Gate) {
        let piece = SharedBytes([UInt8](repeating: 7, count: 64 << 10))
        while true {
            switch upload.write(piece) {
            case .room: continue
            case .full: return upload.onRoom { produce(into: upload, until: over) }
            case .closed: return over.open()
            }
        }
    }

    @Test("An upload to an origin that echoes it does not hang, even while no answer can be passed on")
    func echo() async throws {
        let echo = try Listener { stream, _ in
            while let line = try? stream.readLine(), !line.isEmpty {}
            guard (try? stream.send("HTTP/1.1 200 OK\r\n\r\n")) != nil else { return }
            while let some = try? stream.readSome(), !some.isEmpty {
                guard (try? stream.send(some)) != nil else { return }
            }
        }
        defer { echo.stop() }
        try await TestGateway.with(patience: .milliseconds(50)) { (gateway) async throws in
            let upload = GatewayUpload(length: nil)
            var request = GatewayRequest(
                method: .post, url: try ExactURL("http://127.0.0.1:\(echo.port)/a"), fields: [:])
            request.upload = upload
            gateway.fetch(request) { _ in }
            let over = Gate("nobody to want more")
            produce(into: upload, until: over)
            try await over.wait()
            try await poll("the request to end") { gateway.fetchCount == 0 }
        }
    }
}
