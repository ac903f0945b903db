import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Multipart byte ranges")
struct MultipartByterangesTests {
    private func body(_ multipart: MultipartByteranges, of content: String) -> [UInt8] {
        let content = Array(content.utf8)
        var body: [UInt8] = []
        for (index, range) in multipart.ranges.enumerated() {
            body += multipart.head(of: index)
            body += content[Int(range.lowerBound)..<Int(range.upperBound)]
        }
        return body + multipart.closing
    }

    @Test("Each part has the Content-Type of the whole and a Content-Range (RFC 9110 §15.3.7.2, RFC 2046 §5.1.1)")
    func parts() {
        let multipart = MultipartByteranges(
            ranges: [0..<2, 7..<10], completeLength: 10,
            contentType: HTTPField(name: .contentType, value: "text/plain"), boundary: "B")
        let expected =
            "--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01"
            + "\r\n--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 7-9/10\r\n\r\n789" + "\r\n--B--\r\n"
        #expect(body(multipart, of: "0123456789") == Array(expected.utf8))
        #expect(multipart.contentLength == Int64(expected.utf8.count))
        #expect(multipart.contentType == "multipart/byteranges; boundary=B")
    }

    @Test("The parts of a multipart body are in the requested order, without Content-Type if the response has none")
    func untyped() {
        let multipart = MultipartByteranges(
            ranges: [4..<5, 0..<1], completeLength: 10, contentType: nil, boundary: "x1")
        let expected =
            "--x1\r\nContent-Range: bytes 4-4/10\r\n\r\n4\r\n--x1\r\nContent-Range: bytes 0-0/10\r\n\r\n0\r\n--x1--\r\n"
        #expect(body(multipart, of: "0123456789") == Array(expected.utf8))
        #expect(multipart.contentLength == Int64(expected.utf8.count))
    }

    @Test("A part keeps non-UTF-8 bytes of the Content-Type, and a sum of large ranges does not overflow")
    func extremes() {
        let type = HTTPField(name: .contentType, value: [0x61, 0x2F, 0xE9])
        let multipart = MultipartByteranges(
            ranges: [0..<1, 2..<(1 << 62)], completeLength: 1 << 62, contentType: type, boundary: "B")
        #expect(multipart.head(of: 0).contains(0xE9))
        let heads = multipart.head(of: 0).count + multipart.head(of: 1).count + multipart.closing.count
        #expect(multipart.contentLength == Int64(heads) + 1 + (1 << 62) - 2)
    }
}
