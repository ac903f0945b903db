import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Origin

@Suite struct BodyTests {
    private func serving(_ body: [UInt8], _ fields: HTTPFields = [:]) throws -> ScriptedOrigin {
        try ScriptedOrigin { _, connection in try connection.respond(fields: fields, body: body) }
    }

    @Test("A chunked body is reported without a declared length, and as framed in chunks")
    func chunked() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.startChunks()
            for word in ["one", "two", "three"] { try connection.sendChunk(word) }
            try connection.endChunks()
        }
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.text == "onetwothree")
        #expect(collector.head?.declaredLength == nil)
        #expect(collector.head?.framing == .chunked)
    }

    @Test("A body without a length, which the close of the connection ends, is complete but reported as unframed")
    func untilClose() async throws {
        let origin = try rawOrigin("HTTP/1.1 200 OK\r\n\r\nuntil close")
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.text == "until close")
        #expect(collector.head?.framing == .close)
        #expect(try collector.results[0].get().framing.isFramed == false)
    }

    @Test("A body with Content-Length 0 is complete")
    func empty() async throws {
        let origin = try serving([])
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.head?.declaredLength == 0)
        #expect(try collector.results[0].get().byteCount == 0)
        #expect(try collector.results[0].get().framing.isFramed)
    }

    @Test(
        "A truncated body fails with libcurl's error 18, and the client does not send the request again",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
        ])
    func cut(bytes: String) async throws {
        let origin = try rawOrigin(bytes)
        let error = try await OriginClient(configuration: .local).failure(origin.url())
        guard case .transfer = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
        #expect(error.code == 18)
        #expect(!error.message.isEmpty)
        #expect(origin.requestCount == 1)
    }

    @Test("The client drops bytes after the declared length, and does not use the connection again")
    func tooLong() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more")
        }
        let client = OriginClient(configuration: .local)
        #expect(try await client.get(origin.url()).text == "hello")
        #expect(try await client.get(origin.url()).text == "hello")
        #expect(origin.connectionCount == 2)
    }

    @Test(
        "An answer with an ambiguous or invalid head is malformed",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
            "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok", "HTTP/1.1 200 OK\r\nContent-Length: 2x\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nX: a\u{0}b\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nX-\u{1}: 1\r\nContent-Length: 2\r\n\r\nok", "ok",
        ])
    func malformed(bytes: String) async throws {
        let origin = try rawOrigin(bytes)
        let collector = OriginClient(configuration: .local).start(origin.url())
        let error = try await collector.error()
        guard case .malformedResponse = error.kind else {
            Issue.record("\(error.kind): \(error)")
            return
        }
        #expect(collector.heads.isEmpty)
        #expect(collector.body.isEmpty)
    }

    @Test("A transfer coding other than chunked is malformed, because libcurl would accept a truncated gzip body")
    func transferCoding() async throws {
        let gzip = Coded.gzip(Coded.hello).dropLast()
        let origin = try ScriptedOrigin { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n")
            try connection.sendChunk(gzip)
            try connection.endChunks()
        }
        let collector = OriginClient(configuration: .local).start(origin.url())
        guard case .malformedResponse("it has a transfer coding other than chunked") = try await collector.error().kind
        else {
            Issue.record("\(collector.results)")
            return
        }
        #expect(collector.heads.isEmpty)
    }

    @Test("A declared length over the size limit ends the transfer before any byte of the body")
    func declaredTooLarge() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "1001"])
            try gate.waitBlocking()
        }
        defer { gate.open() }
        let collector = OriginClient(configuration: .local).start(origin.url()) { $0.sizeLimit = 1000 }
        let error = try await collector.error()
        guard case .tooLarge(limit: 1000) = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
        #expect(error.code == 63)
        #expect(collector.heads.isEmpty)
    }

    @Test(
        "A body of exactly the size limit is accepted, and a body with a byte more is refused",
        arguments: [true, false])
    func undeclaredTooLarge(isChunked: Bool) async throws {
        let origin = try ScriptedOrigin { request, connection in
            let body = [UInt8](repeating: 0x78, count: request.target == "/fits" ? 1000 : 1001)
            if isChunked {
                try connection.startChunks()
                try connection.sendChunk(body)
                try connection.endChunks()
            } else {
                try connection.sendHead()
                try connection.send(body)
                connection.close()
            }
        }
        let client = OriginClient(configuration: .local)
        #expect(try await client.get(origin.url("/fits")) { $0.sizeLimit = 1000 }.body.count == 1000)
        let collector = client.start(origin.url("/over")) { $0.sizeLimit = 1000 }
        guard case .tooLarge(limit: 1000) = try await collector.error().kind else {
            Issue.record("\(collector.results)")
            return
        }
        #expect(collector.body.count <= 1000)
    }

    @Test("A large body arrives whole")
    func large() async throws {
        let piece = (0..<1_000_003).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: String(piece.count * 8)])
            for _ in 0..<8 { try connection.send(piece) }
        }
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.body.count == piece.count * 8)
        #expect(collector.body.suffix(piece.count) == piece[...])
    }
}
