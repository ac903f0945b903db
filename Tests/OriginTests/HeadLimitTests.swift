import TestSupport
import Testing

@testable import Origin

/// Tests of heads and trailers that are too long.
@Suite struct HeadLimitTests {
    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"

    private func text(_ count: Int) -> String { String(repeating: "a", count: count) }

    /// The reason and the code with which a client refuses a malformed answer.
    private func reason(_ bytes: String) async throws -> String {
        let origin = try rawOrigin(bytes)
        let error = try await OriginClient(configuration: .local).failure(origin.url())
        #expect(origin.requestCount == 1)
        guard case .malformedResponse(let reason) = error.kind else { return "\(error.kind): \(error)" }
        #expect(error.message == "the response is malformed: \(reason)")
        return "\(reason) (\(error.code))"
    }

    @Test("An answer with 100,000 fields is refused, because HTTPFields would end the process")
    func tooManyFields() async throws {
        let fields = String(repeating: "a:\n", count: 100_000)
        #expect(try await reason("HTTP/1.1 200 OK\n\(fields)\n") == "it has more than 5000 fields (8)")
    }

    @Test("An answer with endless trailers is cut off, although its body is complete", .timeLimit(.minutes(1)))
    func endlessTrailers() async throws {
        let hungUp = Gate("hang-up")
        let trailer = "X-Trailer: \(text(1000))\r\n"
        let origin = try ScriptedOrigin { _, connection in
            defer { hungUp.open() }
            try connection.send(Self.chunked)
            while true { try connection.send(trailer) }
        }
        let collector = OriginClient(configuration: .local).start(origin.url())
        guard case .malformedResponse("the trailers are too long") = try await collector.error().kind else {
            Issue.record("\(collector.results)")
            return
        }
        #expect(collector.text == "ok")
        try await hungUp.wait()
    }

    @Test("An answer with an endless head is cut off: one line, many lines, or many interim heads")
    func endlessHeads() async throws {
        let piece = text(1000)
        for (start, repeated, words) in [
            ("HTTP/1.1 200 OK\r\nX-A: ", piece, "a line of its head is too long (27)"),
            ("HTTP/1.1 200 ", piece, "a line of its head is too long (27)"),
            ("HTTP/1.1 200 OK\r\n", "X-A: \(piece)\r\n", "its head is too long (56)"),
            ("", "HTTP/1.1 103 Early Hints\r\nX-A: \(piece)\r\n\r\n", "its head is too long (56)"),
        ] {
            let origin = try ScriptedOrigin { _, connection in
                try connection.send(start)
                while true { try connection.send(repeated) }
            }
            let error = try await OriginClient(configuration: .local).failure(origin.url())
            #expect(error.description == "the response is malformed: \(words)")
            #expect(origin.requestCount == 1)
        }
    }

    @Test("A head line of 95 KB is accepted, a line of 150 KB is refused")
    func longLine() async throws {
        func head(_ count: Int) -> String { "HTTP/1.1 200 OK\r\nX-A: \(text(count))\r\nContent-Length: 2\r\n\r\nok" }
        let origin = try rawOrigin(head(95_000))
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.head?.fields.first?.value.utf8.count == 95_000)
        #expect(try await reason(head(150_000)) == "a line of its head is too long (27)")
    }

    /// libcurl's own messages for such answers are "Out of memory", "A libcurl function was given a bad argument" and
    /// "Received HTTP/0.9 when not allowed", among others.
    @Test("The error for a malformed response has Larder's own reason and libcurl's code, without libcurl's text")
    func words() async throws {
        #expect(try await reason("SSH-2.0-OpenSSH_9.2\r\n") == "it does not begin with an HTTP status line (1)")
        #expect(try await reason("HTTP/1.1 200 OK\r\n X: a\r\n\r\n") == "a line of its head is not a field (43)")
        #expect(try await reason("\(Self.chunked)X: \(text(150_000))\r\n\r\n") == "a trailer is too long (56)")
        let codings = Array(repeating: "gzip", count: 7).joined(separator: ",")
        #expect(
            try await reason("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(codings)\r\n\r\n")
                == "it has a transfer coding other than chunked (61)")
    }
}
