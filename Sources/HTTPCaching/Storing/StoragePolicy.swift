import HTTPTypes
import Primitives

/// Decides whether an answer is stored (RFC 9111 §3). A caller's ttl replaces a missing lifetime, and overrules the
/// answer's `no-store`, `private` and `no-cache`, and the rule for Authorization. `Set-Cookie` is then not stored,
/// because a cookie is meant for the client that sent the request, and the ttl is not the origin's permission to share
/// the cookie. A ttl applies only to GET and ``grantedStatuses``.
package enum StoragePolicy {
    /// The statuses to which a ttl applies: those with a heuristic lifetime (RFC 9110 §15.1), and temporary redirects.
    package static let grantedStatuses = Freshness.heuristicStatuses.union([302, 303, 307])

    /// `answer` has only end-to-end fields. The caller must discard a body that has not the declared length.
    package static func decide(_ request: CacheRequest, _ answer: OriginAnswer) -> StorageDecision {
        let freshness = answer.freshness
        if let reason = refusal(of: answer, to: request, freshness) { return .pass(reason) }
        guard let selection = SelectingFields(vary: answer.fields, request: request.fields) else {
            return .pass(.varyAny)
        }
        var stored = StoredResponse(
            url: request.url, status: answer.status, fields: answer.fields, requestedAt: answer.requestedAt,
            receivedAt: answer.receivedAt, selection: selection)
        stored.remember(freshness)
        let declaredLength = answer.fields[values: .contentLength].first
        if answer.status == 206 {
            // RFC 9111 §3.3, §3.4: a part needs a valid Content-Range and a strong validator.
            let lines = answer.fields[values: .contentRange]
            guard lines.count == 1, let content = ContentRange.parse(lines[0]),
                declaredLength.map({ Int64(digits: $0) == Int64(content.range.count) }) ?? true
            else { return .pass(.partial) }
            guard !StrongValidators(answer.fields, receivedAt: answer.receivedAt).isEmpty else {
                return .pass(.partialWithoutStrongValidator)
            }
            stored.part = content.range
            stored.completeLength = content.completeLength
        } else {
            stored.completeLength = declaredLength.flatMap { Int64(digits: $0) }
        }
        let objection = objection(to: answer, request, freshness)
        if request.callerTTL != nil, request.method == .get, grantedStatuses.contains(answer.status) {
            stored.grant = CallerGrant(isOnlyReason: objection != nil, authorization: request.authorization)
            stored.dropGrantedCookies()
        } else if let objection {
            return .pass(objection)
        }
        return .store(stored)
    }

    /// The reason against storing that holds even with a caller's ttl.
    private static func refusal(
        of answer: OriginAnswer, to request: CacheRequest, _ freshness: Freshness
    ) -> PassReason? {
        switch request.method {
        case .get: break
        case .post where isCurrentRepresentation(answer, of: request) && freshness.isExplicit: break
        default: return .method
        }
        if isOfAuthenticatedConnection(answer, request) { return .connectionAuthentication }
        if RequestDirectives(request.fields).noStore { return .noStore }
        if !isStorable(answer.status) { return .status }
        if freshness.control.contains("must-understand"), !understoodStatuses.contains(answer.status) {
            return .mustUnderstand
        }
        return nil
    }

    /// Whether the answer belongs to the client of an authenticated connection (RFC 4559 §6).
    private static func isOfAuthenticatedConnection(_ answer: OriginAnswer, _ request: CacheRequest) -> Bool {
        request.fields[values: .authorization].contains(where: ConnectionCredentials.areNamed)
            || answer.fields[values: .wwwAuthenticate].contains(where: ConnectionCredentials.areNamed)
            || answer.fields.contains(persistentAuth)
    }

    private static let persistentAuth = HTTPField.Name("Persistent-Auth")!

    /// The reason against storing by RFC 9111 alone, which a caller's ttl may overrule.
    private static func objection(
        to answer: OriginAnswer, _ request: CacheRequest, _ freshness: Freshness
    ) -> PassReason? {
        let control = freshness.control
        // RFC 9111 §5.2.2.3: beside must-understand, no-store is only for caches that do not know must-understand.
        if control.noStore, !control.contains("must-understand") { return .noStore }
        // RFC 9111 §5.2.2.7: `private` with field names may be treated like `private` without them.
        if control.contains("private") { return .private }
        if request.fields.contains(.authorization) || request.authorization != nil {
            // RFC 9111 §3.5: one of these directives permits storing.
            guard ["public", "must-revalidate", "s-maxage"].contains(where: { control.contains($0) }) else {
                return .authorization
            }
        }
        // RFC 9111 §7.3: the origin permits sharing a cookie only if it states a lifetime above zero, without
        // `no-cache`. An unreadable lifetime counts as zero.
        let isShared = freshness.isExplicit && freshness.lifetime > .zero && !control.noCache
        if answer.fields.contains(.setCookie), !isShared { return .setCookie }
        // RFC 9111 §3: a rule must permit storing. In addition, later requests must be able to use the stored answer.
        let isAllowed =
            freshness.isExplicit || control.contains("public") || Freshness.heuristicStatuses.contains(answer.status)
        let isFresh = freshness.isFresh(at: answer.receivedAt) && !control.noCache
        let mayBeServedStale = freshness.isExplicit && !freshness.forbidsStale && !freshness.isServerError
        let isUseful = isFresh || mayBeServedStale || !Validators(answer.fields).isEmpty
        return isAllowed && isUseful ? nil : .noFreshness
    }

    /// Whether Content-Location states that a 200 to POST is the answer to a later GET (RFC 9110 §8.7, §9.3.3).
    private static func isCurrentRepresentation(_ answer: OriginAnswer, of request: CacheRequest) -> Bool {
        guard answer.status == 200, let location = answer.fields[values: .contentLocation].first,
            let target = TargetURI(request.url)
        else { return false }
        return target.resolve(location)?.text == target.text
    }

    /// Whether the status may be stored. 304, 412 and 416 depend on one request, and RFC 6585 forbids the others.
    private static func isStorable(_ status: Int) -> Bool {
        status >= 200 && ![304, 412, 416, 428, 429, 431, 511].contains(status)
    }

    /// The statuses of RFC 9110 §15. This module implements the caching rules of each.
    private static let understoodStatuses: Set<Int> = Set(200...206).union(300...305).union([307, 308])
        .union(400...417).union([421, 422, 426]).union(500...505)
}

