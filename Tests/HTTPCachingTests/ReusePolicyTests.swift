import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The decision to reuse a stored response")
struct ReusePolicyTests {
    private static func serve(_ age: Int64) -> ReuseDecision { .serve(age: .seconds(age), isStale: false) }
    private static func stale(_ age: Int64) -> ReuseDecision { .serve(age: .seconds(age), isStale: true) }
    private static func behind(_ age: Int64) -> ReuseDecision { .serveStaleAndRevalidate(age: .seconds(age)) }
    private static let validate = ReuseDecision.revalidate(reason: .stale, mayServeStaleOnError: true)
    private static let validateOrFail = ReuseDecision.revalidate(reason: .stale, mayServeStaleOnError: false)
    private static let asked = ReuseDecision.revalidate(reason: .request, mayServeStaleOnError: false)

    private func decide(_ request: [String], _ stored: [String], after seconds: Int64) -> ReuseDecision {
        ReusePolicy.decide(
            Sample.request(request), Sample.stored(stored), now: Sample.now + .seconds(seconds))
    }

    @Test(
        "Stored fields and age decide whether a response is served, validated or fetched",
        arguments: [
            // RFC 9111 §4.2: a response is fresh while its age is less than its lifetime.
            (["Cache-Control: max-age=60"], 0, serve(0)),
            (["Cache-Control: max-age=60"], 59, serve(59)),
            (["Cache-Control: max-age=60"], 60, .fetch(.stale)),
            (["Cache-Control: max-age=60", "ETag: \"a\""], 60, validate),
            (["Cache-Control: max-age=60", "ETag: W/\"a\""], 60, validate),
            (["Cache-Control: max-age=60", "Last-Modified: " + Sample.date(-9)], 60, validate),
            // RFC 9111 §4.3.1: an invalid entity tag cannot be used to validate.
            (["Cache-Control: max-age=60", "ETag: a"], 60, .fetch(.stale)),
            // RFC 9111 §5.1, §4.2.3: the Age field adds to the age.
            (["Cache-Control: max-age=60", "Age: 50"], 9, serve(59)),
            (["Cache-Control: max-age=60", "Age: 50"], 10, .fetch(.stale)),
            (["Cache-Control: max-age=60", "Age: x"], 9, serve(9)),
            (["Cache-Control: max-age=60", "Date: " + Sample.date(-50)], 10, .fetch(.stale)),
            (["Expires: " + Sample.date(60)], 59, serve(59)),
            (["Expires: " + Sample.date(60)], 60, .fetch(.stale)),
            (["Expires: 0", "ETag: \"a\""], 0, validate),
            (["Last-Modified: " + Sample.date(-600)], 59, serve(59)),
            (["Last-Modified: " + Sample.date(-600)], 60, validate),
            (["ETag: \"a\""], 0, validate),
            // RFC 9111 §5.2.2.4: no-cache requires validation, even if it has field names.
            (["Cache-Control: max-age=60, no-cache", "ETag: \"a\""], 0, validateOrFail),
            (["Cache-Control: max-age=60, no-cache=\"Set-Cookie\"", "ETag: \"a\""], 0, validateOrFail),
            // RFC 9111 §5.2.2.2, §5.2.2.8, §5.2.2.10: the response is served while fresh, and never stale.
            (["Cache-Control: max-age=60, must-revalidate", "ETag: \"a\""], 59, serve(59)),
            (["Cache-Control: max-age=60, must-revalidate", "ETag: \"a\""], 60, validateOrFail),
            (["Cache-Control: max-age=60, proxy-revalidate", "ETag: \"a\""], 60, validateOrFail),
            (["Cache-Control: s-maxage=60", "ETag: \"a\""], 59, serve(59)),
            (["Cache-Control: s-maxage=60, max-age=90", "ETag: \"a\""], 60, validateOrFail),
            // RFC 5861 §3: stale-while-revalidate permits a stale response for a number of seconds.
            (["Cache-Control: max-age=60, stale-while-revalidate=30"], 60, behind(60)),
            (["Cache-Control: max-age=60, stale-while-revalidate=30"], 89, behind(89)),
            (["Cache-Control: max-age=60, stale-while-revalidate=30"], 90, .fetch(.stale)),
            (["Cache-Control: max-age=60, stale-while-revalidate=30", "ETag: \"a\""], 90, validate),
            (["Cache-Control: max-age=60, stale-while-revalidate=30, must-revalidate"], 60, .fetch(.stale)),
            (["Cache-Control: max-age=60, stale-while-revalidate=30, no-cache", "ETag: \"a\""], 60, validateOrFail),
            (["Cache-Control: max-age=60, stale-while-revalidate=0"], 60, .fetch(.stale)),
            // RFC 5861 §4: stale-if-error limits the time for which a stale response may replace an error.
            (["Cache-Control: max-age=60, stale-if-error=5", "ETag: \"a\""], 65, validate),
            (["Cache-Control: max-age=60, stale-if-error=5", "ETag: \"a\""], 66, validateOrFail),
            // RFC 9213 §2.2: a targeted field overrides Cache-Control.
            (["Cache-Control: max-age=60", "CDN-Cache-Control: max-age=5"], 6, .fetch(.stale)),
            (["Cache-Control: no-cache", "CDN-Cache-Control: max-age=5"], 4, serve(4)),
            (["Cache-Control: must-revalidate", "CDN-Cache-Control: max-age=5", "ETag: \"a\""], 5, validate),
        ] as [([String], Int64, ReuseDecision)])
    func answers(stored: [String], seconds: Int64, expected: ReuseDecision) {
        #expect(decide([], stored, after: seconds) == expected)
    }

