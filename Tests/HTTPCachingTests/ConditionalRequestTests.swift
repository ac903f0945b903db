import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("Conditional requests")
struct ConditionalRequestTests {
    typealias Outcome = ConditionalRequest.Outcome

    private static let before = "Wed, 31 Dec 2025 23:59:59 GMT"
    private static let same = "Thu, 01 Jan 2026 00:00:00 GMT"
    private static let after = "Thu, 01 Jan 2026 00:00:01 GMT"
    /// A quarter of a second into 2026.
    private static let modified = Timestamp(milliseconds: 1_767_225_600_250)
    private let now = Timestamp(seconds: 1_767_300_000)
    private let current = SelectedRepresentation(etag: EntityTag(strong: "a"), lastModified: modified)

    private func evaluate(
        _ fields: HTTPFields, _ method: HTTPRequest.Method, _ representation: SelectedRepresentation?
    ) -> Outcome {
        ConditionalRequest(fields, method: method, now: now).evaluate(representation)
    }

    @Test(
        "Each condition alone leads to success, 304 or 412 (RFC 9110 §13.1)",
        arguments: [
            // No condition.
            ([:], .proceed, .proceed),
            // RFC 9110 §13.1.1: If-Match compares strongly.
            ([.ifMatch: "\"a\""], .proceed, .proceed),
            ([.ifMatch: "\"b\", \"a\""], .proceed, .proceed),
            ([.ifMatch: "*"], .proceed, .proceed),
            ([.ifMatch: "\"b\""], .preconditionFailed, .preconditionFailed),
            ([.ifMatch: "W/\"a\""], .preconditionFailed, .preconditionFailed),
            ([.ifMatch: "a"], .preconditionFailed, .preconditionFailed),
            ([.ifMatch: ""], .preconditionFailed, .preconditionFailed),
            // RFC 9110 §13.1.2: If-None-Match compares weakly. A match gives 304 for GET and HEAD, and 412 for other
            // methods.
            ([.ifNoneMatch: "\"a\""], .notModified, .preconditionFailed),
            ([.ifNoneMatch: "W/\"a\""], .notModified, .preconditionFailed),
            ([.ifNoneMatch: "\"b\", \"a\""], .notModified, .preconditionFailed),
            ([.ifNoneMatch: "*"], .notModified, .preconditionFailed),
            ([.ifNoneMatch: "\"b\""], .proceed, .proceed),
            ([.ifNoneMatch: "a"], .proceed, .proceed),
            // RFC 9110 §13.1.3: If-Modified-Since compares whole seconds, applies to GET and HEAD only, and is ignored
            // if the value is not a date.
            ([.ifModifiedSince: before], .proceed, .proceed),
            ([.ifModifiedSince: same], .notModified, .proceed),
            ([.ifModifiedSince: after], .notModified, .proceed),
            ([.ifModifiedSince: "Thursday, 01-Jan-26 00:00:00 GMT"], .notModified, .proceed),
            ([.ifModifiedSince: "tomorrow"], .proceed, .proceed),
            ([.ifModifiedSince: "\(same), \(same)"], .proceed, .proceed),
            // RFC 9110 §13.1.4: If-Unmodified-Since.
            ([.ifUnmodifiedSince: before], .preconditionFailed, .preconditionFailed),
            ([.ifUnmodifiedSince: same], .proceed, .proceed),
            ([.ifUnmodifiedSince: after], .proceed, .proceed),
            ([.ifUnmodifiedSince: "tomorrow"], .proceed, .proceed),
        ] as [(HTTPFields, Outcome, Outcome)])
    func alone(fields: HTTPFields, get: Outcome, put: Outcome) {
        #expect(evaluate(fields, .get, current) == get)
        #expect(evaluate(fields, .head, current) == get)
        #expect(evaluate(fields, .put, current) == put)
    }

