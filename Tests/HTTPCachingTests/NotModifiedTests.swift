import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The update of a stored response by a 304")
struct NotModifiedTests {
    private static let old = "Last-Modified: " + Sample.date(-600)
    private static let other = "Last-Modified: " + Sample.date(-500)
    private static let recent = "Last-Modified: " + Sample.date(0)

    @Test(
        "A 304 confirms a stored response only if their validators agree (RFC 9111 §4.3.4)",
        arguments: [
            // A strong tag in the 304 confirms only an equal strong tag.
            (["ETag: \"a\""], ["ETag: \"a\""], true),
            (["ETag: \"a\""], ["ETag: \"b\""], false),
            (["ETag: W/\"a\""], ["ETag: \"a\""], false),
            // A weak tag in the 304 is compared weakly.
            (["ETag: W/\"a\""], ["ETag: W/\"a\""], true),
            (["ETag: \"a\""], ["ETag: W/\"a\""], true),
            (["ETag: W/\"a\""], ["ETag: W/\"b\""], false),
            // A single common strong validator is enough, because nginx weakens the tag of a compressed response, and
            // Apache changes it.
            (["ETag: W/\"a\"", old], ["ETag: \"a\"", old], true),
            (["ETag: \"a-gzip\"", old], ["ETag: \"a\"", old], true),
            (["ETag: W/\"a\"", old], ["ETag: W/\"b\"", old], true),
            (["ETag: \"a\"", old], ["ETag: \"a\"", other], true),
            (["ETag: W/\"a\"", old], ["ETag: \"a\"", other], false),
            (["ETag: \"a\"", old], ["ETag: \"b\"", other], false),
            // A Last-Modified less than a second before Date is weak (RFC 9110 §8.8.2.2), so only the tags decide.
            (["ETag: W/\"a\"", recent], ["ETag: \"a\"", recent], false),
            (["ETag: \"a\"", recent], ["ETag: \"b\"", recent], false),
            (["ETag: W/\"a\"", recent], ["ETag: W/\"b\"", recent], false),
            (["ETag: W/\"a\"", recent], ["ETag: W/\"a\"", recent], true),
            ([recent], [recent], true),
            ([recent], ["ETag: \"a\"", recent], false),
            // Without a common strong validator, all validators that both the response and the 304 have must be equal.
            (["ETag: W/\"a\"", old], ["ETag: W/\"a\"", other], false),
            // A validator that only one of the two messages has is not compared.
            ([old], [old], true),
            ([old], [other], false),
            ([old], ["ETag: \"a\"", old], true),
            ([old], ["ETag: \"a\"", other], false),
            (["ETag: \"a\"", old], [old], true),
            (["ETag: \"a\"", old], [other], false),
            ([old], ["Last-Modified: Wednesday, 31-Dec-25 23:50:00 GMT"], true),
            (["Last-Modified: x"], ["Last-Modified: x"], true),
            (["Last-Modified: x"], ["Last-Modified: y"], false),
            // The two messages have no validator in common.
            (["ETag: \"a\""], [old], false),
            ([old], ["ETag: \"a\""], false),
            ([], ["ETag: \"a\""], false),
            // A 304 without validators confirms the response, because the request asked only about this response.
            (["ETag: \"a\"", old], [], true),
            ([old], ["Cache-Control: max-age=5"], true),
        ])
    func confirmation(stored: [String], notModified: [String], isConfirmed: Bool) {
        #expect(Sample.stored(stored).isConfirmed(by: Sample.fields(notModified)) == isConfirmed)
    }

