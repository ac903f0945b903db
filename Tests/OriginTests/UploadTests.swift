import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Origin

@Suite struct UploadTests {
    private static let lastChunk = Array("0\r\n\r\n".utf8)
    private let client = OriginClient(configuration: .local)

    @Test(
        "A body arrives whole, with its length or in chunks, without Expect: 100-continue",
        arguments: [0, 1, 65_536, 3_000_001], [true, false])
    func whole(size: Int, isDeclared: Bool) async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(body: String(request.body.count))
        }
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let body = OriginUpload(length: isDeclared ? Int64(size) : nil)
        let collector = client.start(origin.url("/x"), body)
        try await blocking { try produce(bytes, in: 100_000, into: body) }
        try await collector.summary()
        let request = origin.requests[0]
        #expect(collector.text == String(size))
        #expect(request.body == bytes)
        #expect(request.fields[.contentLength] == (isDeclared ? String(size) : nil))
        #expect(request.fields[.transferEncoding] == (isDeclared ? nil : "chunked"))
        #expect(request.fields[.expect] == nil)
        #expect(request.fields[.contentType] == nil)
        #expect(body.write(SharedBytes([1])) == .closed)
    }

    @Test("A GET or DELETE request can have a body", arguments: [HTTPRequest.Method.get, .delete])
    func otherMethods(method: HTTPRequest.Method) async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "answer") }
        let body = OriginUpload(length: 4)
        body.write(SharedBytes("body".utf8))
        body.finish()
        try await client.start(origin.url(), body, method: method).summary()
        #expect(origin.requests[0].method == method.rawValue)
        #expect(origin.requests[0].body == Array("body".utf8))
    }

    @Test(
        "The client sends each piece of a body, and the body's end, as soon as the producer writes it",
        arguments: [6, nil] as [Int64?])
    func asWritten(length: Int64?) async throws {
        let pieces = ["one", "two"].map { Array($0.utf8) }
        let arrived = Counter("pieces")
        let listener = try Listener { stream, _ in
            try? stream.readHead()
            for piece in pieces {
                guard (try? stream.read(length == nil ? piece.count + 5 : piece.count)) != nil else { return }
                arrived.add()
            }
            if length == nil { _ = try? stream.read(5) }
            try? stream.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        defer { listener.stop() }
        let body = OriginUpload(length: length)
        let collector = client.start("http://127.0.0.1:\(listener.port)/", body)
        for (index, piece) in pieces.enumerated() {
            #expect(body.write(SharedBytes(piece)) == .room)
            try await arrived.wait(for: index + 1)
        }
        body.finish()
        #expect(try await collector.summary().byteCount == 0)
    }

    @Test("If the origin reads slowly, a write reports full until the waiting bytes are below the high-water mark")
    func highWater() async throws {
        let gate = Gate()
        let listener = try Listener { stream, _ in
            try? stream.readHead()
            try? gate.waitBlocking()
            while (try? stream.readSome()) != nil {}
        }
        defer { listener.stop() }
        let body = OriginUpload(length: nil, highWaterMark: 100_000)
        let collector = client.start("http://127.0.0.1:\(listener.port)/", body)
        let piece = SharedBytes([UInt8](repeating: 1, count: 60_000))
        // The sockets' buffers take some megabytes, and then the client takes no more bytes.
        let room = Counter("room")
        var written = 0
        while body.write(piece) == .room { written += piece.count }
        body.onRoom { room.add() }
        gate.open()
        try await room.wait(for: 1)
        #expect(body.write(piece) != .closed)
        collector.transfer?.cancel()
        _ = try await collector.error()
        #expect(body.write(piece) == .closed)
        body.onRoom { room.add() }
        #expect(room.value == 2)
    }

    // MARK: Bodies that are not whole

    /// Sends a broken body, and returns the bytes that the origin received and the error.
    private func broken(_ body: OriginUpload, _ produce: (OriginUpload) -> Void) async throws -> ([UInt8], OriginError)
    {
        let got = Recorder<[UInt8]>()
        let isConnected = Gate("head of the request")
        let ended = Gate("end of the connection")
        let listener = try Listener { stream, _ in
            try? stream.readHead()
            isConnected.open()
            got.append((try? stream.readToEnd()) ?? [])
            ended.open()
        }
        defer { listener.stop() }
        let collector = client.start("http://127.0.0.1:\(listener.port)/", body)
        try await isConnected.wait()
        produce(body)
        let error = try await collector.error()
        try await ended.wait()
        #expect(collector.heads.isEmpty)
        #expect(got.elements.count == 1)
        return (got.elements[0], error)
    }

    @Test(
        "The transfer fails if the body is shorter or longer than its declared length, or breaks off", arguments: 0..<4
    )
    func broken(number: Int) async throws {
        let some = SharedBytes([UInt8](repeating: 0x78, count: 10))
        let (length, words, produce): (Int64?, String, @Sendable (OriginUpload) -> Void) =
            switch number {
            case 0: (20, "it ended after 10 of its declared 20 bytes", { $0.finish() })
            case 1:
                (
                    15, "it is longer than its declared 15 bytes",
                    {
                        #expect($0.write(some) == .closed)
                        $0.finish()
                    }
                )
            case 2: (20, "its sender ended it early", { $0.fail() })
            default: (nil, "its sender ended it early", { $0.fail() })
            }
        let body = OriginUpload(length: length)
        let (bytes, error) = try await broken(body) {
            $0.write(some)
            produce($0)
        }
        guard case .uploadBroken(words) = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
        #expect(error.code == 26)
        // The origin never receives a last chunk.
        #expect(length == nil ? bytes.suffix(5) != Self.lastChunk[...] : bytes.count <= 10)
        #expect(body.write(some) == .closed)
    }

    @Test(
        "When a body fails or is closed, the producer that waits for room is notified",
        arguments: [
            { $0.write(SharedBytes([1, 2])) }, { $0.finish() }, { $0.fail() }, { $0.close() },
        ] as [@Sendable (OriginUpload) -> Void])
    func roomAfterFailure(fail: @Sendable (OriginUpload) -> Void) {
        let body = OriginUpload(length: 10, highWaterMark: 4)
        #expect(body.write(SharedBytes([UInt8](repeating: 0, count: 9))) == .full)
        let room = Counter("room")
        body.onRoom { room.add() }
        #expect(room.value == 0)
        fail(body)
        #expect(room.value == 1)
        #expect(body.write(SharedBytes([1])) == .closed)
    }

    @Test("If the body fails before its transfer starts, the request is not sent")
    func failedBefore() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        let body = OriginUpload(length: nil)
        body.fail()
        guard case .uploadBroken = try await client.start(origin.url(), body).error().kind else {
            Issue.record("it was sent")
            return
        }
        #expect(origin.requestCount == 0)
    }

    @Test("A client that has shut down cancels a new request, and closes the request's body")
    func afterShutDown() async throws {
        let client = OriginClient(configuration: .local)
        try await blocking { client.shutDown() }
        let body = OriginUpload(length: nil)
        guard case .cancelled = try await client.start("http://127.0.0.1/", body).error().kind else {
            Issue.record("not cancelled")
            return
        }
        #expect(body.write(SharedBytes([1])) == .closed)
    }

    // MARK: Answers before the end of the body

    @Test(
        "If an answer refuses the body early, the receiver gets the whole answer, and the client closes the body",
        arguments: [
            "Content-Length: 5\r\n\r\nlarge", "Content-Length: 5\r\nConnection: close\r\n\r\nlarge",
            "Connection: close\r\n\r\nlarge", "\r\nlarge",
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nlarge\r\n",
        ], [100, nil] as [Int64?])
    func early(answer: String, length: Int64?) async throws {
        let (got, delivered) = (Recorder<[UInt8]>(), Gate("delivery"))
        let ended = Gate("end of the connection")
        let listener = try Listener { stream, _ in
            try? stream.readHead()
            _ = try? stream.read(4)
            try? stream.send("HTTP/1.1 413 Content Too Large\r\n\(answer)")
            // The origin sends the end of the answer only after the client has read the rest of the answer.
            try? delivered.waitBlocking()
            if answer.contains("chunked") { try? stream.send("0\r\n\r\n") }
            if !answer.contains("Content-Length") { stream.finishSending() }
            got.append((try? stream.readToEnd()) ?? [])
            ended.open()
        }
        defer { listener.stop() }
        let body = OriginUpload(length: length)
        let collector = client.start("http://127.0.0.1:\(listener.port)/", body)
        body.write(SharedBytes("some".utf8))
        // The producer writes no more, so the transfer waits for it when the answer arrives.
        try await collector.didSend.wait()
        #expect(collector.head?.status == 413)
        #expect(body.write(SharedBytes("more".utf8)) == .closed)
        delivered.open()
        try await collector.summary()
        #expect(collector.text == "large")
        try await ended.wait()
        #expect(got.elements[0].suffix(5) != Self.lastChunk[...])
    }

    @Test("The receiver gets an early answer even while the origin does not read the body")
    func earlyWhileBlocked() async throws {
        let answered = Gate()
        let listener = try Listener { stream, _ in
            try? stream.readHead()
            try? answered.waitBlocking()
            try? stream.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
            _ = try? stream.readToEnd()
        }
        defer { listener.stop() }
        let body = OriginUpload(length: nil)
        let collector = client.start("http://127.0.0.1:\(listener.port)/", body)
        // Writes more bytes than the sockets' buffers take.
        while body.write(SharedBytes([UInt8](repeating: 1, count: 32 << 20))) == .room {}
        answered.open()
        try await collector.summary()
        #expect(collector.text == "no")
        #expect(body.write(SharedBytes([1])) == .closed)
    }

    @Test("After an early answer with a success status, the rest of the body is sent")
    func earlySuccess() async throws {
        let listener = try Listener { stream, _ in
            try? stream.readHead()
            try? stream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<3 {
                guard let some = try? stream.read(4) else { return }
                try? stream.send("4\r\n\(String(decoding: some, as: UTF8.self))\r\n")
            }
            try? stream.send("0\r\n\r\n")
        }
        defer { listener.stop() }
        let body = OriginUpload(length: 12)
        let collector = client.start("http://127.0.0.1:\(listener.port)/", body)
        try await collector.didAnswer.wait()
        for word in ["one ", "two ", "four"] { #expect(body.write(SharedBytes(word.utf8)) == .room) }
        body.finish()
        try await collector.summary()
        #expect(collector.text == "one two four")
    }
}
