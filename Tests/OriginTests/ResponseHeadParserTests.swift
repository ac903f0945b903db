import HTTPTypes
import Testing

@testable import Origin

@Suite struct ResponseHeadParserTests {
    /// Feeds a text to the parser line by line, as libcurl does, and returns the heads in the text.
    private func parse(_ text: String, allowsHTTP2: Bool = false) throws -> [ResponseHeadParser.Head] {
        var parser = ResponseHeadParser(allowsHTTP2: allowsHTTP2)
        var heads: [ResponseHeadParser.Head] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0a) ?? rest.endIndex - 1
            let line = Array(rest[...end])
            rest = rest[(end + 1)...]
            if let head = try line.withUnsafeBytes({ try parser.consume($0) }) { heads.append(head) }
        }
        return heads
    }

    @Test("The parser keeps every field line, in order, even repeated lines")
    func fields() throws {
        let head = try #require(
            try parse(
                "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX-Empty:\r\nContent-Length:  3 \r\nset-cookie:\tb=2\t\r\n\r\n"
            ).first)
        #expect(head.status == 200)
        #expect(head.version == "1.1")
        #expect(head.contentLength == 3)
        #expect(
            head.fields.map { "\($0.name.rawName)=\($0.value)" } == [
                "Set-Cookie=a=1", "X-Empty=", "Content-Length=3", "set-cookie=b=2",
            ])
    }

    @Test("The parser returns interim heads before the final head (RFC 9110 §15.2), and ignores trailers")
    func interim() throws {
        let heads = try parse(
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nX-Trailer: 1\r\n\r\n"
        )
        #expect(heads.map(\.status) == [103, 200])
        #expect(heads[1].isChunked)
        #expect(heads[1].fields[HTTPField.Name("Link")!] == nil)
    }

    @Test(
        "The parser accepts the deviations that the RFCs let a client accept",
        arguments: [
            // A bare LF ends a line (RFC 9112 §2.2).
            "HTTP/1.1 200 OK\nContent-Length: 3\n\n",
            // The reason phrase may be missing, with or without the space before it (RFC 9112 §4).
            "HTTP/1.1 200 \r\nContent-Length: 3\r\n\r\n", "HTTP/1.1 200\r\nContent-Length: 3\r\n\r\n",
            // Equal lengths count as a single length (RFC 9110 §8.6).
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\n",
            // A length may have leading zeros.
            "HTTP/1.1 200 OK\r\nContent-Length: 003\r\n\r\n",
            "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n",
        ])
    func lenient(text: String) throws {
        #expect(try parse(text).first?.contentLength == 3)
    }

    @Test("A folded line is joined with a space (RFC 9112 §5.2), and other control characters become spaces")
    func folded() throws {
        let head = try #require(try parse("HTTP/1.1 200 OK\r\nX-A: one\r\n\t two \r\nX-B: a\u{1}b\r\n\r\n").first)
        #expect(head.fields[HTTPField.Name("X-A")!] == "one two")
        #expect(head.fields[HTTPField.Name("X-B")!] == "a b")
    }

    @Test("Bytes that are not ASCII are kept (obs-text, RFC 9110 §5.5)")
    func obsText() throws {
        let head = try #require(try parse("HTTP/1.1 200 OK\r\nX-A: é\r\n\r\n").first)
        #expect(head.fields[HTTPField.Name("X-A")!] == "é")
    }

    @Test("The parser accepts libcurl's status line for HTTP/2 only over TLS")
    func http2() throws {
        #expect(try parse("HTTP/2 200 \r\ncontent-length: 3\r\n\r\n", allowsHTTP2: true).first?.version == "2")
        #expect(throws: ResponseHeadParser.Malformed.self) { try parse("HTTP/2 200 \r\n\r\n") }
    }

    @Test(
        "A head with a field that two readers may read differently is malformed",
        arguments: [
            ("Content-Length: 3\r\nContent-Length: 4", "differ"), ("Content-Length: 3, 4", "differ"),
            ("Content-Length: +3", "not a number"), ("Content-Length: 3x", "not a number"),
            ("Content-Length: -3", "not a number"),
            ("Content-Length: 0x3", "not a number"), ("Content-Length:", "not a number"),
            ("Content-Length: 3,", "not a number"),
            ("Content-Length: 99999999999999999999", "not a number"),
            ("Content-Length: 3\r\nTransfer-Encoding: chunked", "both"),
            ("Transfer-Encoding: chunked\r\nContent-Length: 3", "both"),
            ("Transfer-Encoding: gzip, chunked", "other than chunked"),
            ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", "other than chunked"),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "other than chunked"),
            ("Transfer-Encoding: identity", "other than chunked"), ("Transfer-Encoding:", "other than chunked"),
            ("Content-Length : 3", "white space"), ("Content-Length\t: 3", "white space"), ("X A: 3", "name"),
            (": 3", "name"), ("X-A\u{1}: 3", "name"), ("no colon", "colon"), ("X-A: a\rb", "CR"),
            ("X-A: a\0b", "CR or NUL"),
            (" X-A: folded", "folded"),
        ])
    func malformed(lines: String, words: String) {
        let error = #expect(throws: ResponseHeadParser.Malformed.self) {
            try parse("HTTP/1.1 200 OK\r\n\(lines)\r\n\r\n")
        }
        #expect(error?.reason.contains(words) == true, "\(String(describing: error))")
    }

    @Test(
        "An answer with an invalid status line, or with an unrequested 101, is malformed",
        arguments: [
            "HTTP/1.2 200 OK", "HTTP/1.1 99 Low", "HTTP/1.1 099 Low", "HTTP/1.1 1000 High", "HTTP/1.1  200 OK",
            "ICY 200 OK",
            "HTTP/1.1 2x0 OK", "HTTP/1.1", "HTTP/1.1 101 Switching Protocols", "",
        ])
    func malformedStatus(line: String) {
        #expect(throws: ResponseHeadParser.Malformed.self) { try parse("\(line)\r\n\r\n") }
    }

    @Test("A head with more fields than HTTPFields can hold is malformed, and does not end the process")
    func tooManyFields() throws {
        let most = String(repeating: "a:\n", count: 5000)
        #expect(try parse("HTTP/1.1 200 OK\n\(most)\n").first?.fields.count == 5000)
        let error = #expect(throws: ResponseHeadParser.Malformed.self) {
            try parse("HTTP/1.1 200 OK\n\(most)a:\n\n")
        }
        #expect(error?.reason == "it has more than 5000 fields")
    }

    @Test("Any three-digit number from 100 on is a status", arguments: [200, 299, 499, 599, 999])
    func statuses(status: Int) throws {
        #expect(try parse("HTTP/1.1 \(status) X\r\n\r\n").first?.status == status)
    }
}