    @Test("The fields of a 304 replace stored fields of the same name in place; other fields stay (RFC 9111 §3.2)")
    func update() {
        let first = Sample.date(0)
        let later = Sample.date(100)
        var response = Sample.stored([
            "Server: one", "cache-control: max-age=60", "Set-Cookie: a", "ETag: \"a\"", "Set-Cookie: b",
            "Content-Type: text/plain", "Content-Length: 5", "Content-Encoding: gzip", "Date: " + first, "X-Old: 1",
            "Age: 30", "Expires: " + first,
        ])
        response.isInvalid = true
        let reason = response.update(
            from: Sample.answer(
                304,
                [
                    "ETag: \"a\"", "Cache-Control: max-age=90", "Set-Cookie: c", "X-New: 2", "X-New: 3",
                    "Content-Type: text/html", "Content-Length: 0", "Content-Encoding: br",
                    "Content-Range: bytes 0-1/2", "Content-Location: /x",
                ], offset: 100), for: Sample.request())
        #expect(reason == nil)
        #expect(
            response.fields.lines == [
                "Server: one", "Cache-Control: max-age=90", "Set-Cookie: a", "ETag: \"a\"", "Set-Cookie: b",
                "Content-Type: text/html", "Content-Length: 5", "Content-Encoding: gzip", "Date: " + later, "X-Old: 1",
                "Expires: " + first, "X-New: 2", "X-New: 3", "Content-Location: /x",
            ])
        #expect(response.status == 200)
        #expect(!response.isInvalid)
        // RFC 9111 §4.2.3: the lifetime counts from the receipt of the 304.
        #expect(response.receivedAt == Sample.now + .seconds(100))
        #expect(response.freshness.expiryDate == Sample.now + .seconds(190))
    }

    @Test(
        "A 304 updates every field except Set-Cookie and fields tied to the stored bytes (RFC 9111 §3.2)",
        arguments: [
            ("Cache-Control", true), ("Content-Type", true), ("Content-Location", true), ("Content-MD5", true),
            ("Content-Security-Policy", true), ("Content-Foo", true), ("Expires", true),
            ("Last-Modified", true), ("Repr-Digest", true), ("X-Frame-Options", true), ("Test", true), ("Age", true),
            ("CDN-Cache-Control", true), ("Content-Length", false), ("Content-Encoding", false),
            ("Content-Range", false), ("Content-Digest", false), ("Set-Cookie", false),
        ])
    func eachField(name: String, isTaken: Bool) throws {
        var response = Sample.stored(["Cache-Control: max-age=60", "ETag: \"a\"", name + ": 1"])
        let before = Array(response.fields.lines)
        _ = response.update(from: Sample.answer(304, [name + ": 2"]), for: Sample.request())
        #expect(response.fields.lines.contains(name + ": 2") == isTaken)
        #expect(response.fields.lines.contains(name + ": 1") != isTaken)
        let others = before.filter { !$0.hasPrefix(name) && !$0.hasPrefix("Date") }
        #expect(others.allSatisfy(response.fields.lines.contains))
    }

    @Test(
        "A different strong tag in a 304 does not replace the stored tag, because the strong tag names other bytes",
        arguments: [
            ("W/\"a\"", "\"a\"", "W/\"a\""), ("\"a-gzip\"", "\"a\"", "\"a-gzip\""), ("W/\"a\"", "W/\"b\"", "W/\"b\""),
            ("\"a\"", "W/\"a\"", "W/\"a\""), ("\"a\"", "nonsense", "\"a\""), (nil, "\"a\"", "\"a\""),
            ("none", "\"a\"", "\"a\""),
        ] as [(String?, String, String)])
    func tags(stored: String?, notModified: String, expected: String) {
        var response = Sample.stored(["Cache-Control: max-age=60", Self.old] + (stored.map { ["ETag: " + $0] } ?? []))
        let answer = Sample.answer(304, ["ETag: " + notModified, Self.old])
        #expect(response.update(from: answer, for: Sample.request()) == nil)
        #expect(response.fields[values: .eTag] == [expected])
    }

    @Test("A 304 removes the stored Age, and only an Age in the 304 itself counts (RFC 9111 §5.1)")
    func age() {
        var response = Sample.stored(["Cache-Control: max-age=60", "ETag: \"a\"", "Age: 50"])
        #expect(response.update(from: Sample.answer(304, offset: 100), for: Sample.request()) == nil)
        #expect(response.freshness.expiryDate == Sample.now + .seconds(160))
        #expect(response.update(from: Sample.answer(304, ["Age: 20"], offset: 200), for: Sample.request()) == nil)
        #expect(response.freshness.expiryDate == Sample.now + .seconds(240))
    }

    @Test(
        "If a 304 or its request forbids storing, the updated response is not stored",
        arguments: [
            (["Cache-Control: no-store"], [], .noStore),
            (["Cache-Control: private, max-age=60"], [], .private),
            (["Vary: *"], [], .varyAny),
            ([], ["Cache-Control: no-store"], .noStore),
            ([], ["Authorization: Basic YTpi"], .authorization),
            (["Cache-Control: public, max-age=60"], ["Authorization: Basic YTpi"], nil),
            (["Cache-Control: no-cache"], [], nil),
        ] as [([String], [String], PassReason?)])
    func storing(notModified: [String], request: [String], expected: PassReason?) {
        var response = Sample.stored(["Cache-Control: max-age=60", "ETag: \"a\""])
        #expect(response.update(from: Sample.answer(304, notModified), for: Sample.request(request)) == expected)
    }

    @Test("If a 304 has a Vary, the selecting fields come from the request for the 304 (RFC 9111 §4.1)")
    func vary() {
        var response = Sample.stored(["Cache-Control: max-age=60", "ETag: \"a\""])
        let request = Sample.request(["Accept: a"])
        #expect(response.update(from: Sample.answer(304, ["Vary: Accept"]), for: request) == nil)
        #expect(response.selection.text == "accept:a")
    }

    @Test("A ttl counts from the 304 to its request; a 304 to a later request without a ttl keeps the CallerGrant")
    func grant() {
        var response = Sample.stored(["Cache-Control: max-age=60", "ETag: \"a\""])
        let ttl = Duration.seconds(600)
        #expect(response.update(from: Sample.answer(304, offset: 100), for: Sample.request(ttl: ttl)) == nil)
        #expect(response.grant == CallerGrant(isOnlyReason: false, authorization: nil))
        #expect(response.expiryDate(callerTTL: ttl) == Sample.now + .seconds(700))
        #expect(response.update(from: Sample.answer(304, offset: 200), for: Sample.request()) == nil)
        #expect(response.grant == CallerGrant(isOnlyReason: false, authorization: nil))
        #expect(response.expiryDate(callerTTL: nil) == Sample.now + .seconds(260))
    }

    @Test("A 304 does not change the range of a stored part")
    func part() {
        var response = Sample.stored(
            ["Cache-Control: max-age=60", "ETag: \"a\"", "Content-Range: bytes 2-4/10"], status: 206)
        response.part = 2..<5
        response.completeLength = 10
        let notModified = Sample.answer(304, ["ETag: \"a\"", "Content-Range: bytes 0-9/10"], offset: 9)
        #expect(response.update(from: notModified, for: Sample.request(["Range: bytes=2-4"])) == nil)
        #expect(response.status == 206)
        #expect(response.part == 2..<5)
        #expect(response.completeLength == 10)
        #expect(response.fields[.contentRange] == "bytes 2-4/10")
    }

    @Test("The 304 to a HEAD request updates the stored response to a POST (RFC 9110 §9.3.3)")
    func post() {
        var response = Sample.stored(["Cache-Control: max-age=60", "ETag: \"a\"", "Content-Location: /thing"])
        let notModified = Sample.answer(304, ["ETag: \"a\"", "Cache-Control: max-age=90", "X-New: 1"], offset: 100)
        #expect(response.update(from: notModified, for: Sample.request(method: .head)) == nil)
        #expect(response.fields[.cacheControl] == "max-age=90")
        #expect(response.fields[HTTPField.Name("X-New")!] == "1")
        #expect(response.fields[.contentLocation] == "/thing")
        #expect(response.expiryDate(callerTTL: nil) == Sample.now + .seconds(190))
    }
}