    @Test(
        "Several conditions are evaluated in the order of RFC 9110 §13.2.2",
        arguments: [
            // If-Unmodified-Since is ignored if the request has If-Match.
            ([.ifMatch: "\"a\"", .ifUnmodifiedSince: before], .proceed),
            ([.ifMatch: "\"b\"", .ifUnmodifiedSince: after], .preconditionFailed),
            // If-Modified-Since is ignored if the request has If-None-Match, even if If-None-Match does not match.
            ([.ifNoneMatch: "\"b\"", .ifModifiedSince: after], .proceed),
            ([.ifNoneMatch: "\"a\"", .ifModifiedSince: before], .notModified),
            ([.ifNoneMatch: "nonsense", .ifModifiedSince: after], .proceed),
            // The conditions for a 412 are evaluated before the conditions for a 304.
            ([.ifMatch: "\"b\"", .ifNoneMatch: "\"a\""], .preconditionFailed),
            ([.ifMatch: "\"a\"", .ifNoneMatch: "\"a\""], .notModified),
            ([.ifUnmodifiedSince: before, .ifModifiedSince: after], .preconditionFailed),
            ([.ifUnmodifiedSince: after, .ifNoneMatch: "\"a\""], .notModified),
        ] as [(HTTPFields, Outcome)])
    func precedence(fields: HTTPFields, outcome: Outcome) {
        #expect(evaluate(fields, .get, current) == outcome)
    }

    @Test("If-Match fails and If-None-Match holds if no representation exists (RFC 9110 §13.1.1, §13.1.2)")
    func nothingThere() {
        #expect(evaluate([.ifMatch: "*"], .put, nil) == .preconditionFailed)
        #expect(evaluate([.ifMatch: "\"a\""], .put, nil) == .preconditionFailed)
        #expect(evaluate([.ifNoneMatch: "*"], .put, nil) == .proceed)
        #expect(evaluate([.ifUnmodifiedSince: Self.before], .put, nil) == .proceed)
    }

    @Test("If a representation has no validators, only * matches, and dates have no effect (RFC 9110 §13.1.3, §13.1.4)")
    func withoutValidators() {
        let bare = SelectedRepresentation(etag: nil, lastModified: nil)
        #expect(evaluate([.ifMatch: "*"], .put, bare) == .proceed)
        #expect(evaluate([.ifMatch: "\"a\""], .put, bare) == .preconditionFailed)
        #expect(evaluate([.ifNoneMatch: "*"], .get, bare) == .notModified)
        #expect(evaluate([.ifNoneMatch: "\"a\""], .get, bare) == .proceed)
        #expect(evaluate([.ifModifiedSince: Self.after], .get, bare) == .proceed)
        #expect(evaluate([.ifUnmodifiedSince: Self.before], .get, bare) == .proceed)
    }

    @Test("The lines of If-None-Match form one list")
    func severalLines() {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .ifNoneMatch, value: "\"b\""))
        fields.append(HTTPField(name: .ifNoneMatch, value: "\"a\""))
        #expect(evaluate(fields, .get, current) == .notModified)
    }

    @Test(
        "A range is served only if the If-Range validator matches the representation exactly (RFC 9110 §13.1.5)",
        arguments: [
            (nil, true, true),
            ("\"a\"", true, true),
            ("\"b\"", false, false),
            ("W/\"a\"", false, false),
            ("*", false, false),
            ("\"a\", \"b\"", false, false),
            // If-Range with a date allows a range only if the date equals Last-Modified and is a strong validator (RFC
            // 9110 §8.8.2.2).
            (same, false, true),
            ("Thursday, 01-Jan-26 00:00:00 GMT", false, true),
            (before, false, false),
            (after, false, false),
            ("", false, false),
            ("nonsense", false, false),
        ] as [(String?, Bool, Bool)])
    func ifRange(value: String?, weakDate: Bool, strongDate: Bool) {
        var fields = HTTPFields()
        fields[.ifRange] = value
        let request = ConditionalRequest(fields, method: .get, now: now)
        var representation = current
        #expect(request.allowsRange(of: representation, now: now) == weakDate)
        representation.isLastModifiedStrong = true
        #expect(request.allowsRange(of: representation, now: now) == strongDate)
    }

    @Test("If-Range with a weak entity tag allows no range, even if the representation has the same weak tag")
    func ifRangeWithWeakTag() {
        let weak = SelectedRepresentation(etag: EntityTag("W/\"a\""), lastModified: nil)
        let request = ConditionalRequest([.ifRange: "W/\"a\""], method: .get, now: now)
        #expect(!request.allowsRange(of: weak, now: now))
    }
}
