import HTTPCaching
import Larder
import Primitives

extension Problem {
    init(_ error: DownloadError) {
        switch error {
        case .schemeRefused, .addressRefused:
            self.init(status: 403, detail: error.description, pointer: "/url")
        case .originStatus(let status, let retryAfter):
            // `Retry-After` of an origin reaches the caller, together with the origin's own status (429 or 503).
            self.init(
                status: retryAfter == nil ? 502 : status, detail: error.description,
                extensions: [.init("originStatus", .number(status))]
                    + (retryAfter.map { [.init("retryAfter", .number($0))] } ?? []),
                fields: retryAfter.map { [.retryAfter: String($0)] } ?? [:])
        case .transferFailed(let code, _):
            self.init(status: 502, detail: error.description, extensions: Self.curlCode(code))
        case .tooLarge(let code, let limit):
            self.init(
                status: 502, detail: error.description,
                extensions: Self.curlCode(code) + [.init("limit", .number(limit))])
        case .timedOut(let code, _):
            self.init(status: 504, detail: error.description, extensions: Self.curlCode(code))
        case .connectionAuthentication, .cancelled:
            self.init(status: 502, detail: error.description)
        case .noSpace: self = .noSpace
        case .storage: self.init(status: 500, detail: error.description)
        case .tooManyTags: self = .invalid(error.description, pointer: "/tags")
        case .busy: self.init(status: 503, detail: error.description)
        case .keyInUse: self.init(status: 503, detail: error.description, pointer: "/url")
        case .stopping: self = .stopping
        }
    }

    init(_ error: GatewayError) {
        switch error.cause {
        case .notCached:
            self.init(
                status: 504,
                detail: "only-if-cached: the cache has no response that this request accepts (RFC 9111 §5.2.1.7)")
        case .origin(let cause): self.init(cause)
        case .cannotValidate(let cause):
            self.init(cause)
            status = 504
            detail = "the stored response is stale and needs revalidation, and the origin cannot be reached: \(detail)"
        }
        error.status.append(to: &fields)
    }

    init(_ error: CacheError) {
        switch error {
        case .entryTooLarge(let limit): self = .tooLarge(limit: Int(limit))
        case .noSpace: self = .noSpace
        case .lengthMismatch(let expected, let received):
            self = .invalid("the body has \(received) bytes, but Content-Length says \(expected)")
        case .emptyBody, .emptyJSON:
            self.init(status: 422, detail: error.description)
        case .tooManyTags: self = .invalid(error.description, pointer: "/tags")
        case .invalidJSON, .notUTF8: self = .invalid(error.description, pointer: "")
        case .invalidCursor:
            self = .invalid(
                "the cursor does not belong to this query; send nextCursor with the same filters and sort",
                pointer: "/cursor")
        case .conditionFailed: self = .preconditionFailed
        case .closed: self = .stopping
        // The status is not 503, which asks the client to try again in a second, because an operator has to act first.
        case .indexLost, .inUse, .notACache, .newerFormat, .invalidNamespace, .versionChanged, .reservationEnded,
            .fileSystem, .index:
            self.init(status: 500, detail: error.description)
        }
    }

    /// Returns the result of `work`. A failure of the cache becomes the caller's error answer.
    static func mapping<Value>(_ work: () throws(CacheError) -> Value) throws(Problem) -> Value {
        do {
            return try work()
        } catch {
            throw Problem(error)
        }
    }

    init(_ error: NamespaceError) {
        switch error {
        case .invalidName: self = .invalid(error.description, pointer: "/name")
        case .unknown: self = .notFound(error.description)
        case .tooMany, .isDefault, .overLimit, .pinned, .layoutNeedsVersion:
            self.init(status: 409, detail: error.description)
        case .notAllowed:
            self.init(
                status: 403, detail: error.description,
                fields: [.wwwAuthenticate: Problem.challenge("insufficient_scope", "scope=\"\(Scope.admin)\"")])
        case .busy: self.init(status: 503, detail: error.description)
        case .conditionFailed: self = .preconditionFailed
        case .stopping: self = .stopping
        case .cache(let error): self.init(error)
        case .registry, .registryRefused: self.init(status: 500, detail: error.description)
        }
    }

    init(_ refusal: EventHub.Refusal) {
        switch refusal {
        case .full:
            self.init(status: 503, detail: "the limit of event listeners is reached (--max-listeners); retry later")
        case .crowded:
            self.init(
                status: 503,
                detail: "your address has reached its limit of event listeners (--max-listeners-per-client); close some"
            )
        case .stopping: self = .stopping
        }
    }

    static let noSpace = Problem(
        status: 507,
        detail:
            "no room: the disk is full, or --disk-limit, --disk-reserve or the namespace's diskLimit is reached and "
            + "the entries are pinned or in use; remove or unpin entries, or raise the limit"
    )

    static let stopping = Problem(
        status: 503, detail: "the server is stopping; retry, or ask another server")

    private static func curlCode(_ code: Int32) -> [JSON.Member] {
        code == 0 ? [] : [.init("curlCode", .number(code))]
    }
}
