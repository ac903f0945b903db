import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The decision to store an answer")
struct StoragePolicyTests {
    private static let modified = "Last-Modified: " + Sample.date(-36_000)

    /// The reason not to store `answer`, or `nil` if it is stored.
    private func reason(_ request: CacheRequest, _ answer: OriginAnswer) -> PassReason? {
        if case .pass(let reason) = StoragePolicy.decide(request, answer) { reason } else { nil }
    }

    @Test(
        "The fields of an answer decide whether it is stored",
        arguments: [
            // RFC 9111 §3: explicit freshness.
            (200, ["Cache-Control: max-age=60"], nil),
            (200, ["Cache-Control: s-maxage=60"], nil),
            (200, ["Expires: " + Sample.date(60)], nil),
            (200, ["cache-control: MAX-AGE=60"], nil),
            // RFC 9111 §4.2.4: an answer that is stale at once is stored, for use while the origin is unreachable.
            (200, ["Cache-Control: max-age=0"], nil),
            (200, ["Expires: 0"], nil),
            (200, ["Cache-Control: max-age=60", "Age: 100"], nil),
            // If a directive forbids stale responses, an answer that is stale at once is stored only with a validator.
            (200, ["Cache-Control: max-age=0, must-revalidate"], .noFreshness),
            (200, ["Cache-Control: max-age=0, must-revalidate", "ETag: \"a\""], nil),
            (200, ["Cache-Control: s-maxage=0"], .noFreshness),
            (200, ["Cache-Control: max-age=60, must-revalidate"], nil),
            // RFC 9111 §4.2.2: a heuristic lifetime or a validator suffices for storing.
            (200, [modified], nil),
            (200, ["ETag: \"a\""], nil),
            (200, ["ETag: W/\"a\""], nil),
            (200, [], .noFreshness),
            (200, ["Cache-Control: public"], .noFreshness),
            (200, ["ETag: a"], .noFreshness),
            // RFC 9111 §5.2.2.5: no-store forbids storing.
            (200, ["Cache-Control: no-store"], .noStore),
            (200, ["Cache-Control: max-age=60, no-store"], .noStore),
            (200, ["Cache-Control: max-age=60", "Cache-Control: NO-STORE"], .noStore),
            (200, ["Cache-Control: max-age=60, extension=\"no-store\""], nil),
            (200, ["Cache-Control: max-age=60, extension=\"a, no-store\""], nil),
            // RFC 9111 §5.2.2.7: private forbids storing, even with field names.
            (200, ["Cache-Control: private, max-age=60"], .private),
            (200, ["Cache-Control: private=\"Set-Cookie\", max-age=60"], .private),
            // RFC 9111 §5.2.2.4: an answer with no-cache is stored only with a validator, because each use needs it.
            (200, ["Cache-Control: no-cache", "ETag: \"a\""], nil),
            (200, ["Cache-Control: no-cache=\"Set-Cookie\"", modified], nil),
            (200, ["Cache-Control: no-cache"], .noFreshness),
            (200, ["Cache-Control: no-cache, max-age=60"], .noFreshness),
            // RFC 9111 §4.1: no later request matches `Vary: *`.
            (200, ["Cache-Control: max-age=60", "Vary: *"], .varyAny),
            (200, ["Cache-Control: max-age=60", "Vary: Accept, *"], .varyAny),
            (200, ["Cache-Control: max-age=60", "Vary: Accept"], nil),
            // An answer with a cookie is for one client, unless the origin states a lifetime above zero (RFC 9111
            // §7.3).
            (200, ["Cache-Control: max-age=60", "Set-Cookie: a=b"], nil),
            (200, ["Expires: " + Sample.date(60), "Set-Cookie: a=b"], nil),
            (200, ["Cache-Control: max-age=0, must-revalidate", "Set-Cookie: a=b", "ETag: \"a\""], .setCookie),
            (200, ["Cache-Control: s-maxage=0", "Set-Cookie: a=b", "ETag: \"a\""], .setCookie),
            (200, ["Cache-Control: max-age=abc", "Set-Cookie: a=b", "ETag: \"a\""], .setCookie),
            (200, ["Cache-Control: max-age=0, stale-while-revalidate=60", "Set-Cookie: a=b"], .setCookie),
            (200, ["Cache-Control: max-age=60, no-cache", "Set-Cookie: a=b", "ETag: \"a\""], .setCookie),
            (200, ["Expires: 0", "Set-Cookie: a=b", "ETag: \"a\""], .setCookie),
            (200, ["Expires: " + Sample.date(-60), "Set-Cookie: a=b", "ETag: \"a\""], .setCookie),
            (200, ["Set-Cookie: a=b", modified], .setCookie),
            (200, ["Set-Cookie: a=b", "ETag: \"a\""], .setCookie),
            (200, ["Cache-Control: public", "Set-Cookie: a=b", modified], .setCookie),
            (200, ["Cache-Control: no-cache", "Set-Cookie: a=b", "ETag: \"a\""], .setCookie),
            (301, ["Set-Cookie: a=b", modified], .setCookie),
            // Pragma has no meaning in an answer (RFC 9111 §5.4).
            (200, ["Cache-Control: max-age=60", "Pragma: no-cache"], nil),
            (200, ["Pragma: no-cache", modified], nil),
            // RFC 9213 §2.2: a targeted field overrides Cache-Control.
            (200, ["Cache-Control: no-store", "CDN-Cache-Control: max-age=60"], nil),
            (200, ["Cache-Control: private, max-age=60", "Larder-Cache-Control: max-age=60"], nil),
            (200, ["Cache-Control: max-age=60", "CDN-Cache-Control: no-store"], .noStore),
            (200, ["Cache-Control: max-age=60", "CDN-Cache-Control: private"], .private),
            (200, ["Cache-Control: no-store", "CDN-Cache-Control: max-age=60, ("], .noStore),
        ] as [(Int, [String], PassReason?)])
    func answers(status: Int, lines: [String], expected: PassReason?) {
        #expect(reason(Sample.request(), Sample.answer(status, lines)) == expected)
    }

