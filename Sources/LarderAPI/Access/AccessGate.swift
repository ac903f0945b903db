import Glibc
import HTTPTypes
import Larder
import MicroHTTPD

/// Who may: asked about each request before anything is done for it, and before it is said whether there is what it
/// asks for.
///
/// Without tokens everybody may do everything, but web pages of others (``WebGuard``).
final class AccessGate: Sendable {
    /// Whom a request comes from.
    struct Visitor: Sendable {
        /// `nil`: anybody, where no tokens are asked for.
        let bearer: Bearer?
        /// The page's origin, when it may read the answer.
        let origin: String?
        /// Whether there are origins whose pages may ask.
        var mayBePages = false

        /// Throws when the visitor lacks a scope.
        func check(_ scope: Scope) throws(Problem) {
            guard let bearer, !bearer.token.scopes.contains(scope) else { return }
            throw Problem(
                status: 403, detail: "the token lacks the scope \(scope)",
                fields: [.wwwAuthenticate: AccessGate.challenge("insufficient_scope", "scope=\"\(scope)\"")])
        }

        /// Throws when the visitor may not have a download as it asks for it: what is pinned stays until somebody says
        /// otherwise, which is more than to have a URL fetched.
        func check(_ request: DownloadRequest) throws(Problem) {
            if request.pinned != nil { try check(.write) }
        }

        /// What the visitor may do to namespaces that it may use at all.
        var authority: NamespaceAuthority {
            guard let token = bearer?.token else { return .operator }
            guard token.scopes.contains(.admin) else { return .purger }
            return token.isFor(namespace: LarderService.defaultNamespace) ? .operator : .owner
        }

        /// Throws when the visitor may not use a namespace, whether there is one of that name or not.
        func check(namespace: String) throws(Problem) {
            guard let bearer, !bearer.token.isFor(namespace: namespace) else { return }
            throw Problem(status: 403, detail: "the token is not for this namespace")
        }
    }

    private let tokens: TokenStore?
    private let web: WebGuard
    private let checksHost: Bool

    init(tokens: TokenStore?, web: WebGuard) {
        self.tokens = tokens
        self.web = web
        checksHost = web.hosts != nil
    }

    /// The field that a token comes in: what is under `/fetch` has the origin's own `Authorization`.
    static func credentialField(for path: UnsafeRawBufferPointer) -> HTTPField.Name {
        isFetch(path) ? larderAuthorization : .authorization
    }

    /// Whether a target is one of the gateway's.
    static func isFetch(_ target: UnsafeRawBufferPointer) -> Bool {
        guard target.count >= 6, memcmp(target.baseAddress!, "/fetch", 6) == 0 else { return false }
        return target.count == 6 || target[6] == UInt8(ascii: "/") || target[6] == UInt8(ascii: "?")
    }

    private static let larderAuthorization = HTTPField.Name("Larder-Authorization")!

    /// The lines of the field that a request's token comes in. Under `/fetch` `Authorization` is the origin's, unless
    /// there is a token in it; so is `Proxy-Authorization`, which some programs send instead.
    private static func credentials(_ request: Request) -> (name: HTTPField.Name, lines: [String]) {
        let name = request.withTarget(credentialField(for:))
        let lines = request.values(name)
        guard lines.isEmpty, name != .authorization else { return (name, lines) }
        for other in [HTTPField.Name.authorization, .proxyAuthorization] {
            let lines = request.values(other)
            if lines.contains(where: { TokenCredentials.wellFormedToken(in: $0) != nil }) { return (other, lines) }
        }
        return (name, [])
    }

    /// Throws 400 when a token is in the target of a request, because targets are logged by servers on the way, and
    /// passed on to origins.
    static func checkTarget(of request: Request) throws(Problem) {
        guard TokenCredentials.areIn(request.target) else { return }
        throw .invalid(
            "a token does not belong into a URL, which is logged and passed on; send Authorization: Bearer …, or the "
                + "token as the password of Basic")
    }

    // MARK: Requests

    /// Whether there are origins whose pages may ask.
    var allowsPages: Bool { !web.origins.isEmpty }

    /// The origin of the page that asks, when it may; `nil` also when it is no page.
    func origin(of request: Request) -> String? {
        web.origins.isEmpty ? nil : request.field("Origin").flatMap { web.allows(origin: $0) ? $0 : nil }
    }