    @Test(
        "Request directives change the decision about a response with max-age=60",
        arguments: [
            // RFC 9111 §5.2.1.1: max-age is the highest age that the client accepts.
            (["Cache-Control: max-age=30"], 30, serve(30)),
            (["Cache-Control: max-age=30"], 31, asked),
            (["Cache-Control: max-age=90"], 59, serve(59)),
            (["Cache-Control: max-age=90"], 60, validateOrFail),
            (["Cache-Control: max-age=0"], 0, asked),
            (["Cache-Control: max-age=x"], 1, asked),
            // RFC 9111 §5.2.1.3: min-fresh is the remaining freshness that the client demands.
            (["Cache-Control: min-fresh=20"], 40, serve(40)),
            (["Cache-Control: min-fresh=20"], 41, asked),
            (["Cache-Control: min-fresh=20"], 60, validateOrFail),
            (["Cache-Control: min-fresh=x"], 59, serve(59)),
            // RFC 9111 §5.2.1.2: max-stale is the time since the expiry that the client accepts.
            (["Cache-Control: max-stale=10"], 59, serve(59)),
            (["Cache-Control: max-stale=10"], 70, stale(70)),
            (["Cache-Control: max-stale=10"], 71, validateOrFail),
            (["Cache-Control: max-stale"], 9999, stale(9999)),
            (["Cache-Control: max-stale=x"], 61, validate),
            (["Cache-Control: max-stale=10, max-age=65"], 65, stale(65)),
            (["Cache-Control: max-stale=10, max-age=65"], 66, validateOrFail),
            (["Cache-Control: max-stale=10, min-fresh=1"], 61, validateOrFail),
            // RFC 9111 §5.2.1.4: no-cache demands validation.
            (["Cache-Control: no-cache"], 1, asked),
            (["Cache-Control: no-cache"], 61, validateOrFail),
            (["Cache-Control: no-cache, max-stale"], 61, validateOrFail),
            // RFC 9111 §5.4: Pragma counts only without Cache-Control.
            (["Pragma: no-cache"], 1, asked),
            (["Pragma: foo, no-cache"], 1, asked),
            (["Pragma: no-cache", "Cache-Control: max-age=30"], 1, serve(1)),
            (["Pragma: foo"], 1, serve(1)),
            // RFC 9111 §5.2.1.5: a request with no-store may get a stored response. Larder does not validate the
            // response, because it must not store the origin's answer.
            (["Cache-Control: no-store"], 1, serve(1)),
            (["Cache-Control: no-store"], 61, .fetch(.stale)),
            (["Cache-Control: no-store, no-cache"], 1, .fetch(.request)),
            // RFC 9111 §5.2.1.7: only-if-cached forbids a request to the origin.
            (["Cache-Control: only-if-cached"], 59, serve(59)),
            (["Cache-Control: only-if-cached"], 60, .refuse),
            (["Cache-Control: only-if-cached, max-stale"], 60, stale(60)),
            (["Cache-Control: only-if-cached, no-cache"], 1, .refuse),
            (["Cache-Control: only-if-cached, max-age=1"], 2, .refuse),
            // RFC 9111 §5.2.3: unknown directives have no effect.
            (["Cache-Control: extension"], 1, serve(1)),
            (["Cache-Control: extension=\"no-cache\""], 1, serve(1)),
            // Conditions and ranges are evaluated when the response is served (RFC 9110 §13, §14).
            (["If-None-Match: \"a\""], 1, serve(1)),
            (["Range: bytes=0-1"], 1, serve(1)),
        ] as [([String], Int64, ReuseDecision)])
    func requests(request: [String], seconds: Int64, expected: ReuseDecision) {
        #expect(decide(request, ["Cache-Control: max-age=60", "ETag: \"a\""], after: seconds) == expected)
    }

