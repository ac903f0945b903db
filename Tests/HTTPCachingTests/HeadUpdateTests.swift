import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The update of a stored response by HEAD (RFC 9111 §4.3.5)")
struct HeadUpdateTests {
    private static let modified = "Last-Modified: " + Sample.date(-600)

    @Test(
        "A HEAD answer with equal validators and length freshens the stored response; other values invalidate it",
        arguments: [
            (200, ["ETag: \"a\""], .freshened),
            (200, ["ETag: \"a\"", modified, "Content-Length: 5"], .freshened),
            (200, [modified], .freshened),
            (200, ["Content-Length: 5"], .freshened),
            (200, [], .freshened),
            (200, ["ETag: \"b\""], .invalidated),
            (200, ["ETag: W/\"a\""], .invalidated),
            (200, ["ETag: \"a\"", "Last-Modified: " + Sample.date(-500)], .invalidated),
            (200, ["ETag: \"a\"", "Content-Length: 6"], .invalidated),
            (200, ["ETag: \"a\"", "Content-Length: x"], .invalidated),
            // Only a HEAD answer with 200 describes the stored representation.
            (204, ["ETag: \"b\""], .unrelated),
            (304, ["ETag: \"a\""], .unrelated),
            (404, [], .unrelated),
            (500, ["ETag: \"b\""], .unrelated),
            // RFC 9111 §3: an answer that may not be stored does not change a stored response.
            (200, ["ETag: \"a\"", "Cache-Control: no-store"], .unrelated),
            (200, ["ETag: \"a\"", "Cache-Control: private"], .unrelated),
        ] as [(Int, [String], HeadOutcome)])
    func outcome(status: Int, lines: [String], expected: HeadOutcome) {
        let original = stored
        var response = original
        let answer = Sample.answer(status, lines, offset: 100)
        #expect(response.update(fromHEAD: answer, for: Sample.request(method: .head)) == expected)
        #expect(response.isInvalid == (expected == .invalidated))
        #expect(response.receivedAt == (expected == .freshened ? answer.receivedAt : original.receivedAt))
        if expected == .unrelated { #expect(response == original) }
        if expected == .invalidated { #expect(response.fields == original.fields) }
    }

    private var stored: StoredResponse {
        var response = Sample.stored(["Cache-Control: max-age=60", "ETag: \"a\"", Self.modified, "Content-Length: 5"])
        response.completeLength = 5
        return response
    }

    @Test("A HEAD answer updates the stored response's fields, except Set-Cookie and fields that describe the body")
    func fields() {
        var response = stored
        let lines = [
            "ETag: \"a\"", "Cache-Control: max-age=90", "X-New: 1", "Content-Encoding: gzip", "Set-Cookie: a=1",
        ]
        #expect(
            response.update(fromHEAD: Sample.answer(200, lines, offset: 9), for: Sample.request(method: .head))
                == .freshened)
        #expect(
            response.fields.lines == [
                "Cache-Control: max-age=90", "ETag: \"a\"", Self.modified, "Content-Length: 5",
                "Date: " + Sample.date(9), "X-New: 1",
            ])
    }

    @Test("A HEAD answer's length is compared with a part's complete length; a 200 to HEAD invalidates a stored error")
    func otherStatuses() {
        var part = Sample.stored(
            ["Cache-Control: max-age=60", "ETag: \"a\"", "Content-Range: bytes 0-4/10", "Content-Length: 5"],
            status: 206)
        part.part = 0..<5
        part.completeLength = 10
        let request = Sample.request(method: .head)
        #expect(part.update(fromHEAD: Sample.answer(200, ["Content-Length: 10"]), for: request) == .freshened)
        #expect(part.fields[.contentLength] == "5")
        #expect(part.update(fromHEAD: Sample.answer(200, ["Content-Length: 5"]), for: request) == .invalidated)
        var missing = Sample.stored(["Cache-Control: max-age=60"], status: 404)
        #expect(missing.update(fromHEAD: Sample.answer(200), for: request) == .invalidated)
    }
}