    /// Lets a request in, or throws why not; it counts within its token's rate, whatever becomes of it.
    ///
    /// - Parameter scope: of what it asks for; `nil`: there is no such thing.
    func admit(_ request: Request, scope: Scope?) throws(Problem) -> Visitor {
        let origin = origin(of: request)
        guard let tokens else {
            if let problem = web.refusal(of: request, isReading: scope == .read) { throw problem }
            return Visitor(bearer: nil, origin: origin, mayBePages: allowsPages)
        }
        let (field, values) = Self.credentials(request)
        guard let value = values.first else {
            throw Self.unauthorized(
                "a token is needed: \(field): Bearer …, or as the password of Basic; \"larder token create\" makes one",
                nil, request)
        }
        guard values.count == 1, let token = TokenCredentials.token(in: value),
            let bearer = token.withUnsafeBytes({ tokens.bearer(of: $0) })
        else { throw Self.unauthorized("invalid token in \(field)", "invalid_token", request) }
        if let wait = bearer.ask() {
            throw Problem(
                status: 429, detail: "the token's rate is \(bearer.token.rate ?? 0) requests a second",
                fields: [.retryAfter: "\(max(1, Int(wait.inSeconds.rounded(.up))))"])
        }
        return Visitor(bearer: bearer, origin: origin, mayBePages: allowsPages)
    }

    /// Whether a visitor that was let in, and stays, is as welcome as it was: tokens may be gone.
    func stillAdmits(_ visitor: Visitor) -> Bool {
        guard let tokens, let bearer = visitor.bearer else { return true }
        return tokens.knows(bearer)
    }

    /// The fields of a request that an answer to a GET depends on, for `Vary`, beside those that an origin names;
    /// `nil`: none.
    ///
    /// They choose the namespace, by name or by the token, and say that a worker would run the answer
    /// (``ContentFence``).
    ///
    /// - Parameter isFenced: whether the answer may have content of another origin.
    func vary(in space: Route.Space, isFenced: Bool) -> String? {
        var names: [String] = []
        switch space {
        case .named: names = tokens == nil ? ["Larder-Namespace"] : ["Larder-Namespace", "Authorization"]
        case .prefixed:
            names = tokens == nil ? [] : ["Larder-Authorization", "Authorization", "Proxy-Authorization"]
        case .server, .inPath, .inQuery: break
        }
        if isFenced { names += ContentFence.selectingNames }
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }

    // MARK: Answers at hand

    /// Who may have the answers that are at hand.
    struct Pass {
        /// `nil`: anybody, where no tokens are asked for.
        let token: AccessToken?
    }

    /// Whether a GET gets the answer that is at hand for its target; `nil` when not. Then ``admit(_:scope:)`` says why,
    /// or lets it in all the same: a rate is counted there alone. The namespace is still to be looked at.
    ///
    /// - Parameters:
    ///   - credentials: what the one line of the field said that tokens come in; `nil`: there is none.
    ///   - host: what `Host` said; `nil`: there is none. It counts, for a target in absolute form is never at hand.
    func pass(_ credentials: UnsafeRawBufferPointer?, host: UnsafeRawBufferPointer?, isFetch: Bool) -> Pass? {
        guard let tokens else {
            guard checksHost else { return Pass(token: nil) }
            guard let host, web.isMeant(by: host) else { return nil }
            return Pass(token: nil)
        }
        guard let token = credentials.flatMap(Self.token(in:)).flatMap(tokens.bearer(of:))?.token, token.rate == nil,
            token.scopes.contains(isFetch ? .download : .read)
        else { return nil }
        return Pass(token: token)
    }

    // MARK: Words

    /// RFC 6750 §2.1; the scheme's name in any case.
    private static func token(in value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard value.count > 7, value[6] == UInt8(ascii: " "),
            UnsafeRawBufferPointer(rebasing: value[..<6]).elementsEqual("bearer".utf8, by: { $0 | 0x20 == $1 })
        else { return nil }
        return UnsafeRawBufferPointer(rebasing: value[6...].drop { $0 == UInt8(ascii: " ") })
    }

    /// Asks for a token, in both ways in which one can be sent (RFC 9110 §11.6.1).
    private static func unauthorized(_ detail: String, _ error: String?, _ request: Request) -> Problem {
        var fields: HTTPFields = [.wwwAuthenticate: challenge(error)]
        // For a script of a page a browser would ask its user, over the page, though the page asks itself.
        if request.field("Sec-Fetch-Dest") != "empty" {
            fields.append(HTTPField(name: .wwwAuthenticate, value: "Basic realm=\"larder\", charset=\"UTF-8\""))
        }
        return Problem(status: 401, detail: detail, fields: fields)
    }

    /// RFC 6750 §3.
    static func challenge(_ error: String?, _ more: String? = nil) -> String {
        (["Bearer realm=\"Larder\"", error.map { "error=\"\($0)\"" }, more] as [String?])
            .compactMap { $0 }.joined(separator: ", ")
    }
}
