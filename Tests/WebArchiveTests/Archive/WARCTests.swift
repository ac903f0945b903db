import TestSupport
import Testing

@testable import WebArchive

@Suite("Reading and writing WARC files")
struct WARCTests {
    struct Problem: Error, Equatable {
        var reason: String
    }

    /// Reads a file in pieces of `size` bytes. Each record is a line of its type, its URL and its block.
    static func records(_ file: [UInt8], size: Int = 7) throws(Problem) -> [String] {
        let gzip = GzipReader(limit: 1 << 20)
        var parser = WARCParser()
        var lines: [String] = []
        for start in stride(from: 0, to: file.count, by: size) {
            let piece = Array(file[start..<min(start + size, file.count)])
            let result = piece.withUnsafeBytes { piece in
                Result { () throws(Problem) in
                    try gzip.read(piece, { Problem(reason: "gzip: \($0)") }) { bytes throws(Problem) in
                        try parser.parse(bytes, { Problem(reason: $0.reason) }) { part throws(Problem) in
                            switch part {
                            case .head(let record):
                                lines.append("\(record.kind?.rawValue ?? "-") \(record.url ?? "-") ")
                            case .block(let bytes): lines[lines.count - 1] += String(decoding: bytes, as: UTF8.self)
                            case .end: lines[lines.count - 1] += "|"
                            }
                        }
                    }
                }
            }
            try result.get()
        }
        do { try parser.finish() } catch { throw Problem(reason: error.reason) }
        guard gzip.isComplete else { throw Problem(reason: "gzip: cut") }
        return lines
    }

    private static func record(_ kind: WARCRecord.Kind, _ url: String, _ block: String) -> [UInt8] {
        WARCWriter.head(
            kind, [("WARC-Target-URI", url), ("WARC-Date", "2026-11-27T00:00:00Z")], length: Int64(block.utf8.count))
            + Array(block.utf8) + WARCWriter.end
    }

    private static func compressed(_ pieces: [[UInt8]]) -> [UInt8] {
        let member = GzipMember()
        var output: [UInt8] = []
        for piece in pieces {
            piece.withUnsafeBytes { member.compress($0, into: &output) }
            member.finish(into: &output)
        }
        return output
    }

    @Test(
        "Written records are read again, plain and as gzip members, in pieces of any size", arguments: [1, 2, 7, 1000])
    func roundTrip(size: Int) throws {
        let parts = [
            Self.record(.warcinfo, "-", ""), Self.record(.response, "http://h/a?b", "HTTP/1.1 200 OK\r\n\r\nx"),
            Self.record(.request, "http://h/\r\nX: y", String(repeating: "z", count: 500)),
        ]
        let expected = [
            "warcinfo - |", "response http://h/a?b HTTP/1.1 200 OK\r\n\r\nx|",
            "request http://h/  X: y " + String(repeating: "z", count: 500) + "|",
        ]
        #expect(try Self.records(parts.flatMap(\.self), size: size) == expected)
        #expect(try Self.records(Self.compressed(parts), size: size) == expected)
    }

    @Test("Files of other programs are read: bare line feeds, brackets around URLs, folded fields, other types, no gap")
    func otherPrograms() throws {
        let file = """
            WARC/1.0\nwarc-type: Response\nWARC-Target-URI: <http://h/a>\nX: y\n z\nContent-Length: 2\n\nab
            WARC/1.1\r\nWARC-Type: unknown\r\nContent-Length: 0\r\n\r\n\r\n\r\n\r\n\r\n
            """
        #expect(try Self.records(Array(file.utf8)) == ["response http://h/a ab|", "- - |"])
    }

    @Test(
        "A malformed file is refused with the reason",
        arguments: [
            ("WARC/2.0\r\nContent-Length: 0\r\n\r\n", "a record does not begin with WARC/1.0 or WARC/1.1"),
            ("WARC/1.1\r\nX\r\n\r\n", "a line of a record's head is no field"),
            ("WARC/1.1\r\nX: y\r\n\r\n", "a record has no valid Content-Length"),
            ("WARC/1.1\r\nContent-Length: -1\r\n\r\n", "a record has no valid Content-Length"),
            ("WARC/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "a record has no valid Content-Length"),
            ("WARC/1.1\r\nContent-Length: 2\r\n\r\na", "the file ends within a record"),
            ("WARC/1.1\r\n", "the file ends within a record"),
            ("WARC/1.1\r\nX: " + String(repeating: "y", count: 70_000), "the head of a record is too long"),
        ])
    func malformed(file: String, reason: String) {
        #expect(throws: Problem(reason: reason)) { try Self.records(Array(file.utf8)) }
    }

    @Test("A damaged or cut gzip file, and a bomb, are refused")
    func damagedGzip() {
        var file = Self.compressed([Self.record(.response, "http://h/", "abc")])
        #expect(throws: Problem.self) { try Self.records(Array(file.dropLast(9))) }
        file[20] ^= 0xff
        #expect(throws: Problem.self) { try Self.records(file) }
        let bomb = Self.compressed([Self.record(.response, "http://h/", String(repeating: "a", count: 2 << 20))])
        #expect(throws: Problem(reason: "gzip: tooLarge")) { try Self.records(bomb, size: 100) }
    }

    @Test("The identifier of a record is a version 4 UUID, and a digest is in hexadecimal")
    func names() {
        #expect(
            WARCWriter.identifier(Array(repeating: 0xff, count: 16))
                == "<urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff>")
        #expect(WARCWriter.digest(sha256: [0, 0xab]) == "sha256:00ab")
    }
}

@Suite("Reading the responses of WARC files")
struct ArchivedResponseTests {
    private static func read(_ block: String, size: Int = 3) throws(WARCTests.Problem) -> String {
        var response = ArchivedResponse()
        var body = ""
        let block = Array(block.utf8)
        for start in stride(from: 0, to: block.count, by: size) {
            let piece = Array(block[start..<min(start + size, block.count)])
            let result = piece.withUnsafeBytes { piece in
                Result { () throws(WARCTests.Problem) -> Void in
                    try response.read(piece, { WARCTests.Problem(reason: $0.reason) }) {
                        bytes throws(WARCTests.Problem) in body += String(decoding: bytes, as: UTF8.self)
                    }
                }
            }
            try result.get()
        }
        do { try response.finish() } catch { throw WARCTests.Problem(reason: error.reason) }
        let head = response.head!
        return "\(head.status) " + head.fields.map { "\($0.name)=\($0.value)" }.joined(separator: ",") + " " + body
    }

    @Test(
        "The status, the fields and the decoded body are read",
        arguments: [
            ("HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nxyz", "200 A=b,Content-Length=2 xy"),
            ("HTTP/1.1 404\r\n\r\nx", "404  x"), ("HTTP/1.0 200 OK\nA:b\n\nxyz", "200 A=b xyz"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                    + "Connection: close\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\nT: u\r\n\r\n",
                "200  abc"
            ),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "304 Content-Length=9 "),
            ("HTTP/2 200\r\nbad line\r\nX: a\u{1}b\r\n\r\n", "200 X=a b "),
        ])
    func responses(block: String, expected: String) throws {
        for size in [1, 3, 1000] { #expect(try Self.read(block, size: size) == expected) }
    }

    @Test(
        "A response that is not whole is refused",
        arguments: [
            "HTTP/1.1 200 OK\r\n", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx",
            "HTTP/1.1 200 OK\r\n" + String(repeating: "a", count: 300_000), "",
        ])
    func notWhole(block: String) {
        #expect(throws: WARCTests.Problem.self) { try Self.read(block, size: 1000) }
    }
}
