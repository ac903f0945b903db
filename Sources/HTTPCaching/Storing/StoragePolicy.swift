import HTTPTypes
import Primitives

/// Whether an answer is kept (RFC 9111 §3).
///
/// A caller's ttl stands in for what the origin does not say, and overrules what it says: `no-store`, `private`,
/// `no-cache`, no freshness, Authorization. Then `Set-Cookie` is not kept, because a cookie is for the client whose
/// request brought it, and the origin did not say for how long others may have it. A ttl decides for GET and for the
/// statuses of ``grantedStatuses``; any other error is kept as its origin says, because its ttl is meant for success.
public enum StoragePolicy {
    /// The statuses about which a caller's ttl decides: those for which a lifetime may be guessed (RFC 9110 §15.1), and
    /// the temporary redirects.
    public static let grantedStatuses = Freshness.heuristicStatuses.union([302, 303, 307])

    /// What becomes of an answer to a request.
    ///
    /// - Parameter answer: its fields end-to-end. What it declares of its length is taken at its word: who receives the
    ///   body keeps nothing that is shorter or longer.
    public static func decide(_ request: CacheRequest, _ answer: OriginAnswer) -> StorageDecision {
        let freshness = Freshness(answer)
        if let reason = refusal(of: answer, to: request, freshness) { return .pass(reason) }
        guard let selection = SelectingFields(vary: answer.fields, request: request.fields) else {
            return .pass(.varyAny)
        }
        var stored = StoredResponse(
            url: request.url, status: answer.status, fields: answer.fields, requestedAt: answer.requestedAt,
            receivedAt: answer.receivedAt, selection: selection)
        stored.remember(freshness)
        if answer.status == 206 {
            // §3.3, §3.4.
            guard let content = partialContent(answer.fields) else { return .pass(.partial) }
            if let length = answer.fields[values: .contentLength].first,
                Int64(digits: length) != Int64(content.range.count)
            {
                return .pass(.partial)
            }
            guard !StrongValidators(answer.fields, receivedAt: answer.receivedAt).isEmpty else {
                return .pass(.partialWithoutStrongValidator)
            }
            stored.part = content.range
            stored.completeLength = content.completeLength
        } else {
            stored.completeLength = answer.fields[values: .contentLength].first.flatMap { Int64(digits: $0) }
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

    /// Why an answer cannot be kept, whatever a caller wishes.
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

    /// RFC 4559 §6: such an answer belongs to the connection's client.
    private static func isOfAuthenticatedConnection(_ answer: OriginAnswer, _ request: CacheRequest) -> Bool {
        request.fields[values: .authorization].contains(where: ConnectionCredentials.areNamed)
            || answer.fields[values: .wwwAuthenticate].contains(where: ConnectionCredentials.areNamed)
            || answer.fields.contains(persistentAuth)
    }

    private static let persistentAuth = HTTPField.Name("Persistent-Auth")!

    /// Why a cache that goes by RFC 9111 alone does not keep an answer.
    private static func objection(
        to answer: OriginAnswer, _ request: CacheRequest, _ freshness: Freshness
    ) -> PassReason? {
        let control = freshness.control
        // §5.2.2.3: beside must-understand, no-store is for caches that do not know the directive.
        if control.noStore, !control.contains("must-understand") { return .noStore }
        // §5.2.2.7: with field names it may be taken as without.
        if control.contains("private") { return .private }
        if request.fields.contains(.authorization) || request.authorization != nil {
            // §3.5.
            guard ["public", "must-revalidate", "s-maxage"].contains(where: { control.contains($0) }) else {
                return .authorization
            }
        }
        // §7.3.
        if answer.fields.contains(.setCookie), !isSharedByLifetime(freshness) { return .setCookie }
        // §3: something must allow it. Then there must be something that it can be used for.
        let isAllowed =
            freshness.isExplicit || control.contains("public") || Freshness.heuristicStatuses.contains(answer.status)
        let isFresh = freshness.isFresh(at: answer.receivedAt) && !control.noCache
        let mayBeServedStale = freshness.isExplicit && !freshness.forbidsStale && !freshness.isServerError
        let isUseful = isFresh || mayBeServedStale || !Validators(answer.fields).isEmpty
        return isAllowed && isUseful ? nil : .noFreshness
    }

    /// Whether the origin states, by a lifetime in which the answer may be used unasked, that others may have it. Zero,
    /// a lifetime that cannot be read, and one beside `no-cache` state nothing like that.
    private static func isSharedByLifetime(_ freshness: Freshness) -> Bool {
        freshness.isExplicit && freshness.lifetime > .zero && !freshness.control.noCache
    }

    /// RFC 9110 §9.3.3: an answer to POST is one to a later GET when it says, by Content-Location, that it is what that
    /// GET would bring. 200 is the status with which it is (RFC 9110 §8.7).
    private static func isCurrentRepresentation(_ answer: OriginAnswer, of request: CacheRequest) -> Bool {
        guard answer.status == 200, let location = answer.fields[values: .contentLocation].first,
            let target = TargetURI(request.url)
        else { return false }
        return target.resolve(location)?.text == target.text
    }

    /// Any final status but those that answer a condition or a range of this one request, and those of which RFC 6585
    /// says that they must not be stored.
    private static func isStorable(_ status: Int) -> Bool {
        status >= 200 && ![304, 412, 416, 428, 429, 431, 511].contains(status)
    }

    /// The statuses of RFC 9110 §15: what is asked of a cache for each of them is done here.
    private static let understoodStatuses: Set<Int> = Set(200...206).union(300...305).union([307, 308])
        .union(400...417).union([421, 422, 426]).union(500...505)

    private static func partialContent(_ fields: HTTPFields) -> (range: Range<Int64>, completeLength: Int64?)? {
        let lines = fields[values: .contentRange]
        return lines.count == 1 ? ContentRange.parse(lines[0]) : nil
    }
}
