import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The precedence of a caller's ttl over the origin's directives")
struct CallerGrantTests {
    private static let hour = Duration.seconds(3600)

    private func stored(_ request: CacheRequest, _ answer: OriginAnswer) throws -> StoredResponse {
        guard case .store(let stored) = StoragePolicy.decide(request, answer) else {
            throw Passed()
        }
        return stored
    }

    private struct Passed: Error {}

    @Test(
        "A response stored only because of a ttl is served only to requests with a ttl and the same Authorization",
        arguments: [
            (200, ["Cache-Control: no-store"]),
            (200, ["Cache-Control: private, max-age=5"]),
            (200, ["Cache-Control: no-cache"]),
            (200, []),
            (404, []),
            (302, ["Location: /other"]),
            (307, ["Location: /other"]),
        ])
    func onlyReason(status: Int, lines: [String]) throws {
        let answer = Sample.answer(status, lines)
        let response = try stored(Sample.request(ttl: Self.hour, authorization: "digest"), answer)
        #expect(response.grant == CallerGrant(isOnlyReason: true, authorization: "digest"))
        let expiry = response.expiryDate(callerTTL: Self.hour)
        #expect(expiry == Sample.now + Self.hour)

        let later = Sample.now + .seconds(1800)
        func decide(_ ttl: Duration?, _ authorization: String?) -> ReuseDecision {
            let request = Sample.request(ttl: ttl, authorization: authorization)
            return ReusePolicy.decide(request, response, expiry: expiry, now: later)
        }
        #expect(decide(.seconds(1), "digest") == .serve(age: .seconds(1800), isStale: false))
        #expect(decide(.seconds(1), "other") == .fetch(.miss))
        #expect(decide(.seconds(1), nil) == .fetch(.miss))
        #expect(decide(nil, "digest") == .fetch(.miss))
        #expect(decide(nil, nil) == .fetch(.miss))
        // A failing origin does not make the response available to a request without a ttl.
        let past = expiry + .seconds(1)
        let request = Sample.request(authorization: "digest")
        #expect(!ReusePolicy.mayServeStale(request, response, onError: .unreachable, expiry: expiry, now: past))
    }

    @Test(
        "A caller's ttl does not make an error or an unusable response storable",
        arguments: [
            (500, [], [], .noFreshness), (503, [], [], .noFreshness), (403, [], [], .noFreshness),
            (500, ["Cache-Control: no-store"], [], .noStore),
            // RFC 9111 §4.1: no later request matches `Vary: *`.
            (200, ["Vary: *"], [], .varyAny),
            // RFC 9111 §5.2.1.5: no-store in the caller's own request overrides the ttl.
            (200, ["Cache-Control: max-age=60"], ["Cache-Control: no-store"], .noStore),
            // RFC 9111 §3.4: a part needs a strong validator.
            (206, ["Content-Range: bytes 0-4/10"], [], .partialWithoutStrongValidator),
            (299, ["Cache-Control: must-understand, max-age=60"], [], .mustUnderstand),
        ] as [(Int, [String], [String], PassReason)])
    func passed(status: Int, lines: [String], request: [String], reason: PassReason) {
        let decision = StoragePolicy.decide(Sample.request(request, ttl: Self.hour), Sample.answer(status, lines))
        #expect(decision == .pass(reason))
    }

    @Test("An error with explicit freshness expires at the end of the origin's freshness, not of the caller's ttl")
    func errorWithFreshness() throws {
        let response = try stored(
            Sample.request(ttl: Self.hour), Sample.answer(503, ["Cache-Control: max-age=5"]))
        #expect(response.grant == nil)
        #expect(response.expiryDate(callerTTL: Self.hour) == Sample.now + .seconds(5))
    }

    @Test("A storable response expires by its stored ttl for requests with a ttl, and by its own freshness for others")
    func bothReasons() throws {
        let answer = Sample.answer(200, ["Cache-Control: max-age=60", "ETag: \"a\""])
        let response = try stored(Sample.request(ttl: Self.hour), answer)
        #expect(response.grant == CallerGrant(isOnlyReason: false, authorization: nil))
        let expiry = response.expiryDate(callerTTL: Self.hour)
        #expect(response.expiryDate(callerTTL: nil) == Sample.now + .seconds(60))

        func decide(_ request: CacheRequest, after seconds: Int64) -> ReuseDecision {
            ReusePolicy.decide(request, response, expiry: expiry, now: Sample.now + .seconds(seconds))
        }
        let stale = ReuseDecision.revalidate(reason: .stale, mayServeStaleOnError: true)
        #expect(decide(Sample.request(), after: 59) == .serve(age: .seconds(59), isStale: false))
        #expect(decide(Sample.request(), after: 60) == stale)
        #expect(decide(Sample.request(ttl: .zero), after: 3599) == .serve(age: .seconds(3599), isStale: false))
        #expect(decide(Sample.request(ttl: Self.hour), after: 3600) == stale)
        // RFC 9111 §5.2.1: the directives of the caller's request apply, too.
        let validate = ReuseDecision.revalidate(reason: .request, mayServeStaleOnError: false)
        #expect(decide(Sample.request(["Cache-Control: no-cache"], ttl: Self.hour), after: 1) == validate)
        #expect(decide(Sample.request(["Cache-Control: max-age=0"], ttl: Self.hour), after: 1) == validate)
        #expect(decide(Sample.request(["Cache-Control: min-fresh=600"], ttl: Self.hour), after: 3001) == validate)
    }

    @Test(
        "For requests with a ttl, a response stored with ttl zero is stale at once, even if the origin keeps it fresh"
    )
    func shorter() throws {
        let answer = Sample.answer(200, ["Cache-Control: max-age=60"])
        let response = try stored(Sample.request(ttl: .zero), answer)
        let expiry = response.expiryDate(callerTTL: .zero)
        let decision = ReusePolicy.decide(
            Sample.request(ttl: .zero), response, expiry: expiry, now: Sample.now)
        #expect(decision == .fetch(.stale))
        #expect(
            ReusePolicy.decide(Sample.request(), response, expiry: expiry, now: Sample.now)
                == .serve(age: .zero, isStale: false))
    }

    @Test("A ttl overrides no-cache only for requests with the same Authorization as the storing request")
    func otherAuthorization() throws {
        // RFC 9111 §3.5: public lets requests with another Authorization use the response. no-cache demands a
        // validation before each use.
        let answer = Sample.answer(200, ["Cache-Control: public, no-cache", "ETag: \"a\""])
        let response = try stored(Sample.request(ttl: Self.hour, authorization: "digest"), answer)
        let expiry = response.expiryDate(callerTTL: Self.hour)
        func decide(_ authorization: String?) -> ReuseDecision {
            let request = Sample.request(ttl: Self.hour, authorization: authorization)
            return ReusePolicy.decide(request, response, expiry: expiry, now: Sample.now + .seconds(9))
        }
        #expect(decide("digest") == .serve(age: .seconds(9), isStale: false))
        #expect(decide("other") == .revalidate(reason: .stale, mayServeStaleOnError: false))
        #expect(decide(nil) == .revalidate(reason: .stale, mayServeStaleOnError: false))
    }
}
