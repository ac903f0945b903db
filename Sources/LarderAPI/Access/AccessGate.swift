import Glibc
import HTTPTypes
import Larder
import MicroHTTPD

/// Decides which requests are permitted, before any work is done, and before an answer could reveal whether an entry
/// exists. Without tokens, every request is permitted, unless a web page of another site sends it (``WebGuard``).
final class AccessGate: Sendable {
    struct Visitor: Sendable {
        /// `nil` if the server asks for no tokens.
        let bearer: Bearer?
        /// The origin of the web page that sent the request, if the page may read the answer.
        let origin: String?
        /// Whether the configuration permits requests from web pages of some origins.
        var mayBePages = false

        func has(_ scope: Scope) -> Bool { bearer?.token.scopes.contains(scope) ?? true }

        func check(_ scope: Scope) throws(Problem) {
            guard !has(scope) else { return }
            throw Problem(
                403, "the token lacks the scope \(scope); use a token that has it",
                fields: [.wwwAuthenticate: Problem.challenge("insufficient_scope", "scope=\"\(scope)\"")])
        }

        /// A download that pins or unpins needs the scope `write`, because a pinned entry stays until it is unpinned.
        func check(_ request: DownloadRequest) throws(Problem) {
            if request.pinned != nil { try check(.write) }
        }

        var authority: NamespaceAuthority {
            guard let token = bearer?.token else { return .operator }
            guard token.scopes.contains(.admin) else { return .purger }
            return token.isFor(namespace: NamespaceName.default) ? .operator : .owner
        }

        /// Throws 403 if the token does not cover the namespace, whether or not the namespace exists.
        func check(namespace: String) throws(Problem) {
            guard let bearer, !bearer.token.isFor(namespace: namespace) else { return }
            throw Problem(403, "the token does not cover this namespace; use a token that names it")
        }
    }

    private let tokens: TokenStore?
    private let web: WebGuard

    init(tokens: TokenStore?, web: WebGuard) {
        self.tokens = tokens
        self.web = web
    }

    static func isFetch(_ target: UnsafeRawBufferPointer) -> Bool {
        guard target.count >= 6, memcmp(target.baseAddress!, "/fetch", 6) == 0 else { return false }
        return target.count == 6 || target[6] == UInt8(ascii: "/") || target[6] == UInt8(ascii: "?")
    }

    /// Whether the target is below `/pages/:key/view/`, where the ticket in the path admits a request.
    static func hasTicket(_ target: UnsafeRawBufferPointer) -> Bool {
        let (pages, view) = ("/pages/".utf8, "/view/".utf8)
        guard target.starts(with: pages), let end = target.dropFirst(pages.count).firstIndex(of: UInt8(ascii: "/"))
        else { return false }
        return target[end...].starts(with: view)
    }

    private static let larderAuthorization = HTTPField.Name("Larder-Authorization")!

    /// Returns the token's field and its lines. Under `/fetch` this is `Larder-Authorization`; `Authorization` and
    /// `Proxy-Authorization` belong to the origin there, unless they contain a Larder token.
    private static func credentials(_ request: Request) -> (name: HTTPField.Name, lines: [String]) {
        let name = request.withTarget(isFetch) ? larderAuthorization : .authorization
        let lines = request.values(name)
        guard lines.isEmpty, name != .authorization else { return (name, lines) }
        for other in [HTTPField.Name.authorization, .proxyAuthorization] {
            let lines = request.values(other)
            if lines.contains(where: { TokenCredentials.wellFormedToken(in: $0) != nil }) { return (other, lines) }
        }
        return (name, [])
    }

    /// Throws 400 if the target contains a token, because servers log targets, and gateways pass them on to origins.
    static func checkTarget(of request: Request) throws(Problem) {
        guard TokenCredentials.areIn(request.target) else { return }
        throw .invalid(
            "the URL contains a token, and URLs are logged and passed on; send Authorization: Bearer …, or the token "
                + "as the password of Basic")
    }

