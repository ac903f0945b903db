import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// Prevents web pages of other sites from using a server that asks for no token. Their requests come from the user's
/// own browser, which may reach servers that the page's site cannot reach.
/// A browser states the origin of a page in `Origin` and `Sec-Fetch-Site`, which scripts cannot set. A page under a
/// host name that resolves to this server (DNS rebinding) looks like the server's own page, except for its `Host`.
struct WebGuard: Sendable {
    /// The server's names in lower case, in addition to `localhost` and IP addresses; `nil` for any name.
    let hosts: Set<String>?
    /// The origins of pages that may send requests, such as `https://app.example`; `*` for all.
    let origins: Set<String>

    /// Whether a `Host` value, with or without a port, means this server.
    func isMeant(by host: UnsafeRawBufferPointer) -> Bool {
        guard hosts != nil else { return true }
        var length = 0
        var (isAddress, hasDigit) = (true, false)
        // The parser is written by hand because each hit runs it.
        while length < host.count, host[length] != UInt8(ascii: ":") {
            let byte = host[length]
            // No name server can redirect an IP address, so any address is accepted.
            if byte == UInt8(ascii: "["), length == 0 { return host.isBracketed }
            let isDigit = byte >= 0x30 && byte <= 0x39
            hasDigit = hasDigit || isDigit
            if !isDigit, byte != UInt8(ascii: ".") { isAddress = false }
            length += 1
        }
        if length == 0 || isAddress { return hasDigit }
        let name = UnsafeRawBufferPointer(rebasing: host[..<length])
        let text = RawField(name: name, value: name)
        return text.isNamed("localhost") || hosts?.contains { text.isNamed(Array($0.utf8)) } ?? true
    }

    func allows(origin: String) -> Bool {
        origins.contains("*") || origins.contains(origin)
    }

    /// `nil` if the request is permitted. A link on another page may lead to a request that only reads cached data.
    func refusal(of request: Request, isReading: Bool) -> Problem? {
        // A request without `Host` does not come from a browser.
        var host = request.host ?? "localhost"
        if !host.withUTF8({ isMeant(by: UnsafeRawBufferPointer($0)) }) {
            return Problem(
                421, "the Host \"\(host)\" is not allowed; start the server with --allow-host NAME to allow it")
        }
        if let origin = request.field("Origin") {
            if allows(origin: origin) { return nil }
            let isOwn = origin == "http://\(host)" || origin == "https://\(host)"
            if isOwn, !isElsewhere(request) { return nil }
            return Problem(
                403,
                "web pages of \(origin) are not allowed; start the server with --cors-origin \(origin), or use "
                    + "tokens")
        }
        guard isElsewhere(request) else { return nil }
        let isLink = request.field("Sec-Fetch-Mode") == "navigate" && request.field("Sec-Fetch-Dest") == "document"
        if isReading, isLink { return nil }
        return Problem(403, "requests by web pages of other sites are not allowed; open the address itself")
    }

    /// Whether a browser states that the request comes from a page of another site, or of another port of this machine.
    private func isElsewhere(_ request: Request) -> Bool {
        guard let site = request.field("Sec-Fetch-Site")?.lowercased() else { return false }
        return site != "none" && site != "same-origin"
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var isBracketed: Bool {
        let address = dropFirst().prefix { $0 != UInt8(ascii: "]") }
        return !address.isEmpty && address.count + 1 < count
            && address.allSatisfy { $0.hexDigitValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
    }
}

/// The fields for web pages of permitted origins (https://fetch.spec.whatwg.org/#http-cors-protocol).
enum CrossOrigin {
    /// Answers a preflight, which asks whether a page may send a request. `nil` if the request is no preflight.
    static func preflight(_ request: Request, origin: String) -> Response? {
        guard request.method == "OPTIONS", let method = request.field("Access-Control-Request-Method") else {
            return nil
        }
        var fields = HTTPFields()
        fields[.accessControlAllowMethods] = method
        if let names = request.field("Access-Control-Request-Headers") { fields[.accessControlAllowHeaders] = names }
        fields[.accessControlMaxAge] = "600"
        return allowing(origin, Response(status: 204, fields: fields))
    }

    static func allowing(_ origin: String, _ response: Response) -> Response {
        response.adding([
            HTTPField(name: .accessControlAllowOrigin, value: origin),
            HTTPField(name: .accessControlExposeHeaders, value: "*"),
            // The answer names a single origin, so it is not valid for other origins.
            HTTPField(name: .vary, value: "Origin"),
        ])
    }
}

extension Response {
    func adding(_ added: [HTTPField]) -> Response {
        guard !added.isEmpty else { return self }
        var fields = fields
        fields.append(contentsOf: added)
        return Response(status: status, fields: fields, body: body)
    }
}
