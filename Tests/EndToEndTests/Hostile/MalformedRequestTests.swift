import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Requests that two servers could understand differently (RFC 9112 §11.2), sent byte by byte on a real connection. A
/// second request follows on the connection and must not be executed.
@Suite("Malformed and smuggling requests")
struct MalformedRequestTests {
    enum Answer: Sendable {
        /// Larder answers with a problem, and closes the connection.
        case problem(Int)
        /// libmicrohttpd answers with its own page, and closes the connection.
        case library(Int)
        /// Larder answers with a problem, and the connection goes on.
        case kept(Int)
        /// Larder accepts the request and answers with this status. The connection is closed.
        case taken(Int)
    }

    /// The request behind each case on the connection.
    private static let smuggled = "DELETE /entries?all=true HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    static let cases = others + nulLineFeeds

    private static let others: [(String, Answer)] = [
        // RFC 9112 §6.3: lengths.
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 50\r\n\r\nx",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\u{b}chunked\r\n\r\n0\r\n\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\u{0}\r\n\r\n0\r\n\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n",
            .problem(400)
        ),
        ("PUT /entries/x/content HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .problem(400)),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551615\r\n\r\nx",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9223372036854775808\r\n\r\nx",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\nx",
            .library(413)
        ),
        ("PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: +1\r\n\r\nx", .library(400)),
        ("PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\nx", .library(400)),
        ("PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0x1\r\n\r\nx", .library(400)),
        ("PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1, 1\r\n\r\nx", .library(400)),
        ("PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1 \r\n\r\nx", .library(400)),
        ("PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nContent-Length:\r\n\r\nx", .library(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", .problem(400)),
        // RFC 9112 §2.2, §5: lines.
        ("GET /entries HTTP/1.1\nHost: localhost\n\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX: y\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\n\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX: a\r\n\tb: c\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\n Host: localhost\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX: a\u{0}b\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX: a\u{1}b\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX\u{0}: a\r\n\r\n", .library(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX : a\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX(y): a\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\n: a\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n", .library(400)),
        // RFC 9112 §3: request lines and targets.
        ("GET /entries\u{0}x HTTP/1.1\r\nHost: localhost\r\n\r\n", .problem(400)),
        ("GET /entries x HTTP/1.1\r\nHost: localhost\r\n\r\n", .problem(400)),
        ("GET  /entries HTTP/1.1\r\nHost: localhost\r\n\r\n", .problem(400)),
        ("GET /entries  HTTP/1.1\r\nHost: localhost\r\n\r\n", .problem(400)),
        ("GET /entries\u{7f} HTTP/1.1\r\nHost: localhost\r\n\r\n", .problem(400)),
        ("G(T /entries HTTP/1.1\r\nHost: localhost\r\n\r\n", .problem(400)),
        ("GET\u{0} /entries HTTP/1.1\r\nHost: localhost\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/2.0\r\nHost: localhost\r\n\r\n", .library(505)),
        ("GET /entries HTTP/1.10\r\nHost: localhost\r\n\r\n", .library(400)),
        ("GET /entries\r\n\r\n", .library(400)),
        ("GET /entries HTTX/1.1\r\nHost: localhost\r\n\r\n", .library(400)),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .library(505)),
        ("GET /\(String(repeating: "a", count: 40_000)) HTTP/1.1\r\nHost: localhost\r\n\r\n", .problem(414)),
        ("GET /\(String(repeating: "a", count: 13_000)) HTTP/1.1\r\nHost: localhost\r\n\r\n", .problem(414)),
        ("GET /\(String(repeating: "a", count: 17_000)) HTTP/1.1\r\nHost: localhost\r\n\r\n", .problem(414)),
        ("GET /fetch/http://h/\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: localhost\r\n\r\n", .kept(414)),
        (
            "GET /entries HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "a", count: 40_000))\r\n\r\n",
            .problem(431)
        ),
        (
            "GET /entries HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "a", count: 20_000))\r\n\r\n",
            .problem(431)
        ),
        // RFC 9112 §3.2: Host.
        ("GET /entries HTTP/1.1\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost/x\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: a@localhost\r\n\r\n", .problem(400)),
        ("GET /entries HTTP/1.1\r\nHost: localhost, evil.example\r\n\r\n", .problem(400)),
        // RFC 9112 §7.1: chunks. The invalid chunks that libmicrohttpd accepts never move the end of the body.
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx",
            .problem(413)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n",
            .problem(400)
        ),
        (
            "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n0\r\n\r\n",
            .taken(200)
        ),
        // libmicrohttpd ends a chunk's line at a bare LF, also within an extension. Other servers read on to the CRLF.
        (chunked + "1\r\nx\r\n0;\n\n", .problem(400)),
        (chunked + "1\nx\n0\n\n", .problem(400)),
        (chunked + "1\u{0}\nx\r\n0\r\n\r\n", .problem(400)),
        (chunked + "1\r\nx\r\n0\r\n\u{0}\n", .problem(400)),
        (chunked + "1\r\nx\r\n0\r\nX: y\u{0}\n\r\n", .problem(400)),
        // The parts of a chunked body that are not data have limits.
        (chunked + "1;" + String(repeating: "a", count: 60_000) + "\r\nx\r\n0\r\n\r\n", .problem(400)),
        (chunked + "1" + String(repeating: ";a", count: 30_000) + "\r\nx\r\n0\r\n\r\n", .problem(400)),
        (chunked + String(repeating: "1;abcdefghij\r\nx\r\n", count: 4000) + "0\r\n\r\n", .problem(400)),
        (chunked + String(repeating: "0", count: 60_000), .problem(400)),
        (chunked + "0\r\n" + String(repeating: "X: y\r\n", count: 10_000) + "\r\n", .problem(431)),
    ]

    private static let chunked =
        "PUT /entries/x/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// For libmicrohttpd, NUL LF ends a line like CRLF, and a line that begins with a NUL is an empty line.
    private static let nulLineFeeds: [(String, Answer)] =
        [
            ("GET /entries HTTP/1.1\u{0}\nHost: localhost\r\n\r\n", .library(400)),
            ("GET /entries\u{0}\n", .library(400)),
            ("GET /entries HTTP/1.1\r\nHost: localhost\u{0}\n\r\n", .problem(400)),
            ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX\u{0}\n\r\n", .library(400)),
            ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX:\u{0}\n\r\n", .problem(400)),
            ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX: y\u{0}\nCookie: z=1\r\n\r\n", .problem(400)),
            ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX: y\u{0}\nLarder-Namespace: z\r\n\r\n", .problem(400)),
            ("GET /entries HTTP/1.1\r\nHost: localhost\r\nX: y\u{0}\nContent-Length: 60\r\n\r\n", .problem(400)),
            (
                "GET /entries HTTP/1.1\r\nHost: localhost\r\nX: y\u{0}\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                .problem(400)
            ),
            ("GET /entries HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\u{0}\n\r\n", .problem(400)),
            ("GET /entries HTTP/1.1\r\nHost: localhost\r\n\u{0}\n", .problem(400)),
            ("GET /entries HTTP/1.1\r\nHost: localhost\r\n\u{0}X: y\r\n\r\n", .problem(400)),
        ]
        + ["\u{0}\r\n", "\u{0}\n", "\u{0}junk\r\n", "\u{0}DELETE /entries?all=true HTTP/1.1\r\n\r\n", "\n", "\r\n\n"]
        .map {
            ($0 + "GET /entries HTTP/1.1\r\nHost: localhost\r\n\r\n", .problem(400))
        }

    @Test(
        "Each malformed request gets the expected answer, and the bytes behind the request are not read as a request",
        arguments: cases.indices)
    func answered(index: Int) async throws {
        let (request, expected) = Self.cases[index]
        try await TestServer.with { (server) async throws in
            #expect(try await server.put("kept", Array("kept".utf8)).status == 200)
            let text = try await blocking {
                let connection = try RawConnection(port: server.api.port)
                defer { connection.close() }
                try connection.send(request + Self.smuggled)
                return String(decoding: (try? connection.readToEnd()) ?? [], as: UTF8.self)
            }
            let shown = request.prefix(200).debugDescription
            let statuses = text.split(separator: "HTTP/1.1 ").dropFirst(text.hasPrefix("HTTP/1.1 ") ? 0 : 1)
                .compactMap { Int($0.prefix(3)) }
            switch expected {
            case .problem(let status):
                #expect(statuses == [status], "\(shown): \(text)")
                #expect(text.contains("application/problem+json"), "\(shown): \(text)")
            case .library(let status):
                // libmicrohttpd sends two heads for some requests.
                #expect(Set(statuses) == [status], "\(shown): \(text)")
                #expect(!text.contains("application/problem+json"), "\(shown): \(text)")
            case .kept(let status):
                #expect(statuses == [status, 200], "\(shown): \(text)")
                return
            case .taken(let status): #expect(statuses == [status], "\(shown): \(text)")
            }
            #expect(try await server.get("/entries/kept").status == 200, "\(shown)")
        }
    }
}
