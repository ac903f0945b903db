import Testing

@testable import Origin

/// RFC 9112 §7.1.
@Suite struct ChunkedBodyTests {
    /// The content, and how many bytes belong to the body; read in pieces of `size` bytes.
    private func read(
        _ text: String, inPiecesOf size: Int = .max
    ) throws -> (content: String, count: Int, isComplete: Bool) {
        var body = ChunkedBody()
        var content: [UInt8] = []
        var count = 0
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(piece.count)
            count += try piece.withUnsafeBytes {
                try body.read($0) {
                    content += $0
                    return true
                }
            }
        }
        return (String(decoding: content, as: UTF8.self), count, body.isComplete)
    }

    @Test(
        "chunks become their content, however they are cut",
        arguments: [
            ("0\r\n\r\n", ""), ("5\r\nhello\r\n0\r\n\r\n", "hello"),
            ("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "hello"),
            ("00005\r\nhello\r\n000\r\n\r\n", "hello"), ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
            ("a\r\n\r\n\r\n\r\n0\r\n\r\r\n0\r\n\r\n", "\r\n\r\n\r\n0\r\n\r"),
            ("5;a=b;c=\"d e\"\r\nhello\r\n0;x\r\n\r\n", "hello"), ("5 \t\r\nhello\r\n0  \r\n\r\n", "hello"),
            ("5 ; a = b\r\nhello\r\n0\r\n\r\n", "hello"),
            ("5\r\nhello\r\n0\r\nX-Sum: 1\r\nExpires:\r\n\r\n", "hello"),
        ])
    func valid(text: String, content: String) throws {
        for size in [1, 2, 3, .max] {
            let found = try read(text, inPiecesOf: size)
            #expect(found.content == content)
            #expect(found.count == text.utf8.count)
            #expect(found.isComplete)
        }
    }

    @Test("reading stops behind a piece of content when it is told to, and goes on there")
    func pause() throws {
        let text = Array("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n".utf8)
        var body = ChunkedBody()
        var pieces: [String] = []
        var offset = 0
        while !body.isComplete {
            offset += try text[offset...].withUnsafeBytes {
                try body.read($0) {
                    pieces.append(String(decoding: $0, as: UTF8.self))
                    return false
                }
            }
        }
        #expect(pieces == ["he", "llo"])
        #expect(offset == text.count)
    }

    @Test("bytes behind the end are not part of the body, and are not looked at")
    func excess() throws {
        let found = try read("1\r\na\r\n0\r\n\r\n\u{0}HTTP/1.1 200 OK")
        #expect(found.content == "a")
        #expect(found.count == 11)
    }

    @Test(
        "a body that is cut anywhere is not complete",
        arguments: 0..<"2\r\nhe\r\n0\r\nX: y\r\n\r\n".utf8.count)
    func cut(at length: Int) throws {
        let text = String("2\r\nhe\r\n0\r\nX: y\r\n\r\n".unicodeScalars.prefix(length))
        #expect(try !read(text).isComplete)
    }

    @Test(
        "framing that readers may understand differently is refused",
        arguments: [
            "5g\r\nhello\r\n0\r\n\r\n", "5,5\r\nhello\r\n0\r\n\r\n", "5\u{0}\r\nhello\r\n0\r\n\r\n",
            "5 \u{0}\r\nhello\r\n0\r\n\r\n", "5 5\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n",
            "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\rhello\r\n0\r\n\r\n", "5\r\r\nhello\r\n0\r\n\r\n",
            "0x5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n",
            " 5\r\nhello\r\n0\r\n\r\n",
            "\r\n5\r\nhello\r\n0\r\n\r\n", ";a\r\nhello\r\n0\r\n\r\n", "5\r\nhello!\r\n0\r\n\r\n",
            "5\r\nhello0\r\n\r\n", "5\r\nhello\r\n\r\n", "5\r\nhello\r\n0g\r\n\r\n", "5\r\nhello\r\n0\n\r\n",
            "5\r\nhello\r\n0\r\n\n", "5\r\nhello\r\n0\r\nX\r\n\r\n", "5\r\nhello\r\n0\r\nX : y\r\n\r\n",
            "5\r\nhello\r\n0\r\nX: y\n\r\n", "5\r\nhello\r\n0\r\nX: y\r\n folded\r\n\r\n",
            "5\r\nhello\r\n0\r\nX: \u{0}\r\n\r\n", "5;a\u{0}b\r\nhello\r\n0\r\n\r\n", "5;a\nb\r\nhello\r\n0\r\n\r\n",
            "1000000000000000\r\n", "ffffffffffffffff\r\n", "00000000000000005\r\n",
        ])
    func invalid(text: String) {
        for size in [1, .max] {
            #expect(throws: ChunkedBody.Malformed.self) { try read(text, inPiecesOf: size) }
        }
    }

    @Test("extensions and trailers without an end are refused")
    func endless() {
        let long = String(repeating: "a", count: 70_000)
        #expect(throws: ChunkedBody.Malformed(reason: "a chunk's extensions do not end")) { try read("5;\(long)") }
        #expect(throws: ChunkedBody.Malformed(reason: "the trailers do not end")) { try read("0\r\nX: \(long)") }
    }
}
