import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Origin

@Suite struct PauseTests {
    /// Returns an origin that sends an endless body, and the count of the bytes that it has sent.
    private func endless() throws -> (ScriptedOrigin, Counter) {
        let sent = Counter("bytes")
        let piece = [UInt8](repeating: 0x78, count: 65_536)
        let origin = try ScriptedOrigin { request, connection in
            guard request.target == "/endless" else { return try connection.respond(body: "other") }
            try connection.sendHead()
            while true {
                try connection.send(piece)
                sent.add(piece.count)
            }
        }
        return (origin, sent)
    }

    /// A configuration with a single thread, so that a blocking receiver holds up all transfers.
    private func oneThread() -> OriginConfiguration {
        var configuration = OriginConfiguration.local
        configuration.threads = 1
        return configuration
    }

    /// Starts a transfer and pauses it before the client's only thread sees it.
    private func pausedTransfer(
        _ client: OriginClient, _ url: String, _ receiver: any OriginReceiver
    ) async throws -> OriginTransfer {
        let blocker = BlockingReceiver()
        client.fetch(OriginRequest(url: url), receiver: blocker)
        try await blocker.isBlocking.wait()
        let transfer = client.fetch(OriginRequest(url: url), receiver: receiver)
        transfer.pause()
        blocker.end.open()
        return transfer
    }

    // Runs in a process of its own, so that the processor time is only this test's.
    @Test("A paused transfer of an endless body holds little memory, uses no processor time, and resumes")
    func bounded() async throws {
        await #expect(processExitsWith: .success) {
            let (origin, sent) = try PauseTests().endless()
            let client = OriginClient(configuration: .local { $0.stallTimeout = .seconds(1) })
            let collector = client.start(origin.url("/endless"))
            try await collector.didSend.wait()
            collector.transfer?.pause()
            // The client runs this transfer after the pause, so the end of this transfer shows that the pause has taken
            // effect. The transfers below last until their timeout.
            try await client.get(origin.url())
            let (count, bytes, before) = (collector.body.count, sent.value, clock())
            let silent = try ScriptedOrigin { _, connection in connection.waitForHangUp() }
            for _ in 0..<2 { _ = try await client.failure(silent.url()) }
            #expect(Double(clock() - before) / Double(CLOCKS_PER_SEC) < 0.2)
            #expect(collector.body.count == count)
            // Only the sockets' buffers take bytes during the pause.
            #expect(sent.value - bytes < 16 << 20)
            #expect(collector.results.isEmpty)
            collector.transfer?.resume()
            try await sent.wait(for: bytes + 64 << 20)
            collector.transfer?.cancel()
            _ = try await collector.error()
            #expect(collector.body.allSatisfy { $0 == 0x78 })
        }
    }

    @Test("A transfer that pauses after every piece delivers no piece while paused, and loses no byte")
    func everyPiece() async throws {
        let bytes = (0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/length" { return try connection.respond(body: bytes) }
            try connection.startChunks()
            for start in stride(from: 0, to: bytes.count, by: 10_000) {
                try connection.sendChunk(bytes[start..<min(start + 10_000, bytes.count)])
            }
            try connection.endChunks()
        }
        let client = OriginClient(configuration: .local)
        for target in ["/length", "/chunks"] {
            let receiver = PausingReceiver()
            receiver.transfer = client.fetch(OriginRequest(url: origin.url(target)), receiver: receiver)
            try await blocking { while try receiver.resumeNext() {} }
            #expect(try receiver.result?.get().byteCount == Int64(bytes.count))
            #expect(receiver.body == bytes)
            #expect(receiver.strays == 0)
        }
    }

    @Test("The receiver of a transfer that is paused before its answer gets the head at once, the body after the pause")
    func beforeTheAnswer() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        let client = OriginClient(configuration: oneThread())
        let collector = Collector(keeping: client)
        let transfer = try await pausedTransfer(client, origin.url("/x"), collector)
        try await collector.didAnswer.wait()
        for _ in 0..<3 { try await client.get(origin.url()) }
        #expect(collector.body.isEmpty)
        #expect(collector.results.isEmpty)
        transfer.resume()
        try await collector.summary()
        #expect(collector.text == "/x")
    }

    @Test("The stall time-out does not run while a transfer is paused, and runs again once it is resumed")
    func stall() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.target != "/silent" {
                try connection.sendHead(fields: [.contentLength: "100"])
                try connection.send("some")
            }
            connection.waitForHangUp()
        }
        let client = OriginClient(configuration: .local { $0.stallTimeout = .seconds(1) })
        let receiver = PausingReceiver()
        receiver.transfer = client.fetch(OriginRequest(url: origin.url("/x")), receiver: receiver)
        receiver.transfer?.pause()
        for _ in 0..<2 { _ = try await client.failure(origin.url("/silent")) }
        #expect(receiver.result == nil)
        receiver.transfer?.resume()
        try await blocking { while try receiver.resumeNext() {} }
        guard case .failure(let error) = receiver.result, case .timedOut(.receiving) = error.kind else {
            Issue.record("\(String(describing: receiver.result))")
            return
        }
        #expect(receiver.body == Array("some".utf8))
    }

    @Test("A paused transfer ends when it is cancelled, when its total time limit ends, or when the client shuts down")
    func ends() async throws {
        let (origin, _) = try endless()
        for kind in 0..<3 {
            let client = OriginClient(
                configuration: .local { if kind == 1 { $0.totalTimeout = .seconds(1) } })
            let collector = Collector()
            let transfer = client.fetch(OriginRequest(url: origin.url("/endless")), receiver: collector)
            try await collector.didSend.wait()
            transfer.pause()
            if kind == 0 { transfer.cancel() }
            if kind == 2 { try await blocking { client.shutDown() } }
            switch (kind, try await collector.error().kind) {
            case (1, .timedOut(.total)), (0, .cancelled), (2, .cancelled): break
            case (_, let found): Issue.record("\(kind): \(found)")
            }
            transfer.resume()
            #expect(collector.results.count == 1)
        }
    }

    @Test("After a pause, an error that the receiver throws for a delayed piece ends the transfer")
    func throwing() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "1000000"])
            try connection.send("some")
            connection.waitForHangUp()
        }
        let client = OriginClient(configuration: oneThread())
        let collector = Collector(refusesBody: true)
        let transfer = try await pausedTransfer(client, origin.url(), collector)
        try await collector.didAnswer.wait()
        transfer.resume()
        guard case .receiver(let thrown) = try await collector.error().kind else {
            Issue.record("\(collector.results)")
            return
        }
        #expect(thrown is Collector.Refusal)
    }

    @Test("Over HTTP/2, a paused transfer does not hold up other transfers")
    func http2Neighbours() async throws {
        let (origin, _) = try endless()
        let front = try await TLSFront(originPort: origin.port)
        let client = OriginClient(
            configuration: .local {
                // There is one thread, because only transfers of the same thread share a connection.
                $0.threads = 1
                $0.certificateAuthorityFile = front.authority.certificateFile
                $0.addressPolicy = AddressPolicy(allowing: [try! AddressRule("localhost")])
            })
        let collector = client.start(front.url("/endless"))
        try await collector.didSend.wait()
        collector.transfer?.pause()
        for _ in 0..<10 { #expect(try await client.get(front.url("/x")).text == "other") }
        #expect(Set(origin.requests.map { $0["X-Front-Connection"] }).count == 1)
    }

    @Test("Over HTTP/2, the body of a repeatedly paused transfer arrives whole")
    func http2() async throws {
        let bytes = (0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: bytes) }
        let front = try await TLSFront(originPort: origin.port)
        let client = OriginClient(
            configuration: .local {
                $0.certificateAuthorityFile = front.authority.certificateFile
                $0.addressPolicy = AddressPolicy(allowing: [try! AddressRule("localhost")])
            })
        let receiver = PausingReceiver()
        receiver.transfer = client.fetch(OriginRequest(url: front.url("/")), receiver: receiver)
        try await blocking { while try receiver.resumeNext() {} }
        #expect(receiver.body == bytes)
        #expect(receiver.strays == 0)
    }
}

