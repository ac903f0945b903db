import HTTPTypes
import TestSupport
import Testing

@testable import Origin

/// Tests of the parts of an answer that the receiver gets besides the body.
@Suite struct AnswerTests {
    private let client = OriginClient(configuration: .local)

    private func serving(_ heads: [String: String]) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            try connection.send("HTTP/1.1 \(heads[request.target] ?? "200 OK\r\nContent-Length: 0")\r\n\r\n")
        }
    }

    @Test(
        "An answer to HEAD ends with its head, even if the head declares a body",
        arguments: [
            ("200 OK\r\nContent-Length: 1000", 1000), ("200 OK\r\nTransfer-Encoding: chunked", nil), ("200 OK", nil),
            ("200 OK\r\nContent-Length: 10\r\nContent-Encoding: gzip", nil), ("404 Not Found\r\nContent-Length: 7", 7),
            ("204 No Content", 0), ("304 Not Modified\r\nContent-Length: 3", 0),
        ] as [(String, Int64?)])
    func head(lines: String, length: Int64?) async throws {
        let origin = try serving(["/x": lines])
        let collector = try await client.get(origin.url("/x")) {
            $0.method = .head
            $0.sizeLimit = 5
        }
        #expect(collector.head?.declaredLength == length)
        #expect(collector.head?.framing == .noBody)
        #expect(collector.body.isEmpty)
    }

    @Test("The client reports a pause to the receiver only if the body arrives later than the head")
    func pause() async throws {
        let gate = Gate("body")
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/together" { return try connection.respond(body: "body") }
            try connection.sendHead(fields: [.contentLength: "4"])
            try gate.waitBlocking()
            try connection.send("body")
        }
        let late = client.start(origin.url("/late"))
        try await late.didPause.wait()
        #expect(late.head?.declaredLength == 4)
        #expect(late.body.isEmpty)
        gate.open()
        try await late.summary()
        let together = try await client.get(origin.url("/together"))
        #expect(together.text == "body")
        #expect(!together.didPause.isOpen)
    }

    @Test(
        "A pause in a chunked body is reported once, whether it comes before or after the first chunk",
        arguments: [true, false])
    func pauseInChunks(isHeadAlone: Bool) async throws {
        let gate = Gate("the pause")
        let origin = try ScriptedOrigin { _, connection in
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            try connection.send(isHeadAlone ? head : head + "1\r\na\r\n")
            try gate.waitBlocking()
            try connection.send(isHeadAlone ? "1\r\na\r\n0\r\n\r\n" : "0\r\n\r\n")
        }
        let collector = client.start(origin.url())
        try await collector.didPause.wait()
        gate.open()
        try await collector.summary()
        #expect(collector.text == "a")
        #expect(collector.pauseCount == 1)
    }

    @Test("A body after the answer to HEAD never becomes the answer to the next request")
    func headWithBody() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.method == "GET" { return try connection.respond(body: "right") }
            try connection.send(
                "HTTP/1.1 200 OK\r\nContent-Length: 41\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
        }
        for _ in 0..<3 {
            try await client.get(origin.url()) { $0.method = .head }
            #expect(try await client.get(origin.url()).text == "right")
        }
    }

    @Test(
        "Answers with 204 and 304 have no body, even if their fields declare a body",
        arguments: [
            "304 Not Modified\r\nContent-Length: 1000", "304 Not Modified\r\nTransfer-Encoding: chunked",
            "304 Not Modified\r\nContent-Encoding: gzip", "204 No Content\r\nContent-Length: 0",
            "204 No Content\r\nContent-Length: 10",
        ])
    func noBody(lines: String) async throws {
        let origin = try serving(["/x": lines])
        let collector = try await client.get(origin.url("/x"))
        #expect(collector.head?.declaredLength == 0)
        #expect(collector.head?.framing == .noBody)
        try await client.get(origin.url("/y"))
        #expect(origin.connectionCount == 1)
    }

    @Test("The receiver gets each interim answer except 100 when it arrives, in order (RFC 9110 §15.2)")
    func interim() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { _, connection in
            try connection.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX-Step: 1\r\n\r\n")
            try gate.waitBlocking()
            try connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\n")
            try connection.send("HTTP/1.1 199 New\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let collector = client.start(origin.url())
        // Each interim answer arrives when the origin has sent it.
        try await collector.didAnswerInterim.wait()
        #expect(collector.heads.isEmpty)
        gate.open()
        try await collector.summary()
        #expect(collector.interimHeads.map(\.status) == [102, 103, 199])
        #expect(collector.interimHeads[0].fields[HTTPField.Name("X-Step")!] == "1")
        #expect(collector.interimHeads[1].fields[values: HTTPField.Name("Link")!] == ["</a>", "</b>"])
        #expect(collector.interimHeads[1].framing == .noBody)
        #expect(collector.heads.map(\.status) == [200])
        #expect(collector.text == "ok")
    }

    @Test("Every field line is kept as sent: order, case, bytes that are not UTF-8, empty values")
    func fields() async throws {
        let lines: [[UInt8]] = ["x-b:  one ", "X-A:", "X-b:\ttwo\t three", "SET-cookie: a=\"b\""].map { Array($0.utf8) }
        let text = Array("X-Text: ".utf8) + [0x61, 0xe9, 0xff]
        let origin = try ScriptedOrigin { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\n")
            for line in lines + [text] { try connection.send(line + [0x0d, 0x0a]) }
            try connection.send("Content-Length: 0\r\n\r\n")
        }
        let fields = try #require(try await client.get(origin.url()).head?.fields)
        #expect(fields.map(\.name.rawName) == ["x-b", "X-A", "X-b", "SET-cookie", "X-Text", "Content-Length"])
        #expect(fields.prefix(4).map(\.value) == ["one", "", "two\t three", "a=\"b\""])
        #expect(Array(fields)[4].withUnsafeBytesOfValue(Array.init) == [0x61, 0xe9, 0xff])
    }

    @Test("With decodesContent = false, a coded body arrives unchanged and with its declared length")
    func undecoded() async throws {
        let gzip = Coded.gzip(Coded.hello)
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.contentEncoding: "gzip"], body: gzip)
        }
        let collector = try await client.get(origin.url()) { $0.decodesContent = false }
        #expect(collector.body == gzip)
        #expect(collector.head?.declaredLength == Int64(gzip.count))
        #expect(origin.requests[0].fields[.acceptEncoding] == nil)
    }

    @Test("Trailers are dropped without an error (RFC 9110 §6.5.1)")
    func trailers() async throws {
        let origin = try serving([
            "/x": "200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1"
        ])
        let collector = try await client.get(origin.url("/x"))
        #expect(collector.text == "ok")
        #expect(collector.head?.fields[HTTPField.Name("X-Sum")!] == nil)
        try await client.get(origin.url("/y"))
        #expect(origin.connectionCount == 1)
    }
}