    var allowsPages: Bool { !web.origins.isEmpty }

    /// The origin of the web page that sent the request; `nil` without a page, or if the page may not read the answer.
    func origin(of request: Request) -> String? {
        web.origins.isEmpty ? nil : request.field("Origin").flatMap { web.allows(origin: $0) ? $0 : nil }
    }

    /// Admits a request, or throws the reason for its refusal. The request counts towards its token's rate, regardless
    /// of its outcome. `scope` is `nil` if the request leads to no route.
    func admit(_ request: Request, scope: Scope?) throws(Problem) -> Visitor {
        let origin = origin(of: request)
        guard let tokens else {
            if let problem = web.refusal(of: request, isReading: scope == .read) { throw problem }
            return Visitor(bearer: nil, origin: origin, mayBePages: allowsPages)
        }
        let (field, values) = Self.credentials(request)
        guard let value = values.first else {
            throw Self.unauthorized(
                "the request has no token; send \(field): Bearer …, or the token as the password of Basic; \"larder "
                    + "token create\" makes one",
                nil, request)
        }
        guard values.count == 1, let token = TokenCredentials.token(in: value),
            let bearer = token.withUnsafeBytes({ tokens.bearer(of: $0) })
        else { throw Self.unauthorized("invalid token in \(field)", "invalid_token", request) }
        if let wait = bearer.ask() {
            throw Problem(
                429,
                "the token's rate limit of \(bearer.token.rate ?? 0) requests a second is used up; retry as "
                    + "Retry-After says",
                fields: [.retryAfter: "\(max(1, Int(wait.inSeconds.rounded(.up))))"])
        }
        return Visitor(bearer: bearer, origin: origin, mayBePages: allowsPages)
    }

    /// Whether the visitor's token is still valid. A token can be revoked while an event stream lasts.
    func stillAdmits(_ visitor: Visitor) -> Bool {
        guard let tokens, let bearer = visitor.bearer else { return true }
        return tokens.knows(bearer)
    }

    /// The value of `Vary` for an answer to a GET: the fields that choose the namespace, by name or by token, and for a
    /// fenced answer also the fields that reveal a worker (``ContentFence``).
    func vary(in space: NamespaceSource, isFenced: Bool) -> String? {
        var names: [String] = []
        switch space {
        case .named: names = tokens == nil ? ["Larder-Namespace"] : ["Larder-Namespace", "Authorization"]
        case .prefixed:
            names = tokens == nil ? [] : ["Larder-Authorization", "Authorization", "Proxy-Authorization"]
        case .server, .inPath, .inQuery, .ticket: break
        }
        if isFenced { names += ContentFence.selectingNames }
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }

    struct Pass {
        let token: AccessToken?
    }

    /// Admits a request; `nil` if ``admit(_:scope:)`` must decide, as for a token with a rate. The caller checks the
    /// namespace. `credentials` is the only line of its field. `host` alone names the host, because a target in
    /// absolute form has no ready answer.
    func pass(
        _ credentials: UnsafeRawBufferPointer?, host: UnsafeRawBufferPointer?, target: UnsafeRawBufferPointer,
        isFetch: Bool
    ) -> Pass? {
        // Below a ticket, the only ready answers are those of targets with the same ticket.
        guard let tokens else {
            if web.hosts != nil, host.map(web.isMeant(by:)) != true, !Self.hasTicket(target) { return nil }
            return Pass(token: nil)
        }
        guard let token = credentials.flatMap(Self.token(in:)).flatMap(tokens.bearer(of:))?.token, token.rate == nil,
            token.scopes.contains(isFetch ? .download : .read)
        else { return Self.hasTicket(target) ? Pass(token: nil) : nil }
        return Pass(token: token)
    }