    @Test(
        "Directives of request and response together decide the reuse",
        arguments: [
            // RFC 8246 §2: a fresh immutable response is not validated on a reload (max-age=0), but on a forced reload
            // (no-cache).
            ("max-age=0", "max-age=60, immutable", 1, serve(1)),
            ("max-age=0", "max-age=60, immutable", 61, validateOrFail),
            ("no-cache", "max-age=60, immutable", 1, asked),
            ("min-fresh=60", "max-age=60, immutable", 1, asked),
            // RFC 9111 §4.2.4: the client cannot override a prohibition of the origin.
            ("max-stale", "max-age=60, must-revalidate", 61, validateOrFail),
            ("max-stale", "max-age=60, proxy-revalidate", 61, validateOrFail),
            ("max-stale", "s-maxage=60", 61, validateOrFail),
            ("max-stale", "max-age=60, no-cache", 1, validateOrFail),
            // RFC 9111 §5.2.1.1: a request with max-age, min-fresh or no-cache accepts no stale response.
            ("max-age=99", "max-age=60, stale-while-revalidate=30", 61, validateOrFail),
            ("min-fresh=1", "max-age=60, stale-while-revalidate=30", 61, validateOrFail),
            ("no-cache", "max-age=60, stale-while-revalidate=30", 61, validateOrFail),
            // If request and response both permit a stale response, Larder serves the response and refreshes it in the
            // background.
            ("max-stale", "max-age=60, stale-while-revalidate=30", 61, behind(61)),
            ("max-stale", "max-age=60, stale-while-revalidate=30", 91, stale(91)),
            ("only-if-cached", "max-age=60, stale-while-revalidate=30", 61, behind(61)),
        ] as [(String, String, Int64, ReuseDecision)])
    func both(request: String, stored: String, seconds: Int64, expected: ReuseDecision) {
        let lines = ["Cache-Control: " + stored, "ETag: \"a\""]
        #expect(decide(["Cache-Control: " + request], lines, after: seconds) == expected)
    }

    @Test(
        "A request in the same millisecond as the response's receipt is served unless the request has max-age=0",
        arguments: [("max-age=0", asked), ("max-age=1", serve(0))] as [(String, ReuseDecision)])
    func sameMillisecond(control: String, expected: ReuseDecision) {
        let stored = ["Cache-Control: max-age=60", "ETag: \"a\""]
        #expect(decide(["Cache-Control: " + control], stored, after: 0) == expected)
    }

    @Test("The max-age of a request is compared with the age in milliseconds (RFC 9111 §4.2.3)")
    func milliseconds() {
        let stored = Sample.stored(["Cache-Control: max-age=60", "ETag: \"a\""])
        let request = Sample.request(["Cache-Control: max-age=1"])
        #expect(
            ReusePolicy.decide(request, stored, now: Sample.now + .milliseconds(1000))
                == .serve(age: .seconds(1), isStale: false))
        #expect(ReusePolicy.decide(request, stored, now: Sample.now + .milliseconds(1001)) == Self.asked)
    }

    @Test("If no response is stored, Larder asks the origin, but refuses only-if-cached (RFC 9111 §5.2.1.7)")
    func nothingStored() {
        #expect(ReusePolicy.decide(Sample.request(), nil, now: Sample.now) == .fetch(.uriMiss))
        #expect(
            ReusePolicy.decide(Sample.request(["Cache-Control: only-if-cached"]), nil, now: Sample.now) == .refuse)
    }

    @Test(
        "Methods other than GET and HEAD always go to the origin (RFC 9111 §4)",
        arguments: ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "M-SEARCH", "get"])
    func methods(method: String) {
        let request = Sample.request(["Cache-Control: only-if-cached"], method: HTTPRequest.Method(method)!)
        let stored = Sample.stored(["Cache-Control: max-age=60"])
        #expect(ReusePolicy.decide(request, stored, now: Sample.now) == .fetch(.method))
        #expect(!ReusePolicy.mayServeStale(request, stored, onError: .unreachable, now: Sample.now + .seconds(61)))
    }

    @Test("HEAD is answered from a stored GET response (RFC 9110 §9.3.2)")
    func head() {
        let stored = Sample.stored(["Cache-Control: max-age=60", "ETag: \"a\""])
        let request = Sample.request(method: .head)
        #expect(ReusePolicy.decide(request, stored, now: Sample.now) == Self.serve(0))
        #expect(ReusePolicy.decide(request, stored, now: Sample.now + .seconds(60)) == Self.validate)
    }

    @Test("A stored response that an unsafe request invalidated is validated before use, even if fresh (RFC 9111 §4.4)")
    func invalid() {
        var stored = Sample.stored(["Cache-Control: max-age=60, stale-while-revalidate=60", "ETag: \"a\""])
        stored.isInvalid = true
        for seconds in [0, 61] as [Int64] {
            let now = Sample.now + .seconds(seconds)
            #expect(ReusePolicy.decide(Sample.request(), stored, now: now) == Self.validateOrFail)
            #expect(
                ReusePolicy.decide(Sample.request(["Cache-Control: max-stale"]), stored, now: now)
                    == Self.validateOrFail)
            #expect(
                ReusePolicy.decide(
                    Sample.request(ttl: .seconds(600)), stored, expiry: Sample.now + .seconds(600), now: now)
                    == Self.validateOrFail)
            #expect(!ReusePolicy.mayServeStale(Sample.request(), stored, onError: .unreachable, now: now))
        }
    }
}