    @Test(
        "Explicit freshness makes successes, redirects and errors storable (RFC 9111 §3)",
        arguments: [
            200, 201, 202, 203, 204, 205, 207, 299, 300, 301, 302, 303, 305, 307, 308, 399, 400, 401, 403, 404, 405,
            409, 410, 414, 418, 422, 451, 499, 500, 501, 502, 503, 504, 505, 599,
        ])
    func explicitStatuses(status: Int) {
        #expect(reason(Sample.request(), Sample.answer(status, ["Cache-Control: max-age=60"])) == nil)
        #expect(reason(Sample.request(), Sample.answer(status, ["Expires: " + Sample.date(60)])) == nil)
    }

    @Test(
        "An answer with a status that concerns a single request or forbids storing is never stored",
        arguments: [
            304,  // RFC 9110 §15.4.5
            412,  // RFC 9110 §15.5.13
            416,  // RFC 9110 §15.5.17
            428, 429, 431, 511,  // RFC 6585 §3, §4, §5, §6
        ])
    func passedStatuses(status: Int) {
        let lines = ["Cache-Control: max-age=60", Self.modified]
        #expect(reason(Sample.request(), Sample.answer(status, lines)) == .status)
        #expect(reason(Sample.request(ttl: .seconds(9)), Sample.answer(status, lines)) == .status)
    }

    @Test(
        "An answer without explicit freshness is stored only if its status or `public` permits it (RFC 9110 §15.1)",
        arguments: [
            (200, true), (203, true), (204, true), (300, true), (301, true), (308, true), (404, true), (405, true),
            (410, true), (414, true), (501, true),
            (201, false), (202, false), (299, false), (302, false), (303, false), (307, false), (400, false),
            (403, false), (499, false), (500, false), (502, false), (503, false), (504, false), (599, false),
        ])
    func heuristicStatuses(status: Int, isStored: Bool) {
        #expect(reason(Sample.request(), Sample.answer(status, [Self.modified])) == (isStored ? nil : .noFreshness))
        // RFC 9111 §5.2.2.9: public permits storing.
        let lines = [Self.modified, "Cache-Control: public"]
        #expect(reason(Sample.request(), Sample.answer(status, lines)) == nil)
    }