    /// Returns the token in a value with the scheme Bearer, in upper or lower case (RFC 6750 §2.1).
    private static func token(in value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard value.count > 7, value[6] == UInt8(ascii: " "),
            UnsafeRawBufferPointer(rebasing: value[..<6]).elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 })
        else { return nil }
        return UnsafeRawBufferPointer(rebasing: value[6...].drop { $0 == UInt8(ascii: " ") })
    }

    /// Returns a 401 with a challenge for each scheme that can carry a token, Bearer and Basic (RFC 9110 §11.6.1).
    private static func unauthorized(_ detail: String, _ error: String?, _ request: Request) -> Problem {
        var fields: HTTPFields = [.wwwAuthenticate: Problem.challenge(error)]
        // A browser would show a log-in dialog for a script's request, although the script's page asks the user.
        if request.field("Sec-Fetch-Dest") != "empty" {
            fields.append(HTTPField(name: .wwwAuthenticate, value: "Basic realm=\"larder\", charset=\"UTF-8\""))
        }
        return Problem(401, detail, fields: fields)
    }
}

/// Recognizes the fields of a GET that affect its answer.
enum RequestField {
    /// Whether the field may require a different answer, or a check that a ready answer skips. Callers check
    /// ``isCredentials(_:isFetch:)`` first, because this method takes `authorization` for an origin's credentials.
    static func changesAnswer(_ field: RawField) -> Bool {
        // The length excludes nearly all other fields before a byte is compared.
        let isStandard =
            switch field.name.count {
            case 5: field.isNamed("range")
            case 6: field.isNamed("pragma") || field.isNamed("expect") || field.isNamed("origin")
            case 8: field.isNamed("if-match") || field.isNamed("if-range")
            // `Connection` may name other fields, which must not be forwarded then (RFC 9110 §7.6.1).
            case 10: field.isNamed("connection") && !field.says("keep-alive") && !field.says("close")
            case 13: field.isNamed("if-none-match") || field.isNamed("cache-control") || field.isNamed("authorization")
            case 14:
                isForWorker(field)
                    || (field.isNamed("sec-fetch-site") && !field.says("none") && !field.says("same-origin"))
            case 17: field.isNamed("if-modified-since")
            case 19: field.isNamed("if-unmodified-since")
            default: false
            }
        return isStandard || field.hasPrefix("larder-")
    }

    /// Whether the request has no body and no field that changes the answer, apart from its credentials and namespace.
    static func isPlain(_ request: Request) -> Bool {
        var isPlain = request.declaredLength == nil
        request.forEachFieldLine { field in
            if !isCredentials(field, isFetch: false), !isNamespace(field), changesAnswer(field) { isPlain = false }
        }
        return isPlain
    }

    /// Whether the field tells of which page a browser requests a resource. A replay has an origin of its own, so each
    /// of its requests comes from another site. Below a ticket, the answer does not depend on it.
    static func isOfPage(_ field: RawField) -> Bool {
        field.isNamed("origin") || field.isNamed("sec-fetch-site")
    }

    /// Whether the field is `Larder-TTL`. Each value of this field has ready answers of its own.
    static func isTTL(_ field: RawField) -> Bool {
        field.name.count == 10 && field.isNamed("larder-ttl")
    }

    /// Whether a browser would run the answer as a worker of this server's own origin (``ContentFence``).
    static func isForWorker(_ field: RawField) -> Bool {
        guard field.name.count == 14 else { return false }
        return field.isNamed("sec-fetch-dest")
            ? field.says("worker") || field.says("sharedworker") || field.says("serviceworker")
            : field.isNamed("service-worker")
    }

    static func isNamespace(_ field: RawField) -> Bool {
        field.name.count == 16 && field.isNamed("larder-namespace")
    }

    /// Under `/fetch` the token is in `Larder-Authorization`, because `Authorization` is for the origin.
    static func isCredentials(_ field: RawField, isFetch: Bool) -> Bool {
        isFetch
            ? field.name.count == 20 && field.isNamed("larder-authorization")
            : field.name.count == 13 && field.isNamed("authorization")
    }

    static func isHost(_ field: RawField) -> Bool {
        field.name.count == 4 && field.isNamed("host")
    }
}
