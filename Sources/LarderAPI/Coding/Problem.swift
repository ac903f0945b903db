import HTTPCaching
import HTTPTypes
import Larder
import Primitives

/// RFC 9457. The status alone defines the kind of problem (`about:blank`). The other members describe this occurrence.
struct Problem: Error, Sendable {
    var status: Int
    /// The cause of this problem, and the way to solve it.
    var detail: String
    /// A JSON Pointer (RFC 6901) into the body, or `/` and the name of a query or path parameter.
    var pointer: String?
    /// The members that only some problems have: `originStatus`, `retryAfter`, `curlCode` and `limit`.
    var extensions: [JSON.Member]
    var fields: HTTPFields
    /// Whether a limit of the caller's namespace refuses the request. The server itself works, also if the status is
    /// 507.
    var isLimit = false

    /// The detail, if the server itself has failed; otherwise `nil`.
    var failure: String? { (status == 500 || status == 507) && !isLimit ? detail : nil }

    init(
        _ status: Int, _ detail: String, pointer: String? = nil, extensions: [JSON.Member] = [],
        fields: HTTPFields = [:]
    ) {
        (self.status, self.detail, self.pointer) = (status, detail, pointer)
        (self.extensions, self.fields) = (extensions, fields)
    }

    var json: JSON {
        var members: [JSON.Member] = [
            .init("type", "about:blank"),
            .init("title", .string(Self.titles[status] ?? "Error")),
            .init("status", .number(status)),
            .init("detail", .string(shownDetail)),
        ]
        if let pointer { members.append(.init("pointer", .string(pointer))) }
        return .object(members + extensions)
    }

    /// The numbers of Unicode scalars that a long ``detail`` shows. It may quote long text of the request.
    private static let shownLimits = (beginning: 1000, end: 500)

    private var shownDetail: String {
        let scalars = detail.unicodeScalars
        guard scalars.count > Self.shownLimits.beginning + Self.shownLimits.end else { return detail }
        return String(scalars.prefix(Self.shownLimits.beginning)) + " … "
            + String(scalars.suffix(Self.shownLimits.end))
    }

    private static let titles = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
        421: "Misdirected Request", 422: "Unprocessable Content", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented",
        502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", 507: "Insufficient Storage",
    ]

    static func invalid(_ detail: String, pointer: String? = nil) -> Problem {
        Problem(400, detail, pointer: pointer)
    }

    static func notFound(_ detail: String) -> Problem {
        Problem(404, detail)
    }

    static func unsupportedMediaType(_ given: String?, expected: String) -> Problem {
        Problem(
            415,
            (given.map { "the Content-Type \"\($0)\" is not accepted" } ?? "the Content-Type is missing")
                + "; send the body as \(expected)")
    }

    /// The refusal of a request that would exceed a limit of the caller's namespace.
    static func overLimit(_ detail: String, extensions: [JSON.Member] = []) -> Problem {
        var problem = Problem(507, detail, extensions: extensions)
        problem.isLimit = true
        return problem
    }

    static func tooLarge(limit: Int) -> Problem {
        Problem(413, "the body is longer than \(limit) bytes", extensions: [.init("limit", .number(limit))])
    }
}

extension Problem {
    /// RFC 6750 §3.
    static func challenge(_ error: String?, _ more: String? = nil) -> String {
        (["Bearer realm=\"Larder\"", error.map { "error=\"\($0)\"" }, more] as [String?])
            .compactMap { $0 }.joined(separator: ", ")
    }

    init(_ error: DownloadError) {
        switch error {
        case .schemeRefused, .addressRefused:
            self.init(403, error.description, pointer: "/url")
        case .originStatus(let status, let retryAfter):
            // `Retry-After` of an origin reaches the caller, together with the origin's own status (429 or 503).
            self.init(
                retryAfter == nil ? 502 : status, error.description,
                extensions: [.init("originStatus", .number(status))]
                    + (retryAfter.map { [.init("retryAfter", .number($0))] } ?? []),
                fields: retryAfter.map { [.retryAfter: String($0)] } ?? [:])
        case .hostPaused(_, _, let retryAfter):
            self.init(
                503, error.description, extensions: [.init("retryAfter", .number(retryAfter))],
                fields: [.retryAfter: String(retryAfter)])
        case .transferFailed(let code, _):
            self.init(502, error.description, extensions: Self.curlCode(code))
        case .tooLarge(let code, let limit):
            self.init(502, error.description, extensions: Self.curlCode(code) + [.init("limit", .number(limit))])
        case .timedOut(let code, _):
            self.init(504, error.description, extensions: Self.curlCode(code))
        case .connectionAuthentication, .cancelled:
            self.init(502, error.description)
        case .noSpace: self = .noSpace
        case .storage: self.init(500, error.description)
        case .tooManyTags: self = .invalid(error.description, pointer: "/tags")
        case .busy: self.init(503, error.description)
        case .keyInUse: self.init(503, error.description, pointer: "/url")
        case .stopping: self = .stopping
        }
    }

    init(_ error: GatewayError) {
        switch error.cause {
        case .notCached:
            self.init(504, "only-if-cached: the cache has no response that this request accepts (RFC 9111 §5.2.1.7)")
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
            self.init(422, error.description)
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
            self.init(500, error.description)
        }
    }

    static func mapping<Value>(_ work: @autoclosure () throws(CacheError) -> Value) throws(Problem) -> Value {
        try mapping(try work()) { (error: CacheError) in Problem(error) }
    }

    static func mapping<Value, Failure: Error>(
        _ work: @autoclosure () throws(Failure) -> Value, _ problem: (Failure) -> Problem
    ) throws(Problem) -> Value {
        do {
            return try work()
        } catch {
            throw problem(error)
        }
    }

    init(_ error: NamespaceError) {
        switch error {
        case .invalidName: self = .invalid(error.description, pointer: "/name")
        case .unknown: self = .notFound(error.description)
        case .tooMany, .isDefault, .overLimit, .pinned, .layoutNeedsVersion:
            self.init(409, error.description)
        case .notAllowed:
            self.init(
                403, error.description,
                fields: [.wwwAuthenticate: Problem.challenge("insufficient_scope", "scope=\"\(Scope.admin)\"")])
        case .busy: self.init(503, error.description)
        case .conditionFailed: self = .preconditionFailed
        case .stopping: self = .stopping
        case .cache(let error): self.init(error)
        case .registry, .newerRegistry, .unreadableRegistry: self.init(500, error.description)
        }
    }

    init(_ refusal: EventHub.Refusal) {
        switch refusal {
        case .full:
            self.init(503, "the limit of event listeners is reached (--max-listeners); retry later")
        case .crowded:
            self.init(
                503, "your address has reached its limit of event listeners (--max-listeners-per-client); close some"
            )
        case .stopping: self = .stopping
        }
    }

    static let noSpace = Problem(
        507,
        "no room: the disk is full, or --disk-limit, --disk-reserve or the namespace's diskLimit is reached and "
            + "the entries are pinned or in use; remove or unpin entries, or raise the limit")

    static let stopping = Problem(503, "the server is stopping; retry, or ask another server")

    /// RFC 9110 §15.5.13.
    static let preconditionFailed = Problem(
        412, "If-Match, If-None-Match or If-Unmodified-Since does not match the stored entry, which is unchanged")

    private static func curlCode(_ code: Int32) -> [JSON.Member] {
        code == 0 ? [] : [.init("curlCode", .number(code))]
    }
}
