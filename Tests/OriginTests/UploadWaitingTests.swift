import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Origin

/// Uploads: when a request is sent again, how a transfer waits for bytes of its body, and how the body ends.
@Suite struct UploadWaitingTests {
    private let client = OriginClient(configuration: .local)

    @Test("The client sends a failed request again only if libcurl has taken no byte of the body")
    func retries() async throws {
        let secondTry = Counter("second try")
        let listener = try Listener { stream, number in
            try? stream.readHead()
            if number == 0 { return stream.reset() }
            secondTry.add()
            _ = try? stream.read(4)
            stream.reset()
        }
        defer { listener.stop() }
        let body = OriginUpload(length: 8)
        let collector = client.start("http://127.0.0.1:\(listener.port)/", body, method: .put)
        try await secondTry.wait(for: 1)
        body.write(SharedBytes("some".utf8))
        _ = try await collector.error()
        #expect(listener.acceptedCount == 2)
    }

    @Test("A body that waits for its producer does not time out, but a body that the origin does not read does")
    func stalls() async throws {
        let origin = try ScriptedOrigin { _, connection in connection.waitForHangUp() }
        let listener = try Listener { stream, _ in
            try? stream.readHead()
            if (try? stream.read(4)) != nil { try? stream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        }
        let isOver = Gate("end of the test")
        let deaf = try Listener { _, _ in try? isOver.waitBlocking() }
        defer {
            isOver.open()
            for listener in [listener, deaf] { listener.stop() }
        }
        let client = OriginClient(configuration: .local { $0.stallTimeout = .seconds(1) })
        let body = OriginUpload(length: 4)
        let waiting = client.start("http://127.0.0.1:\(listener.port)/", body)
        let blocked = OriginUpload(length: nil)
        let stalling = client.start("http://127.0.0.1:\(deaf.port)/", blocked)
        while blocked.write(SharedBytes([UInt8](repeating: 1, count: 32 << 20))) == .room {}
        guard case .timedOut(.waiting) = try await stalling.error().kind else {
            Issue.record("\(stalling.results)")
            return
        }
        // Two more time-outs pass. The transfer that waits for its producer does not time out meanwhile.
        for _ in 0..<2 { _ = try await client.failure(origin.url()) }
        body.write(SharedBytes("body".utf8))
        body.finish()
        try await waiting.summary()
        #expect(waiting.text == "ok")
    }

    // Runs in a process of its own, so that the processor time is only this test's.
    @Test("Request bodies that wait for their producers use no processor time")
    func idle() async throws {
        await #expect(processExitsWith: .success) {
            let arrived = Counter("bodies")
            let listener = try Listener { stream, _ in
                try? stream.readHead()
                if (try? stream.read(4)) != nil { arrived.add() }
                _ = try? stream.readToEnd()
            }
            let client = OriginClient(configuration: .local { $0.totalTimeout = .seconds(3) })
            let before = clock()
            let collectors = (0..<20).map { _ in
                client.start("http://127.0.0.1:\(listener.port)/") { request in
                    request.method = .post
                    request.body = OriginUpload(length: 8)
                    request.body?.write(SharedBytes("some".utf8))
                }
            }
            try await arrived.wait(for: 20)
            for collector in collectors { _ = try await collector.error() }
            #expect(Double(clock() - before) / Double(CLOCKS_PER_SEC) < 0.3)
        }
    }

    @Test("A transfer can be cancelled while its body waits for its producer")
    func cancelledWhileWaiting() async throws {
        let isConnected = Gate("head of the request")
        let listener = try Listener { stream, _ in
            try? stream.readHead()
            isConnected.open()
            _ = try? stream.readToEnd()
        }
        defer { listener.stop() }
        let body = OriginUpload(length: nil)
        let waiting = client.start("http://127.0.0.1:\(listener.port)/", body)
        try await isConnected.wait()
        waiting.transfer?.cancel()
        guard case .cancelled = try await waiting.error().kind else {
            Issue.record("\(waiting.results)")
            return
        }
        #expect(body.write(SharedBytes([1])) == .closed)
    }

    @Test("If the origin closes the connection while the body waits for its producer, the next write ends the transfer")
    func goneWhileWaiting() async throws {
        let listener = try Listener { stream, _ in try? stream.readHead() }
        defer { listener.stop() }
        let body = OriginUpload(length: 8)
        let collector = client.start("http://127.0.0.1:\(listener.port)/", body)
        try await poll("the connection to end") { listener.acceptedCount == 1 && listener.openCount == 0 }
        body.write(SharedBytes("all of 8".utf8))
        body.finish()
        #expect([52, 55, 56].contains(try await collector.error().code))
        #expect(listener.acceptedCount == 1)
    }
}
