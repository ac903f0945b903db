import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The reuse of a stored part (RFC 9111 §3.3)")
struct PartialReuseTests {
    /// Bytes 2 to 6 of 10.
    private var part: StoredResponse {
        var part = Sample.stored(
            [
                "Cache-Control: max-age=60", "ETag: \"a\"", "Last-Modified: " + Sample.date(-60),
                "Content-Range: bytes 2-6/10",
            ], status: 206)
        part.part = 2..<7
        part.completeLength = 10
        return part
    }

    @Test(
        "A stored part answers a range request only if the part contains all requested bytes",
        arguments: [
            (["Range: bytes=2-6"], true),
            (["Range: bytes=3-4"], true),
            (["Range: bytes=2-2, 6-6"], true),
            (["Range: bytes=1-6"], false),
            (["Range: bytes=2-7"], false),
            (["Range: bytes=2-"], false),
            (["Range: bytes=-4"], false),
            (["Range: bytes=3-4, 8-9"], false),
            ([], false),
            // RFC 9110 §14.2: a Range that is not a valid byte range is ignored, so the request is for the whole.
            (["Range: lines=3-4"], false),
            (["Range: bytes=4-3"], false),
            // RFC 9110 §15.5.17: the part can answer a range behind the end, with a 416.
            (["Range: bytes=10-"], true),
            // RFC 9110 §13.1.5: a failed If-Range turns the request into a request for the whole.
            (["Range: bytes=3-4", "If-Range: \"a\""], true),
            (["Range: bytes=3-4", "If-Range: \"b\""], false),
            (["Range: bytes=3-4", "If-Range: W/\"a\""], false),
            (["Range: bytes=3-4", "If-Range: " + Sample.date(-60)], true),
            (["Range: bytes=3-4", "If-Range: " + Sample.date(-61)], false),
        ])
    func coverage(request: [String], isServed: Bool) {
        let fresh = ReusePolicy.decide(Sample.request(request), part, now: Sample.now)
        #expect(fresh == (isServed ? .serve(age: .zero, isStale: false) : .fetch(.partial)))
        let stale = ReusePolicy.decide(Sample.request(request), part, now: Sample.now + .seconds(60))
        #expect(stale == (isServed ? .revalidate(reason: .stale, mayServeStaleOnError: true) : .fetch(.partial)))
        // If the origin is unreachable, the stale part answers the same requests as a fresh part.
        let standsIn = ReusePolicy.mayServeStale(
            Sample.request(request), part, onError: .unreachable, now: Sample.now + .seconds(60))
        #expect(standsIn == isServed)
    }

    @Test("Several stored parts of a response together answer a request for several ranges")
    func severalParts() {
        let held = ByteCoverage([2..<7, 8..<10])
        func decide(_ range: String) -> ReuseDecision {
            ReusePolicy.decide(Sample.request(["Range: bytes=" + range]), part, coverage: held, now: Sample.now)
        }
        #expect(decide("3-4, 8-9") == .serve(age: .zero, isStale: false))
        #expect(decide("-2") == .serve(age: .zero, isStale: false))
        #expect(decide("6-8") == .fetch(.partial))
    }

    @Test("A stored part answers no HEAD, and no request at all if the representation's complete length is unknown")
    func refusals() {
        let range = ["Range: bytes=3-4"]
        #expect(ReusePolicy.decide(Sample.request(range, method: .head), part, now: Sample.now) == .fetch(.partial))
        var endless = part
        endless.completeLength = nil
        #expect(ReusePolicy.decide(Sample.request(range), endless, now: Sample.now) == .fetch(.partial))
        let onlyIfCached = Sample.request(["Range: bytes=0-4", "Cache-Control: only-if-cached"])
        #expect(ReusePolicy.decide(onlyIfCached, part, now: Sample.now) == .refuse)
    }
}