    @Test(
        "An answer with must-understand is stored only if its status is known (RFC 9111 §5.2.2.3)",
        arguments: [
            (200, "must-understand, max-age=60", nil),
            (200, "must-understand, no-store, max-age=60", nil),
            (404, "no-store, must-understand, max-age=60", nil),
            (503, "no-store, must-understand, max-age=60", nil),
            (299, "must-understand, max-age=60", .mustUnderstand),
            (499, "must-understand, max-age=60", .mustUnderstand),
            (599, "must-understand, no-store, max-age=60", .mustUnderstand),
            (306, "must-understand, max-age=60", .mustUnderstand),
            (200, "must-understand, private, max-age=60", .private),
        ] as [(Int, String, PassReason?)])
    func mustUnderstand(status: Int, control: String, expected: PassReason?) {
        #expect(reason(Sample.request(), Sample.answer(status, ["Cache-Control: " + control])) == expected)
    }

    @Test(
        "An answer to a request with Authorization is stored only if a directive allows it (RFC 9111 §3.5)",
        arguments: [
            ("max-age=60", .authorization),
            ("max-age=60, proxy-revalidate", .authorization),
            ("max-age=60, immutable", .authorization),
            ("max-age=60, public", nil),
            ("max-age=60, must-revalidate", nil),
            ("s-maxage=60", nil),
            ("public, no-store, max-age=60", .noStore),
            ("public, private, max-age=60", .private),
        ] as [(String, PassReason?)])
    func authorization(control: String, expected: PassReason?) {
        let answer = Sample.answer(200, ["Cache-Control: " + control])
        #expect(reason(Sample.request(["Authorization: Basic YTpi"]), answer) == expected)
        #expect(reason(Sample.request(authorization: "digest"), answer) == expected)
    }

    @Test(
        "Of a request's directives, only no-store prevents storing",
        arguments: [
            // RFC 9111 §5.2.1.5: no-store in the request forbids storing.
            (["Cache-Control: no-store"], .noStore),
            (["Cache-Control: max-age=3, No-Store"], .noStore),
            // The other directives concern responses that are already stored (RFC 9111 §5.2.1).
            (["Cache-Control: no-cache"], nil),
            (["Cache-Control: max-age=0"], nil),
            (["Pragma: no-cache"], nil),
            // A 200 to a range request or to a conditional request is a complete answer.
            (["Range: bytes=0-4"], nil),
            (["If-None-Match: \"x\""], nil),
            (["Cookie: a=b"], nil),
        ] as [([String], PassReason?)])
    func requests(lines: [String], expected: PassReason?) {
        #expect(reason(Sample.request(lines), Sample.answer(200, ["Cache-Control: max-age=60"])) == expected)
    }

