import Foundation
import Testing

@testable import MicroHTTPD

@Suite("Defects of requests")
struct DefectTests {
    /// Refuses defective requests, as every handler should.
    private static let handler = Handler { request in
        if let defect = request.defect { return .refuse(Response(status: defect.status, text: "\(defect)")) }
        return .accept(.memory(limit: 1000)) { $0.respond(Response(text: "taken")) }
    }

    /// The bytes sent after `GET `, and the defect that they contain.
    static let defective: [(String, RequestDefect)] = [
        // RFC 9112 §2.2, §3: a NUL hides the bytes behind it, in a target and in a value.
        ("/entries?all=true\0zz HTTP/1.1\r\nHost: h\r\n\r\n", .malformedHead),
        ("/a\0b?c HTTP/1.1\r\nHost: h\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\0i\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nX: a\0b\r\nY: c\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nX: a\0\r\n\r\n", .malformedHead),
        // After libmicrohttpd has parsed a head, a NUL before a bare LF looks like a CR.
        ("/ HTTP/1.1\r\nHost: h\0\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nX: y\0\nZ: z\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nX:\0\nZ: z\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nX: \0\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\n\0\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\n\0\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\n\0X: y\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\0\n\0\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nX: y\0\nContent-Length: 40\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nX: y\0\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nContent-Length: 0\0\n\r\n", .malformedHead),
        // Spaces in the request line.
        ("/a b HTTP/1.1\r\nHost: h\r\n\r\n", .malformedHead),
        (" /a HTTP/1.1\r\nHost: h\r\n\r\n", .malformedHead),
        ("/a  HTTP/1.1\r\nHost: h\r\n\r\n", .malformedHead),
        ("/a\tb HTTP/1.1\r\nHost: h\r\n\r\n", .malformedHead),
        ("/a\u{7f} HTTP/1.1\r\nHost: h\r\n\r\n", .malformedHead),
        ("/a\rb HTTP/1.1\r\nHost: h\r\n\r\n", .malformedHead),
        // RFC 9112 §2.2: a bare LF, at the end of each kind of line.
        ("/ HTTP/1.1\nHost: h\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\n\n", .malformedHead),
        ("/ HTTP/1.1\nHost: h\n\n", .malformedHead),
        // RFC 9112 §5.2: folded lines.
        ("/ HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\nY: c\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\n Host: h\r\n\r\n", .malformedHead),
        // RFC 9110 §5.5: control characters and a bare CR.
        ("/ HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nX: a\u{1}b\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nX: \u{7f}\r\n\r\n", .malformedHead),
        // RFC 9110 §5.1: a field name must be a token.
        ("/ HTTP/1.1\r\nHost: h\r\nOdd(name): a\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nSpace : a\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\nTab\t: a\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\n: a\r\n\r\n", .malformedHead),
        ("/ HTTP/1.1\r\nHost: h\r\n: a\r\nX: b\r\n\r\n", .malformedHead),
        // RFC 9112 §3.2: a missing, repeated or invalid Host.
        ("/ HTTP/1.1\r\n\r\n", .host),
        ("/ HTTP/1.1\r\nX: y\r\n\r\n", .host),
        ("/ HTTP/1.2\r\n\r\n", .host),
        ("/ HTTP/1.1\r\nHost: h\r\nhOST: h\r\n\r\n", .host),
        ("/ HTTP/1.0\r\nHost: h\r\nHost: i\r\n\r\n", .host),
        ("/ HTTP/1.1\r\nHost: a b/c\r\n\r\n", .host),
        ("/ HTTP/1.1\r\nHost: h/\r\n\r\n", .host),
        ("/ HTTP/1.1\r\nHost: h, i\r\n\r\n", .host),
        ("/ HTTP/1.1\r\nHost: user@h\r\n\r\n", .host),
        ("/ HTTP/1.1\r\nHost: h:8x\r\n\r\n", .host),
        ("/ HTTP/1.1\r\nHost: ::1\r\n\r\n", .host),
        ("/ HTTP/1.1\r\nHost: [::1\r\n\r\n", .host),
        ("/ HTTP/1.1\r\nHost: []\r\n\r\n", .host),
        ("/ HTTP/1.1\r\nHost: [::1]x\r\n\r\n", .host),
        ("/ HTTP/1.0\r\nHost: h?\r\n\r\n", .host),
        // RFC 9112 §6.1: HTTP/1.0 has no Transfer-Encoding.
        ("/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", .ambiguousLength),
        // RFC 9112 §6.3: a body length that two readers may read differently.
        ("/ HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", .ambiguousLength),
        ("/ HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", .ambiguousLength),
        ("/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .ambiguousLength),
        ("/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked \r\n\r\n", .ambiguousLength),
        ("/ HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", .ambiguousLength),
        ("/ HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551615\r\n\r\n", .invalidLength),
        ("/ HTTP/1.1\r\nHost: h\r\nContent-Length: 9223372036854775808\r\n\r\n", .invalidLength),
    ]

    @Test("A defective request gets 400, and the daemon closes the connection without reading a request behind it")
    func refused() async throws {
        try await withDaemon(Self.handler) { daemon in
            for (request, defect) in Self.defective {
                let client = try RawClient(port: daemon.port)
                try client.send("GET " + request + "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                let answer = try client.answer()
                #expect(answer.status == 400, "\(request.debugDescription)")
                #expect(answer.text == "\(defect)", "\(request.debugDescription)")
                #expect(try client.isAtEnd(), "\(request.debugDescription)")
            }
        }
    }

    /// Invalid bytes before a request line: lines that begin with a NUL, and bare LFs.
    static let beforeRequest = [
        "\0\r\n", "\0\n", "\0junk\r\n", "\0 POST /x HTTP/1.1\r\n", "\0DELETE / HTTP/1.1\r\n\r\n", "\r\n\0\n", "\n",
        "\r\n\n", "\n\r\n", "\r\n\r\n\0\r\n", String(repeating: "\0junk\r\n", count: 100),
    ]

    @Test(
        "A NUL or bare LF before a request line is refused, on a new connection and behind other requests",
        arguments: beforeRequest, [1 << 20, 1])
    func refusedBeforeRequest(line: String, size: Int) async throws {
        let request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        let withBody = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\n\0\n\r\n\0a\n"
        try await withDaemon(Self.handler) { daemon in
            for first in ["", request, withBody, request + withBody + "\r\n" + request] {
                let client = try RawClient(port: daemon.port)
                let bytes = Array((first + line + request).utf8)
                for start in stride(from: 0, to: bytes.count, by: size) {
                    try client.send(Array(bytes[start..<min(bytes.count, start + size)]))
                }
                let count = first.components(separatedBy: " HTTP/1.1").count - 1
                for _ in 0..<count { #expect(try client.answer().text == "taken") }
                let answer = try client.answer()
                #expect(answer.status == 400 && answer.text == "malformedHead", "\(first.debugDescription)")
                #expect(try client.isAtEnd(), "\(first.debugDescription)")
            }
        }
    }

    @Test("A defective request is refused even if it arrives in pieces behind another request", arguments: [1, 3])
    func refusedInPieces(size: Int) async throws {
        try await withDaemon(Self.handler) { daemon in
            for (request, defect) in Self.defective where request.contains("\0") || request.contains("\n\n") {
                let client = try RawClient(port: daemon.port)
                let bytes = Array(("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET " + request).utf8)
                for start in stride(from: 0, to: bytes.count, by: size) {
                    try client.send(Array(bytes[start..<min(bytes.count, start + size)]))
                }
                #expect(try client.answer().text == "taken")
                #expect(try client.answer().text == "\(defect)", "\(request.debugDescription)")
            }
        }
    }

    /// The bytes after the head of a chunked body, and the defect that they contain.
    static let brokenChunks: [(String, RequestDefect)] = [
        ("x\r\n", .malformedChunks), ("1\nx\r\n0\r\n\r\n", .malformedChunks),
        ("1\r\nx\n0\r\n\r\n", .malformedChunks), ("1\0\nx\r\n0\r\n\r\n", .malformedChunks),
        ("1\r\nx\r\n0;\n\n", .malformedChunks), ("1\r\nx\r\n0\r\n\0\n", .malformedChunks),
        ("1\r\nxy\r\n0\r\n\r\n", .malformedChunks), (String(repeating: "0", count: 60_000), .malformedChunks),
        ("8000000000000000\r\n", .chunkTooLarge),
        ("1;" + String(repeating: "a", count: 60_000) + "\r\nx\r\n0\r\n\r\n", .chunkExtensions),
        ("1" + String(repeating: ";a", count: 30_000) + "\r\nx\r\n0\r\n\r\n", .chunkExtensions),
        (String(repeating: "1;abcdefghij\r\nx\r\n", count: 4000) + "0\r\n\r\n", .chunkExtensions),
        ("0;" + String(repeating: "a", count: 60_000), .chunkExtensions),
        ("0\r\n" + String(repeating: "A: b\r\n", count: 10_000), .trailersTooLarge),
        ("0\r\nA: " + String(repeating: "b", count: 60_000), .trailersTooLarge),
    ]

    @Test("A chunked body with wrong or oversized framing is refused, and its connection closed")
    func refusedChunks() async throws {
        let configure: (inout DaemonConfiguration) -> Void = {
            $0.refusal = { Response(status: $0.status, text: "\($0)") }
        }
        try await withDaemon(Self.handler, configure: configure) { daemon in
            for (body, defect) in Self.brokenChunks {
                for isSplit in [false, true] {
                    let client = try RawClient(port: daemon.port)
                    let head = "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
                    if isSplit {
                        try client.send(head + "Expect: 100-continue\r\n\r\n")
                        #expect(try client.answer().status == 100)
                        try client.send(body)
                    } else {
                        try client.send(head + "\r\n" + body)
                    }
                    let answer = try client.answer()
                    #expect(answer.status == defect.status, "\(body.prefix(50).debugDescription)")
                    #expect(answer.text == "\(defect)", "\(body.prefix(50).debugDescription)")
                    #expect(try client.isAtEnd(), "\(body.prefix(50).debugDescription)")
                }
            }
        }
    }

    @Test(
        "A request line that ends with NUL LF is refused, and the bytes behind the line are not read as a request",
        arguments: ["GET / HTTP/1.1\0\n", "GET /\0\n", "GET /\0\n HTTP/1.1\r\n", "GET\0 / HTTP/1.1\0\n"])
    func requestLine(line: String) async throws {
        try await withDaemon(Self.handler) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send(line + "Host: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try client.answer().status == 400)
            // For some of these lines, libmicrohttpd sends two heads.
            var rest: [UInt8] = []
            while case let bytes = try client.receive(), !bytes.isEmpty { rest += bytes }
            #expect(!String(decoding: rest, as: UTF8.self).contains("taken"))
        }
    }

    @Test("A method that is not a token is refused", arguments: ["G(T", "G\u{1}T", "G\0T"])
    func method(method: String) async throws {
        try await withDaemon(Self.handler) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send(method + " / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try client.answer().status == 400)
        }
    }

    @Test(
        "libmicrohttpd refuses a Content-Length that it cannot parse, and closes the connection",
        arguments: ["+5", "-1", "5, 5", "0x5", "5 ", "", "18446744073709551616"])
    func unreadableLength(length: String) async throws {
        try await withDaemon(Self.handler) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\nhello")
            let status = try client.answer().status
            #expect(status == 400 || status == 413)
            while try !client.receive().isEmpty {}
        }
    }

    static let whole = [
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost:\r\n\r\n",
        "DELETE /a%00?b=c&d&&=e HTTP/1.1\r\nhost:h:80\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a_b-c.%41.example:\r\n\r\n",
        "GET http://h/a?b?c HTTP/1.1\r\nHost: h\r\nX: \t a\tb ü \t\r\nX:\r\nY:  \r\nCookie: a=b; c\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nA!#$%&'*+-.^_`|~9: \"(),/:;<=>?@[\\]{}\r\nHost: h\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe\n\0\r",
        "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b\r\nh\n\0\r\n\r\n0;c\r\nA: b\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n\0\n\0GET /\0\n",
        "\r\n\r\nPUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n\n",
        "GET /\(String(repeating: "x", count: 9000)) HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 9000))\r\n\r\n",
    ]

    /// Whether the daemon closes the connection after the request.
    private static func isLast(_ request: String) -> Bool {
        request.contains("HTTP/1.0") || request.contains("Chunked")
    }

    @Test("A request without a defect is accepted, alone or pipelined, in one piece or in many")
    func taken() async throws {
        try await withDaemon(Self.handler) { daemon in
            for request in Self.whole {
                var client = try RawClient(port: daemon.port)
                let isLast = Self.isLast(request)
                for size in [1 << 20, 1000, 7] {
                    let bytes = Array((isLast ? request : request + request).utf8)
                    for start in stride(from: 0, to: bytes.count, by: size) {
                        try client.send(Array(bytes[start..<min(bytes.count, start + size)]))
                    }
                    for _ in 0..<(isLast ? 1 : 2) {
                        #expect(try client.answer().text == "taken", "\(request.prefix(200).debugDescription)")
                    }
                    if isLast { client = try RawClient(port: daemon.port) }
                }
            }
            let client = try RawClient(port: daemon.port)
            let others = Self.whole.filter { !Self.isLast($0) }
            try client.send(others.joined())
            for _ in others { #expect(try client.answer().text == "taken") }
        }
    }

    @Test("If libmicrohttpd's memory layout is unknown, checksHeads is false, and the daemon checks only parsed heads")
    func unknownLayout() async throws {
        try await withDaemon(Self.handler, configure: { $0.isLayoutKnown = false }) { daemon in
            #expect(!daemon.checksHeads)
            for (head, status) in [("X: y\nZ: z", 200), ("X: a\0b", 200), ("X: a\u{1}b", 400), ("Space : a", 400)] {
                let client = try RawClient(port: daemon.port)
                try client.send("GET / HTTP/1.1\r\nHost: h\r\n\(head)\r\n\r\n")
                #expect(try client.answer().status == status, "\(head.debugDescription)")
            }
        }
        #expect(Daemon(handler: Self.handler).checksHeads)
    }

    @Test("The loaded libmicrohttpd stores request heads in memory in the layout that the check for defects expects")
    func layout() {
        #expect(LayoutProbe.isLayoutKnown)
    }
}
