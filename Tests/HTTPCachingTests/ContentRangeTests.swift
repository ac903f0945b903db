import Testing

@testable import HTTPCaching

@Suite("Content-Range")
struct ContentRangeTests {
    @Test("A written Content-Range has the positions of the first and the last byte, from 0 (RFC 9110 §14.4)")
    func text() {
        #expect(ContentRange.text(0..<5, length: 10) == "bytes 0-4/10")
        #expect(ContentRange.text(9..<10, length: 10) == "bytes 9-9/10")
        #expect(ContentRange.unsatisfied(length: 10) == "bytes */10")
    }

    @Test(
        "A Content-Range is parsed into the part and the complete length (RFC 9110 §14.4)",
        arguments: [
            ("bytes 0-4/10", 0..<5, 10),
            ("bytes 9-9/10", 9..<10, 10),
            ("bytes 0-9/10", 0..<10, 10),
            ("bytes 42-1233/1234", 42..<1234, 1234),
            ("bytes 42-1233/*", 42..<1234, nil),
            ("bytes 007-008/0010", 7..<9, 10),
            // RFC 9110 §14.1: the unit ignores letter case.
            ("Bytes 0-4/10", 0..<5, 10),
            (" bytes 0-4/10\t", 0..<5, 10),
            ("bytes 0-9223372036854775806/9223372036854775807", 0..<Int64.max, .max),
            ("bytes 0-9223372036854775806/*", 0..<Int64.max, nil),
        ] as [(String, Range<Int64>, Int64?)])
    func part(text: String, range: Range<Int64>, length: Int64?) throws {
        let parsed = try #require(ContentRange.parse(text))
        #expect(parsed.range == range)
        #expect(parsed.completeLength == length)
    }

    @Test(
        "An invalid Content-Range is not parsed",
        arguments: [
            // RFC 9110 §14.4: the last byte is before the first byte, or behind the end of the representation.
            "bytes 4-0/10", "bytes 0-10/10", "bytes 0-0/0", "bytes 10-10/10",
            // The unit is not bytes, or the text breaks the grammar.
            "", "bytes", "items 0-4/10", "0-4/10", "bytes=0-4/10", "bytes  0-4/10", "bytes 0-4", "bytes 0-4/",
            "bytes 0-/10", "bytes -4/10", "bytes *", "bytes */", "bytes */*", "bytes */10", "bytes 0-4/10x",
            "bytes 0 - 4/10", "bytes 0-4 /10", "bytes 0-4/-10", "bytes +0-4/10", "bytes 0-4/10, bytes 5-9/10",
            "bytes 0-4,6-7/10", "bytes 0x0-4/10", "bytes ٠-٤/١٠",
            // The number does not fit in 64 bits.
            "bytes 0-9223372036854775807/*", "bytes 0-4/9223372036854775808", "bytes 0-99999999999999999999/*",
        ])
    func invalid(text: String) {
        #expect(ContentRange.parse(text) == nil)
    }
}