    @Test(
        "Answers to methods other than GET and POST are not stored (RFC 9110 §9.2.3)",
        arguments: ["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "PROPFIND", "get", "M-SEARCH"])
    func methods(method: String) {
        let request = Sample.request(method: HTTPRequest.Method(method)!)
        let answer = Sample.answer(
            200, ["Cache-Control: public, max-age=60", "Content-Location: " + Sample.url])
        #expect(reason(request, answer) == .method)
        var granted = request
        granted.callerTTL = .seconds(60)
        #expect(reason(granted, answer) == .method)
    }

    @Test(
        "A 200 to POST is stored only with explicit freshness and its URL as Content-Location (RFC 9110 §9.3.3)",
        arguments: [
            (200, ["Cache-Control: max-age=60", "Content-Location: http://origin.example/thing"], nil),
            (200, ["Cache-Control: max-age=60", "Content-Location: HTTP://Origin.Example:80/thing#top"], nil),
            (200, ["Cache-Control: max-age=60", "Content-Location: /thing"], nil),
            (200, ["Cache-Control: max-age=60", "Content-Location: thing"], nil),
            (200, ["Expires: " + Sample.date(60), "Content-Location: /thing"], nil),
            (200, ["Cache-Control: max-age=60"], .method),
            (200, ["Cache-Control: max-age=60", "Location: /thing"], .method),
            (200, ["Cache-Control: max-age=60", "Content-Location: /other"], .method),
            (200, ["Cache-Control: max-age=60", "Content-Location: /thing?"], .method),
            (200, ["Cache-Control: max-age=60", "Content-Location: http://other.example/thing"], .method),
            (200, ["Cache-Control: max-age=60", "Content-Location: https://origin.example/thing"], .method),
            (200, ["Content-Location: /thing", "ETag: \"a\""], .method),
            (200, [modified, "Content-Location: /thing", "Cache-Control: public"], .method),
            (201, ["Cache-Control: max-age=60", "Content-Location: /thing"], .method),
            (404, ["Cache-Control: max-age=60", "Content-Location: /thing"], .method),
            (200, ["Cache-Control: max-age=60, no-store", "Content-Location: /thing"], .noStore),
            (200, ["Cache-Control: max-age=60, private", "Content-Location: /thing"], .private),
        ] as [(Int, [String], PassReason?)])
    func post(status: Int, lines: [String], expected: PassReason?) {
        #expect(reason(Sample.request(method: .post), Sample.answer(status, lines)) == expected)
    }

    @Test(
        "A 206 is stored only with a strong validator and a consistent Content-Range (RFC 9111 §3.3, §3.4)",
        arguments: [
            (["Content-Range: bytes 0-4/10", "ETag: \"a\""], nil),
            (["Content-Range: bytes 0-4/*", "ETag: \"a\""], nil),
            // RFC 9110 §8.8.2.2: a date is strong when the answer was made at least a second later.
            (["Content-Range: bytes 0-4/10", "Last-Modified: " + Sample.date(-1)], nil),
            (["Content-Range: bytes 0-4/10", "Last-Modified: " + Sample.date(0)], .partialWithoutStrongValidator),
            (
                ["Content-Range: bytes 0-4/10", "ETag: W/\"a\"", "Last-Modified: " + Sample.date(-60)],
                .partialWithoutStrongValidator
            ),
            (["Content-Range: bytes 0-4/10"], .partialWithoutStrongValidator),
            (["ETag: \"a\""], .partial),
            (["Content-Range: bytes 4-0/10", "ETag: \"a\""], .partial),
            (["Content-Range: lines 0-4/10", "ETag: \"a\""], .partial),
            (["Content-Range: bytes */10", "ETag: \"a\""], .partial),
            // RFC 9110 §15.3.7: the content is exactly the range.
            (["Content-Range: bytes 0-4/10", "ETag: \"a\"", "Content-Length: 5"], nil),
            (["Content-Range: bytes 0-4/10", "ETag: \"a\"", "Content-Length: 3"], .partial),
            (["Content-Range: bytes 0-4/10", "ETag: \"a\"", "Content-Length: 10"], .partial),
            (["Content-Type: multipart/byteranges; boundary=x", "ETag: \"a\""], .partial),
        ] as [([String], PassReason?)])
    func parts(lines: [String], expected: PassReason?) {
        let answer = Sample.answer(206, lines + ["Cache-Control: max-age=60"])
        #expect(reason(Sample.request(["Range: bytes=0-4"]), answer) == expected)
    }

    @Test("A stored response records its range, its complete length and its selecting fields")
    func storedPart() throws {
        let lines = ["Cache-Control: max-age=60", "ETag: \"a\"", "Content-Range: bytes 2-4/10", "Content-Length: 3"]
        guard case .store(let part) = StoragePolicy.decide(Sample.request(), Sample.answer(206, lines)),
            case .store(let whole) = StoragePolicy.decide(
                Sample.request(["Accept: a"]), Sample.answer(200, lines + ["Vary: Accept"])),
            case .store(let unknown) = StoragePolicy.decide(
                Sample.request(), Sample.answer(200, ["Cache-Control: max-age=60"]))
        else {
            Issue.record("not stored")
            return
        }
        #expect(part.part == 2..<5)
        #expect(part.completeLength == 10)
        #expect(part.status == 206)
        #expect(whole.part == nil)
        #expect(whole.completeLength == 3)
        #expect(whole.selection.text == "accept:a")
        #expect(whole.fields.lines.starts(with: lines))
        #expect(whole.url == Sample.url)
        #expect(whole.grant == nil)
        #expect(unknown.completeLength == nil)
    }
}
