import HTTPTypes
import MicroHTTPD

/// Isolates content of other origins, which browsers receive under this server's name, from this server's own pages.
///
/// All answers have the same ``fields``. Otherwise a cache could give a page a copy that was made for an image, without
/// a sandbox. Browsers apply the sandbox only to pages and workers. The origin's own policies apply, too.
///
/// A worker runs with the origin of its script's URL, which is this server's origin, in some browsers even despite the
/// sandbox. Requests for a worker's script are therefore refused, and `Vary` names the fields that reveal them.
enum ContentFence {
    /// The fields forbid scripts and forms, withhold the server's origin, block all loading, and make the stated type
    /// binding (https://fetch.spec.whatwg.org/#x-content-type-options-header).
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
        // TLS, and alternative addresses of the host.
        "strict-transport-security", "public-key-pins", "public-key-pins-report-only", "expect-ct", "alt-svc",
        "alternate-protocol",
        // The receivers of reports about the host's pages.
        "nel", "report-to", "reporting-endpoints",
        // Whether the user is logged in at the host.
        "set-login", "idp-signin-status",
        // Data that a page of another site may share with the host that it embeds.
        "activate-storage-access", "shared-storage-write", "observe-browsing-topics",
        // The browser's properties that it sends in each later request to the host.
        "accept-ch", "accept-ch-lifetime", "critical-ch",
        // Compression dictionaries for other paths of the host (RFC 9842), and pages of the host to load in advance.
        "use-as-dictionary", "speculation-rules",
        // ``fields`` contains a field of this name.
        "x-content-type-options",
    ]
}
