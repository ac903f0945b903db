import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The use of stale responses when the origin fails")
struct StaleOnErrorTests {
    @Test(
        "When a fetch fails, a stale response is served only if response, request and kind of failure allow it",
        arguments: [
            // RFC 9111 §4.2.4: allowed if the origin is unreachable, unless a directive forbids it.
            ("max-age=60", "", .unreachable, true),
            ("max-age=60, must-revalidate", "", .unreachable, false),
            ("max-age=60, proxy-revalidate", "", .unreachable, false),
            ("s-maxage=60", "", .unreachable, false),
            ("max-age=60, no-cache", "", .unreachable, false),
            // RFC 9111 §4.3.3: Larder serves an error of the origin, unless stale-if-error permits the stale response.
            ("max-age=60", "", .status(500), false),
            ("max-age=60", "", .status(503), false),
            // RFC 5861 §4: until its time is over, stale-if-error covers 500, 502, 503, 504 and an unreachable origin.
            ("max-age=60, stale-if-error=1", "", .unreachable, true),
            ("max-age=60, stale-if-error=1", "", .status(500), true),
            ("max-age=60, stale-if-error=1", "", .status(502), true),
            ("max-age=60, stale-if-error=1", "", .status(503), true),
            ("max-age=60, stale-if-error=1", "", .status(504), true),
            ("max-age=60, stale-if-error=1", "", .status(501), false),
            ("max-age=60, stale-if-error=1", "", .status(505), false),
            ("max-age=60, stale-if-error=1", "", .status(599), false),
            ("max-age=60, stale-if-error=1", "", .status(404), false),
            ("max-age=60, stale-if-error=1", "", .status(200), false),
            // After its time, or with a time of zero, stale-if-error allows no stale response.
            ("max-age=59, stale-if-error=1", "", .unreachable, false),
            ("max-age=59, stale-if-error=1", "", .status(503), false),
            ("max-age=60, stale-if-error=0", "", .unreachable, false),
            ("max-age=60, stale-if-error=x", "", .status(503), false),
            // stale-if-error does not override a directive that forbids stale responses (RFC 9111 §4.2.4).
            ("max-age=60, stale-if-error=9, must-revalidate", "", .status(503), false),
            ("s-maxage=60, stale-if-error=9", "", .status(503), false),
            // stale-if-error in the request overrides the response.
            ("max-age=60", "stale-if-error=1", .status(503), true),
            ("max-age=60", "stale-if-error=0", .unreachable, false),
            ("max-age=50, stale-if-error=1", "stale-if-error=99", .status(503), true),
            ("max-age=60, stale-if-error=99", "stale-if-error=0", .status(503), false),
            ("max-age=60, must-revalidate", "stale-if-error=9", .status(503), false),
            // RFC 9111 §5.2.1.1 to §5.2.1.4: the client limits the age that it accepts.
            ("max-age=60", "no-cache", .unreachable, false),
            ("max-age=60", "max-age=99", .unreachable, false),
            ("max-age=60", "max-age=99, max-stale=5", .unreachable, true),
            ("max-age=60", "max-age=9, max-stale=5", .unreachable, false),
            ("max-age=60", "min-fresh=5", .unreachable, false),
            ("max-age=60", "max-stale=1", .unreachable, true),
            ("max-age=60", "max-stale=0", .unreachable, false),
            ("max-age=60", "max-stale", .unreachable, true),
            ("max-age=60", "max-stale", .status(503), false),
            // RFC 9111 §5.2.1.5: no-store in the request does not exclude a response that is already stored.
            ("max-age=60", "no-store", .unreachable, true),
        ] as [(String, String, OriginFailure, Bool)])
    func allowed(stored: String, request: String, failure: OriginFailure, isAllowed: Bool) {
        let stored = Sample.stored(["Cache-Control: " + stored])
        let request = Sample.request(request.isEmpty ? [] : ["Cache-Control: " + request])
        let now = Sample.now + .seconds(61)
        #expect(ReusePolicy.mayServeStale(request, stored, onError: failure, now: now) == isAllowed)
    }

    @Test(
        "When a fetch fails, a stale 5xx response is never served instead, even if directives allow stale responses",
        arguments: [500, 501, 503, 599])
    func storedError(status: Int) {
        let control = "Cache-Control: max-age=60, stale-if-error=600, stale-while-revalidate=600"
        let now = Sample.now + .seconds(61)
        let stored = Sample.stored([control], status: status)
        for failure: OriginFailure in [.unreachable, .status(500), .status(503)] {
            for request in [[], ["Cache-Control: stale-if-error=600"], ["Cache-Control: max-stale"]] {
                #expect(
                    !ReusePolicy.mayServeStale(Sample.request(request), stored, onError: failure, now: now))
            }
        }
        #expect(ReusePolicy.decide(Sample.request(), stored, now: now) == .fetch(.stale))
        // A request with max-stale still gets the stored error.
        let asked = ReusePolicy.decide(Sample.request(["Cache-Control: max-stale"]), stored, now: now)
        #expect(asked == .serve(age: .seconds(61), isStale: true))
    }

    @Test(
        "A stale 4xx response is served if the origin is unreachable, but not if the origin answers with a 5xx",
        arguments: [400, 401, 403, 404, 410, 451])
    func storedClientError(status: Int) {
        let control = "Cache-Control: max-age=60, stale-if-error=600"
        let now = Sample.now + .seconds(61)
        let stored = Sample.stored([control], status: status)
        #expect(ReusePolicy.mayServeStale(Sample.request(), stored, onError: .unreachable, now: now))
        for failure in [500, 502, 503, 504] {
            for request in [[], ["Cache-Control: stale-if-error=600"], ["Cache-Control: max-stale"]] {
                #expect(
                    !ReusePolicy.mayServeStale(
                        Sample.request(request), stored, onError: .status(failure), now: now))
            }
        }
    }

    @Test("When a fetch fails, a variant for other selecting fields is not served (RFC 9111 §4.1)")
    func variant() {
        let stored = Sample.stored(["Cache-Control: max-age=60", "Vary: Accept"], request: ["Accept: a"])
        let now = Sample.now + .seconds(61)
        #expect(ReusePolicy.mayServeStale(Sample.request(["Accept: a"]), stored, onError: .unreachable, now: now))
        #expect(!ReusePolicy.mayServeStale(Sample.request(["Accept: b"]), stored, onError: .unreachable, now: now))
    }
}
