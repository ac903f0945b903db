import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The combination of parts of one representation (RFC 9111 §3.4)")
struct CombinedPartsTests {
    private func part(_ range: Range<Int64>, of length: Int64? = 10, _ lines: [String]) -> StoredResponse {
        let text = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length.map { String($0) } ?? "*")"
        var part = Sample.stored(
            lines + ["Content-Range: " + text, "Content-Length: \(range.count)"], status: 206)
        part.part = range
        part.completeLength = length
        return part
    }

    @Test(
        "Two parts are combined only if equal strong validators show that they belong to one representation",
        arguments: [
            (["ETag: \"a\""], ["ETag: \"a\""], true),
            (["ETag: \"a\""], ["ETag: \"b\""], false),
            (["ETag: W/\"a\""], ["ETag: W/\"a\""], false),
            (["ETag: \"a\""], ["ETag: W/\"a\""], false),
            (["ETag: \"a\""], [], false),
            ([], [], false),
            // RFC 9110 §8.8.2.2: Last-Modified is strong if Date is at least a second later.
            (["Last-Modified: " + Sample.date(-9)], ["Last-Modified: " + Sample.date(-9)], true),
            (["Last-Modified: " + Sample.date(-9)], ["Last-Modified: " + Sample.date(-8)], false),
            (["Last-Modified: " + Sample.date(0)], ["Last-Modified: " + Sample.date(0)], false),
            // A tag, strong or weak, overrides the date.
            (
                ["ETag: \"a\"", "Last-Modified: " + Sample.date(-9)],
                ["ETag: \"b\"", "Last-Modified: " + Sample.date(-9)], false
            ),
            (
                ["ETag: W/\"a\"", "Last-Modified: " + Sample.date(-9)],
                ["ETag: W/\"a\"", "Last-Modified: " + Sample.date(-9)], false
            ),
            (["ETag: \"a\"", "Last-Modified: " + Sample.date(-9)], ["Last-Modified: " + Sample.date(-9)], false),
        ])
    func validators(older: [String], newer: [String], isCombined: Bool) {
        let combined = part(0..<5, older).combined(with: part(5..<8, newer), holding: 0..<8)
        #expect((combined != nil) == isCombined)
    }

    @Test("Two combined parts become one part, with the joint range in Content-Range and the newer field values")
    func extended() throws {
        let older = part(0..<5, ["ETag: \"a\"", "X: 1", "Y: 1"])
        var newer = part(5..<8, ["ETag: \"a\"", "X: 2", "Content-Encoding: gzip"])
        newer.receivedAt = Sample.now + .seconds(9)
        let combined = try #require(older.combined(with: newer, holding: 0..<8))
        #expect(combined.status == 206)
        #expect(combined.part == 0..<8)
        #expect(combined.completeLength == 10)
        #expect(combined.receivedAt == newer.receivedAt)
        #expect(
            combined.fields.lines == [
                "ETag: \"a\"", "X: 2", "Y: 1", "Content-Range: bytes 0-7/10", "Content-Length: 8",
                "Date: " + Sample.date(0),
            ])
    }

    @Test("Parts that cover the whole become a complete response with status 200")
    func completed() throws {
        let older = part(0..<5, of: nil, ["ETag: \"a\""])
        let combined = try #require(older.combined(with: part(5..<10, ["ETag: \"a\""]), holding: 0..<10))
        #expect(combined.status == 200)
        #expect(combined.part == nil)
        #expect(combined.completeLength == 10)
        #expect(
            combined.fields.lines == ["ETag: \"a\"", "Content-Length: 10", "Date: " + Sample.date(0)])
    }

    @Test("If the complete length of two parts is unknown, it stays unknown when the parts are combined")
    func unknownLength() throws {
        let older = part(0..<5, of: nil, ["ETag: \"a\""])
        let combined = try #require(older.combined(with: part(5..<8, of: nil, ["ETag: \"a\""]), holding: 0..<8))
        #expect(combined.fields[.contentRange] == "bytes 0-7/*")
        #expect(combined.part == 0..<8)
    }

    @Test("Parts with different complete lengths, or a part and an error answer, are not combined")
    func refused() {
        let older = part(0..<5, ["ETag: \"a\""])
        #expect(older.combined(with: part(5..<8, of: 11, ["ETag: \"a\""]), holding: 0..<8) == nil)
        #expect(older.combined(with: Sample.stored(["ETag: \"a\""]), holding: 0..<8) == nil)
        #expect(Sample.stored(["ETag: \"a\""], status: 404).combined(with: older, holding: 0..<5) == nil)
    }

    @Test("A part that is combined with a complete response updates the response's fields; the response stays complete")
    func completeStays() throws {
        var whole = Sample.stored(["ETag: \"a\"", "X: 1", "Content-Length: 10"])
        whole.completeLength = 10
        whole.isInvalid = true
        let combined = try #require(whole.combined(with: part(5..<8, ["ETag: \"a\"", "X: 2"]), holding: 0..<10))
        #expect(combined.status == 200)
        #expect(combined.part == nil)
        #expect(!combined.isInvalid)
        #expect(
            combined.fields.lines == [
                "ETag: \"a\"", "X: 2", "Content-Length: 10", "Date: " + Sample.date(0),
            ])
    }
}
