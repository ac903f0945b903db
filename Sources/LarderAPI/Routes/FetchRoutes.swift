import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// `/fetch`: the gateway in front of any URL.
struct FetchRoutes: Sendable {
    let ready: ReadyAnswers

    private static let prefix = "/fetch/"

    var routes: [Route] {
        [
            Route(
                "GET", "/fetch", .download, Endpoint(operation: "fetch", begin: fetchQuery), in: .prefixed,
                isFenced: true),
            Route(
                Router<Never>.anyMethod, "/fetch/*", .download, Endpoint(operation: "fetchPath", begin: fetchPath),
                in: .prefixed, isFenced: true),
        ]
    }

    /// The URL is the rest of the target, byte for byte. The options are in `Larder-` fields.
    private func fetchPath(_ head: Endpoint.Head) throws(Problem) -> Endpoint.Plan {
        let target = head.request.withTarget { String(escapingNonASCII: $0.dropFirst(Self.prefix.utf8.count)) }
        let fields = head.request.fields
        var request = try gatewayRequest(head, fields, url: target, pointer: nil)
        if let text = try Self.single(Self.ttl, fields) {
            guard let ttl = TTL(text) else { throw .invalidTTL(text, pointer: "/Larder-TTL") }
            request.ttl = ttl.duration
        }
        if let text = try Self.single(Self.updateExpiry, fields) {
            guard ["true", "false"].contains(text) else {
                throw .invalid(
                    "Larder-Update-Expiry must be true or false, not \"\(text)\"", pointer: "/Larder-Update-Expiry")
            }
            request.updatesExpiry = text == "true"
        }
        let lines = fields[values: Self.tags]
        if !lines.isEmpty {
            // RFC 9110 §5.3: several lines form one list.
            let tags = lines.joined(separator: ",").utf8.split(separator: UInt8(ascii: ",")).map {
                String(Substring($0).trimmingSpace())
            }
            // RFC 9110 §5.6.1.2: an empty member does not count, even if it contains spaces.
            request.tags = try Tags.check(tags.filter { !$0.isEmpty }, pointer: "/Larder-Tags")
        }
        return plan(request, head)
    }

    private static func single(_ name: HTTPField.Name, _ fields: HTTPFields) throws(Problem) -> String? {
        let values = fields[values: name]
        guard values.count < 2 else { throw .invalid("\(name) is given twice; give it once", pointer: "/\(name)") }
        return values.first
    }

    private static let ttl = HTTPField.Name("Larder-TTL")!
    private static let tags = HTTPField.Name("Larder-Tags")!
    private static let updateExpiry = HTTPField.Name("Larder-Update-Expiry")!

    private func fetchQuery(_ head: Endpoint.Head) throws(Problem) -> Endpoint.Plan {
        let query = try head.query(["url", "ttl", "updateExpiry", "tags"])
        guard let url = query["url"] else {
            throw .invalid("url is missing; write /fetch?url=… or /fetch/https://…", pointer: "/url")
        }
        var request = try gatewayRequest(head, head.request.fields, url: url, pointer: "/url")
        request.ttl = try query.ttl()
        request.updatesExpiry = try query.bool("updateExpiry") ?? false
        request.tags = try query.tags() ?? []
        return plan(request, head)
    }

    private func gatewayRequest(
        _ head: Endpoint.Head, _ fields: HTTPFields, url: String, pointer: String?
    ) throws(Problem) -> GatewayRequest {
        let exact = try Problem.mapping(try ExactURL(url)) { (error: InvalidURL) in
            .invalidURL(error, pointer: pointer, isInTarget: true)
        }
        guard let method = HTTPRequest.Method(rawValue: head.request.method) else {
            throw .invalid("the method is not a token")
        }
        // RFC 9110 §9.3.6: CONNECT asks for a tunnel, not for a resource.
        guard method != .connect else { throw .invalid("CONNECT is not supported") }
        var fields = Self.forwarded(fields)
        // A client that adds its token to every request would reveal the token to origins.
        if let field = fields.first(where: { TokenCredentials.areIn($0) }) {
            let name = TokenCredentials.areIn(field.value) ? "\(field.name)" : "a field name"
            throw .invalid(
                "\(name) contains a Larder token and goes to the origin; send the token in Larder-Authorization")
        }
        try Self.countHop(&fields, method)
        guard method != .head || !head.request.hasBody else { throw .invalid("a HEAD request must not have a body") }
        var request = GatewayRequest(method: method, url: exact, fields: fields)
        request.version = String(Substring(head.request.version.utf8.drop { $0 != UInt8(ascii: "/") }.dropFirst()))
        return request
    }

    /// Counts down Max-Forwards, which limits the further servers for TRACE and OPTIONS (RFC 9110 §7.6.2).
    private static func countHop(_ fields: inout HTTPFields, _ method: HTTPRequest.Method) throws(Problem) {
        guard method == .trace || method == .options, let name = HTTPField.Name("Max-Forwards"),
            let left = fields[values: name].first.flatMap({ UInt32($0) })
        else { return }
        guard left > 0 else {
            throw Problem(501, "\(method) with Max-Forwards 0 is not passed on, and Larder does not answer it")
        }
        fields[name] = String(left - 1)
    }

    /// Removes the fields of this connection and Larder's own fields, including an `Authorization` with a token.
    private static func forwarded(_ fields: HTTPFields) -> HTTPFields {
        HTTPFields(
            fields.endToEnd().filter { field in
                let name = field.name.canonicalName
                if name == "authorization", TokenCredentials.wellFormedToken(in: field.value) != nil { return false }
                return !["host", "content-length", "expect"].contains(name) && !name.hasPrefix("larder-")
            })
    }

    private func plan(_ request: GatewayRequest, _ head: Endpoint.Head) -> Endpoint.Plan {
        let reply = FetchReply(request: head.request, ready: ready)
        var request = request
        guard head.request.hasBody else {
            if head.request.declaredLength == 0, request.method != .get, request.method != .head {
                // RFC 9110 §8.6: the forwarded request has `Content-Length: 0`, because some servers require the field.
                let upload = GatewayUpload(length: 0)
                upload.finish()
                request.upload = upload
            }
            return Endpoint.Plan(body: .none) { [gateway = head.namespace.gateway, request] call in
                reply.begin(call)
                reply.start(request, gateway)
            }
        }
        let upload = GatewayUpload(length: head.request.declaredLength)
        request.upload = upload
        // The request goes to the origin while its body arrives.
        reply.start(request, head.namespace.gateway)
        return Endpoint.Plan(body: .sink(FetchUpload(upload, reply: reply))) { call in
            upload.finish()
            reply.begin(call)
        }
    }
}
