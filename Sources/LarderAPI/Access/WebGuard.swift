import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// Prevents web pages of other sites from using a server that asks for no token. Such a page sends requests by the
/// user's own browser, which may reach servers that the page's site cannot reach. A browser states the origin of a page
/// in `Origin` and `Sec-Fetch-Site`, which scripts cannot set. A page under a host name that resolves to this server
/// (DNS rebinding) looks like the server's own page, except for its `Host`.
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

    /// `nil` if the request is permitted. If it only reads cached data, it may come from a link on any page.
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
            // The answer permits a single origin, so a cache must not serve it to pages of other origins.
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

/// Isolates content of other origins, which browsers receive under this server's name, from this server's own pages.
///
/// All answers have the same ``fields``, because a browser's cache may use the answer for an image again as a page.
/// Browsers apply the sandbox only to pages and workers. The origin's own policies apply, too.
///
/// A worker runs with the origin of its script's URL, which is this server's origin, in some browsers even despite the
/// sandbox. Requests for a worker's script are therefore refused, and `Vary` names the fields that reveal the worker.
enum ContentFence {
    /// The fields forbid scripts and forms, withhold the server's origin, block all loading, and make browsers obey the
    /// stated type (https://fetch.spec.whatwg.org/#x-content-type-options-header).
    static let fields: [HTTPField] = [
        HTTPField(name: .xContentTypeOptions, value: "nosniff"),
        HTTPField(name: .contentSecurityPolicy, value: "sandbox; default-src 'none'"),
    ]

    /// The request fields in which a browser states that a worker would run the answer.
    static let selectingNames = ["Sec-Fetch-Dest", "Service-Worker"]

    /// Throws 403 if a worker would run the answer, by `Sec-Fetch-Dest` (https://www.w3.org/TR/fetch-metadata/) or
    /// `Service-Worker` (https://www.w3.org/TR/service-workers/#service-worker-script-request).
    static func check(_ request: Request) throws(Problem) {
        var isForWorker = false
        request.forEachFieldLine { if RequestField.isForWorker($0) { isForWorker = true } }
        guard isForWorker else { return }
        throw Problem(
            403,
            "worker scripts are not served, because they would run as part of this server's origin; load the "
                + "script from its own origin")
    }

    /// Removes an origin's fields that would change a browser's state for this server's whole host, and the fields that
    /// belong to this server alone: the permissions for pages to read its answers, and the `Larder-` fields.
    static func stripped(_ fields: HTTPFields) -> HTTPFields {
        // Most answers have no such field.
        guard fields.contains(where: { isAboutHost($0.name) }) else { return fields }
        return HTTPFields(fields.filter { !isAboutHost($0.name) })
    }

    private static func isAboutHost(_ name: HTTPField.Name) -> Bool {
        let name = name.canonicalName
        // The length and the first letter exclude most names, which is cheaper than hashing and comparing them.
        let length = name.utf8.count
        if length < 64, lengths & 1 << length != 0, aboutHost.contains(name) { return true }
        switch name.utf8.first {
        case UInt8(ascii: "a"), UInt8(ascii: "l"), UInt8(ascii: "s"): return prefixes.contains { name.hasPrefix($0) }
        default: return false
        }
    }

    private static let prefixes = [
        // The permission for pages to read an answer of this server (``CrossOrigin``), and this server's own fields.
        "access-control-", "larder-",
        // Sessions that are bound to the device, and the browser's reports about clicks.
        "secure-session-", "sec-session-", "attribution-reporting-",
    ]

    /// A bit set with the lengths of the names in ``aboutHost``.
    private static let lengths = aboutHost.reduce(0 as UInt64) { $0 | 1 << $1.utf8.count }

    private static let aboutHost: Set<String> = [
        // The browser's storage for the host, and the service workers of its pages.
        "clear-site-data", "service-worker-allowed", "origin-agent-cluster",
        // The rules for TLS with the host, and alternative addresses of the host.
        "strict-transport-security", "public-key-pins", "public-key-pins-report-only", "expect-ct", "alt-svc",
        "alternate-protocol",
        // The receivers of reports about the host's pages.
        "nel", "report-to", "reporting-endpoints",
        // Whether the user is logged in at the host.
        "set-login", "idp-signin-status",
        // The host, embedded in a page of another site, asks for access to storage or for the user's browsing topics.
        "activate-storage-access", "shared-storage-write", "observe-browsing-topics",
        // The host asks the browser to state certain properties in each later request to the host.
        "accept-ch", "accept-ch-lifetime", "critical-ch",
        // Compression dictionaries for other paths of the host (RFC 9842), and pages of the host to load in advance.
        "use-as-dictionary", "speculation-rules",
        // ``fields`` contains its own field of this name.
        "x-content-type-options",
    ]
}