/// A receiver that pauses its transfer after every piece.
private final class PausingReceiver: OriginReceiver {
    struct Late: Error {}

    private struct State {
        var transfer: OriginTransfer?
        var body: [UInt8] = []
        var isPaused = false
        var strays = 0
        var result: Result<OriginSummary, OriginError>?
    }

    private let state = Locked(State())
    private let paused = DispatchSemaphore(value: 0)
    private let hasTransfer = Gate("transfer")

    /// The receiver blocks at the head of the answer until the transfer is set.
    var transfer: OriginTransfer? {
        get { state.withLock { $0.transfer } }
        set {
            state.withLock { $0.transfer = newValue }
            hasTransfer.open()
        }
    }
    var body: [UInt8] { state.withLock { $0.body } }
    /// The number of pieces that arrived during a pause.
    var strays: Int { state.withLock { $0.strays } }
    var result: Result<OriginSummary, OriginError>? { state.withLock { $0.result } }

    func originDidAnswer(_ head: OriginHead) throws { try hasTransfer.waitBlocking() }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) {
        let transfer = state.withLock { state in
            if state.isPaused { state.strays += 1 }
            state.isPaused = true
            state.body += bytes
            return state.transfer
        }
        transfer?.pause()
        paused.signal()
    }

    func originDidFinish(_ result: Result<OriginSummary, OriginError>) {
        state.withLock { $0.result = result }
        paused.signal()
    }

    /// Waits for the next piece or the end, and resumes the transfer. Returns `false` at the end.
    func resumeNext() throws -> Bool {
        guard paused.wait(timeout: .now() + 20) == .success else { throw Late() }
        let isOver = state.withLock { state in
            state.isPaused = false
            return state.result != nil
        }
        transfer?.resume()
        return !isOver
    }
}

/// A receiver that blocks the client's thread, which no real receiver may do.
private final class BlockingReceiver: OriginReceiver {
    let isBlocking = Gate("blocking receiver")
    let end = Gate("end of the blocking receiver")

    func originDidAnswer(_ head: OriginHead) throws {
        isBlocking.open()
        try end.waitBlocking()
    }

    func originDidSend(_ bytes: UnsafeRawBufferPointer) {}
    func originDidFinish(_ result: Result<OriginSummary, OriginError>) {}
}
