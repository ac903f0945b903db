import Testing

@testable import MicroHTTPD

@Suite("The framing of a body in chunks")
struct ChunkFramingTests {
    /// Reads a text in pieces of `size` bytes.
    private static func read(_ text: String, pieces size: Int) -> ChunkFraming.Step {
        var framing = ChunkFraming()
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            let step = bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { framing.take($0) }
            switch step {
            case .more: continue
            case .end(let count): return .end(start + count)
            case .refuse: return step
            }
        }
        return .more
    }

    static let whole = [
        "0\r\n\r\n", "000\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "A\r\n0123456789\r\n0\r\n\r\n",
        "5;a=b\r\nhello\r\n5; c=\"d;\u{e9}\t\";\r\nhello\r\n0;e\r\n\r\n",
        "2\r\n\r\n\r\n2\r\n\n\0\r\n0\r\n\r\n", "1\r\nx\r\n0\r\nA: b\r\nC:\r\n\r\n",
        "0000000000000001\r\nx\r\n0\r\n\r\n",
    ]

    @Test("A well-formed body ends behind its last byte, in one piece or in many", arguments: whole)
    func ends(text: String) {
        for size in [1, 2, 3, 7, 1000] {
            #expect(Self.read(text + "GET / HTTP/1.1", pieces: size) == .end(text.utf8.count))
            #expect(Self.read(String(text.dropLast(1)) + "\r", pieces: size) == .more)
        }
    }

    static let malformed = [
        "5g\r\n", "g\r\n", "5,5\r\n", "5\0\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 5\r\n", "5 \r\n", "\r\n", ";a\r\n",
        "5\n", "5\0\n", "5\rhello", "5\r\rhello", "5;a\nhello", "5;a\0\r\n", "5;\u{1}\r\n", "5;a\r;\r\n",
        "5;\u{7f}\r\n",
        "1\r\nxy\r\n", "1\r\nx\n", "1\r\nx\0\n", "1\r\nx\r\r", "0g\r\n", "0\n", "0\0\n\r\n", "0\r\n\n", "0\r\n\0\n",
        "0\r\n\rx", "0\r\nA: b\n\r\n", "0\r\nA: b\0\r\n\r\n", "0\r\nA: b\0\n\r\n", "0\r\nA: b\rC: d\r\n\r\n",
        "00000000000000001\r\nx\r\n",
    ]

    @Test("A malformed body is refused at once, in one piece or in many", arguments: malformed)
    func refused(text: String) {
        for size in [1, 2, 1000] { #expect(Self.read(text, pieces: size) == .refuse(.malformedChunks)) }
    }

    @Test("A chunk that no file can hold is refused", arguments: ["8000000000000000\r\n", "FFFFFFFFFFFFFFFFF\r\n"])
    func tooLarge(text: String) {
        #expect(Self.read(text, pieces: 1000) == .refuse(.chunkTooLarge))
    }

    @Test("Extensions are limited in each line, and in all by the data that they come with")
    func extensions() {
        func chunk(_ size: Int, extension length: Int) -> String {
            String(size, radix: 16) + ";" + String(repeating: "e", count: length) + "\r\n"
                + String(repeating: "d", count: size) + "\r\n"
        }
        let limit = ChunkFraming.lineLimit
        #expect(Self.read(chunk(1, extension: limit) + "0\r\n\r\n", pieces: 1000) != .refuse(.chunkExtensions))
        #expect(Self.read(chunk(1, extension: limit + 1), pieces: 1000) == .refuse(.chunkExtensions))
        // Many that are short.
        let many = String(repeating: chunk(1, extension: 10), count: 3000)
        #expect(Self.read(many, pieces: 1000) == .refuse(.chunkExtensions))
        // As many, each with more data than extension.
        let signed = String(repeating: chunk(64, extension: 60), count: 3000)
        #expect(Self.read(signed, pieces: 1000) == .more)
    }

    @Test("A trailer section is limited, in one line or in many", arguments: ["A: b\r\n", "a"])
    func trailers(piece: String) {
        let text = "0\r\n" + String(repeating: piece, count: 9000)
        #expect(Self.read(text, pieces: 1000) == .refuse(.trailersTooLarge))
    }
}
