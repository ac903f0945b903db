import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

/// RFC 4559 §6: NTLM and Negotiate authenticate a connection.
@Suite struct ConnectionAuthenticationTests {
    private func decide(
        _ fields: HTTPFields, authorization: String?, callerTTL: Duration? = nil
    ) -> StorageDecision {
        let requestFields: HTTPFields = authorization.map { [.authorization: $0] } ?? [:]
        let request = CacheRequest(
            method: .get, url: "http://a.example/x", fields: requestFields, callerTTL: callerTTL,
            authorization: authorization)
        let now = Timestamp(seconds: 1_800_000_000)
        return StoragePolicy.decide(
            request, OriginAnswer(status: 200, fields: fields, requestedAt: now, receivedAt: now))
    }

    @Test(
        "The answer to a request that authenticates the connection (NTLM, Negotiate) is never stored",
        arguments: ["NTLM abc", "Negotiate abc", "negotiate abc", "Kerberos abc"], [nil, .seconds(60)] as [Duration?])
    func request(authorization: String, ttl: Duration?) {
        let fields: HTTPFields = [.cacheControl: "public, max-age=60"]
        #expect(decide(fields, authorization: authorization, callerTTL: ttl) == .pass(.connectionAuthentication))
    }

    @Test(
        "An answer that authenticates the connection (NTLM, Negotiate) is never stored",
        arguments: [
            [.wwwAuthenticate: "Negotiate oYG3"], [.wwwAuthenticate: "Basic realm=\"a\", NTLM"],
            [HTTPField.Name("Persistent-Auth")!: "true"],
        ] as [HTTPFields])
    func answer(fields: HTTPFields) {
        var fields = fields
        fields[.cacheControl] = "public, max-age=60"
        #expect(decide(fields, authorization: nil, callerTTL: .seconds(60)) == .pass(.connectionAuthentication))
    }

    @Test(
        "Basic, Bearer and Digest do not prevent storing", arguments: ["Basic abc", "Bearer ntlm.abc", "Digest a=b"])
    func others(authorization: String) {
        guard case .store = decide([.cacheControl: "public, max-age=60"], authorization: authorization) else {
            Issue.record("the answer is not stored")
            return
        }
    }
}