package enum StorageDecision: Hashable, Sendable {
    /// Store the answer as soon as its body is complete.
    case store(StoredResponse)
    case pass(PassReason)
}

/// The rule or the limit that forbids storing. The raw value is the detail of Cache-Status (RFC 9211 §2.8).
package enum PassReason: String, Hashable, Sendable {
    /// The request or the answer has `no-store` (RFC 9111 §5.2.1.5, §5.2.2.5).
    case noStore = "no-store"
    /// The answer is meant for a single user (RFC 9111 §5.2.2.7).
    case `private`
    /// The request had Authorization, and the answer does not permit shared use (RFC 9111 §3.5).
    case authorization
    /// The answer is for the client that authenticated, or authenticates, its connection (``ConnectionCredentials``).
    case connectionAuthentication = "connection-authentication"
    /// The answer has `Vary: *` or an unreadable Vary, so it is unknown which requests select it (RFC 9111 §4.1).
    case varyAny = "vary-any"
    /// The answer is stale at once, cannot be validated and must not be served stale: a copy would never be used.
    case noFreshness = "no-freshness"
    /// A cookie is meant for a single client, and the origin states no lifetime for shared use (RFC 9111 §7.3).
    case setCookie = "set-cookie"
    /// Answers to this method are not stored (RFC 9110 §9.2.3, §9.3.3).
    case method
    /// The status is specific to this request, or must not be stored (RFC 9110 §15.4.5, §15.5.13, §15.5.17; RFC 6585).
    case status
    /// The answer has `must-understand` and a status that Larder does not understand (RFC 9111 §5.2.2.3).
    case mustUnderstand = "must-understand"
    /// A 206 without a single valid Content-Range, or with another Content-Length than its range (RFC 9110 §15.3.7).
    case partial
    /// A 206 without a strong validator cannot be combined with other parts (RFC 9111 §3.4).
    case partialWithoutStrongValidator = "partial-without-strong-validator"
    /// The declared length or the head exceeds a limit of the cache. ``StoragePolicy`` never returns this reason.
    case tooLarge = "too-large"
    /// The cache or its disk has no room, even after eviction. ``StoragePolicy`` never returns this reason.
    case noRoom = "no-room"
}

/// A client's request, as far as caching is concerned.
package struct CacheRequest: Hashable, Sendable {
    package var method: HTTPRequest.Method
    /// Absolute: the target URI of RFC 9110 §7.1.
    package var url: String
    /// Without hop-by-hop fields.
    package var fields: HTTPFields
    /// Replaces the origin's freshness lifetime; `nil` leaves the lifetime to the origin.
    package var callerTTL: Duration?
    /// A text, such as a digest, that differs for each Authorization; only compared. `nil` without Authorization.
    package var authorization: String?

    package init(
        method: HTTPRequest.Method, url: String, fields: HTTPFields, callerTTL: Duration? = nil,
        authorization: String? = nil
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.callerTTL = callerTTL
        self.authorization = authorization
    }

    /// The ranges of a GET with one well-formed Range line; else `nil`. See ``ByteRangeSet/init(_:method:)``.
    package var ranges: ByteRangeSet? { fields.contains(.range) ? ByteRangeSet(fields, method: method) : nil }
}

/// The head of a final answer. Interim answers (1xx) are never stored and have no ``OriginAnswer``.
package struct OriginAnswer: Hashable, Sendable {
    package var status: Int
    /// Without hop-by-hop fields (RFC 9111 §3.1). The fields always contain a readable Date.
    package var fields: HTTPFields
    /// RFC 9111 §4.2.3: `request_time`.
    package var requestedAt: Timestamp
    /// RFC 9111 §4.2.3: `response_time`.
    package var receivedAt: Timestamp

    /// The fields are end-to-end. Without a readable Date, the time of receipt becomes the Date (RFC 9110 §6.6.1).
    package init(status: Int, fields: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp) {
        self.status = status
        self.fields = fields
        self.requestedAt = requestedAt
        self.receivedAt = receivedAt
        if FreshnessLifetime.date(of: fields, receivedAt: receivedAt) == nil {
            self.fields[.date] = receivedAt.httpDate
        }
    }

    package var freshness: Freshness {
        Freshness(status, fields, requestedAt: requestedAt, receivedAt: receivedAt)
    }
}
