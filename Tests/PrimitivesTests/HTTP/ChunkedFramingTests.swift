import Primitives
import Testing

/// Tests of RFC 9112 §7.1.
@Suite("The framing of a chunked body")
struct ChunkedFramingTests {
    private static let rules = ChunkedFraming.Rules(extensionLimit: 4096, trailerLimit: 8192)

    /// Reads the text in pieces of `size` bytes. Returns the content, the number of bytes that belong to the body, and
    /// whether the body is complete.
    private func read(
        _ text: String, inPiecesOf size: Int = .max, _ rules: ChunkedFraming.Rules = rules
    ) throws -> (content: String, count: Int, isComplete: Bool) {
        var framing = ChunkedFraming(rules)
        var content: [UInt8] = []
        var count = 0
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(piece.count)
            try piece.withUnsafeBytes { bytes in
                var index = 0
                while let found = try framing.next(in: bytes, from: &index) { content += bytes[found] }
                count += index
            }
        }
        return (String(decoding: content, as: UTF8.self), count, framing.isComplete)
    }

    @Test(
        "Chunks are decoded to their content from pieces of any size",
        arguments: [
            ("0\r\n\r\n", ""), ("000\r\n\r\n", ""), ("5\r\nhello\r\n0\r\n\r\n", "hello"),
            ("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "hello"), ("00005\r\nhello\r\n000\r\n\r\n", "hello"),
            ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"), ("0000000000000001\r\nx\r\n0\r\n\r\n", "x"),
            ("a\r\n\r\n\r\n\r\n0\r\n\r\r\n0\r\n\r\n", "\r\n\r\n\r\n0\r\n\r"),
            ("2\r\n\n\u{0}\r\n0\r\n\r\n", "\n\u{0}"),
            ("5;a=b;c=\"d e\"\r\nhello\r\n0;x\r\n\r\n", "hello"),
            ("5; c=\"d;\u{e9}\t\";\r\nhello\r\n0;e\r\n\r\n", "hello"),
            ("5 \t;a = b\r\nhello\r\n0 ; c\r\n\r\n", "hello"),
            ("5\r\nhello\r\n0\r\nX-Sum: 1\r\nExpires:\r\n\r\n", "hello"),
        ])
    func valid(text: String, content: String) throws {
        for size in [1, 2, 3, 7, .max] {
            let found = try read(text + "GET / HTTP/1.1", inPiecesOf: size)
            #expect(found.content == content)
            #expect(found.count == text.utf8.count)
            #expect(found.isComplete)
        }
    }

    @Test("Each call of `next` returns one piece of content, and the next call continues behind this piece")
    func pieces() throws {
        let text = "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
        var framing = ChunkedFraming(Self.rules)
        var index = 0
        var found: [String] = []
        try Array(text.utf8).withUnsafeBytes { bytes in
            while let piece = try framing.next(in: bytes, from: &index) {
                #expect(index == piece.endIndex)
                found.append(String(decoding: bytes[piece], as: UTF8.self))
            }
        }
        #expect(found == ["he", "llo"])
        #expect(index == text.utf8.count)
    }

    @Test("Bytes behind the end of a chunked body are not part of the body, and are not read")
    func excess() throws {
        let found = try read("1\r\na\r\n0\r\n\r\n\u{0}HTTP/1.1 200 OK")
        #expect(found.content == "a")
        #expect(found.count == 11)
    }

    @Test(
        "A chunked body that is truncated at any byte is not complete",
        arguments: 0..<"2\r\nhe\r\n0\r\nX: y\r\n\r\n".utf8.count)
    func cut(at length: Int) throws {
        let text = String("2\r\nhe\r\n0\r\nX: y\r\n\r\n".unicodeScalars.prefix(length))
        #expect(try !read(text).isComplete)
    }

    @Test(
        "Chunk framing that two readers may read differently is refused",
        arguments: [
            "5g\r\nhello\r\n0\r\n\r\n", "g\r\n", "5,5\r\nhello\r\n0\r\n\r\n", "5\u{0}\r\nhello\r\n0\r\n\r\n",
            "5 \u{0}\r\nhello\r\n0\r\n\r\n", "5 5\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n", "5\u{0}\n",
            "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\rhello\r\n0\r\n\r\n", "5\r\r\nhello\r\n0\r\n\r\n",
            "0x5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n",
            " 5\r\nhello\r\n0\r\n\r\n", "\r\n5\r\nhello\r\n0\r\n\r\n", ";a\r\nhello\r\n0\r\n\r\n",
            "5\r\nhello!\r\n0\r\n\r\n", "5\r\nhello\u{0}\n", "5\r\nhello\r\r",
            "5\r\nhello0\r\n\r\n", "5\r\nhello\r\n\r\n", "5\r\nhello\r\n0g\r\n\r\n", "5\r\nhello\r\n0\n\r\n",
            "0\u{0}\n\r\n", "0\r\n\u{0}\n", "0\r\n\rx", "5\r\nhello\r\n0\r\n\n", "5\r\nhello\r\n0\r\nX\r\n\r\n",
            "5\r\nhello\r\n0\r\nX : y\r\n\r\n", "5\r\nhello\r\n0\r\nX: y\n\r\n", "0\r\nA: b\rC: d\r\n\r\n",
            "5\r\nhello\r\n0\r\nX: y\r\n folded\r\n\r\n", "5\r\nhello\r\n0\r\nX: \u{0}\r\n\r\n",
            "5;a\u{0}b\r\nhello\r\n0\r\n\r\n", "5;a\nb\r\nhello\r\n0\r\n\r\n", "5;\u{1}\r\n", "5;a\r;\r\n",
            "5;\u{7f}\r\n", "00000000000000005\r\n", "5 \r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\t\r\n\r\n",
        ])
    func malformed(text: String) {
        for size in [1, 2, .max] {
            let problem = #expect(throws: ChunkedFraming.Problem.self) { try read(text, inPiecesOf: size) }
            guard case .malformed = problem else {
                Issue.record("\(String(describing: problem))")
                continue
            }
        }
    }

    @Test("A chunk over 2⁶³ - 1 bytes is refused", arguments: ["8000000000000000\r\n", "FFFFFFFFFFFFFFFFF\r\n"])
    func tooLarge(text: String) throws {
        #expect(throws: ChunkedFraming.Problem.sizeTooLarge) { try read(text) }
        #expect(try !read("7FFFFFFFFFFFFFFF\r\nx").isComplete)
    }

    @Test("Chunk extensions are limited in each chunk, and their total is limited relative to the content's length")
    func extensions() throws {
        var rules = Self.rules
        rules.excessLimit = 16 << 10
        func chunk(_ size: Int, extension length: Int) -> String {
            String(size, radix: 16) + ";" + String(repeating: "e", count: length) + "\r\n"
                + String(repeating: "d", count: size) + "\r\n"
        }
        #expect(try read(chunk(1, extension: 4096) + "0\r\n\r\n", rules).isComplete)
        for text in [
            chunk(1, extension: 4097), "1" + String(repeating: " ", count: 4097),
            // Many short extensions.
            String(repeating: chunk(1, extension: 10), count: 3000),
        ] {
            #expect(throws: ChunkedFraming.Problem.extensionsTooLong) { try read(text, rules) }
        }
        // The same number of extensions is accepted if each chunk has more content than extension.
        #expect(try read(String(repeating: chunk(64, extension: 60), count: 3000), rules).content.count == 3000 * 64)
    }

    @Test("The length of a trailer section is limited, in one line or in many", arguments: ["A: b\r\n", "a"])
    func trailers(piece: String) {
        let text = "0\r\n" + String(repeating: piece, count: 9000)
        #expect(throws: ChunkedFraming.Problem.trailersTooLong) { try read(text, inPiecesOf: 1000) }
    }
}
