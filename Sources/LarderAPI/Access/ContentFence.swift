import HTTPTypes
import MicroHTTPD

/// Keeps the content of other origins, which browsers get under this server's own name, apart from this server's pages.
///
/// Every answer has the same ``fields``, whatever the request is for and whatever its status is. A browser obeys a
/// sandbox only in pages and workers, so images and scripts are not harmed by it, and a cache on the way cannot give a
/// page the copy that was made for an image. The origin's own policies stay beside it, and all of them hold.
///
/// A worker has the origin of its script's URL, which is this server's, and the sandbox does not take it away in every
/// browser. So requests for the script of a worker are refused, and `Vary` names the fields that decide about it.
enum ContentFence {
    /// The fields that every answer has: no scripts, no forms, no origin of its own, nothing to load; and the type is
    /// the one that is stated (https://fetch.spec.whatwg.org/#x-content-type-options-header).
    static let fields: [HTTPField] = [
        HTTPField(name: .xContentTypeOptions, value: "nosniff"),
        HTTPField(name: .contentSecurityPolicy, value: "sandbox; default-src 'none'"),
    ]

    /// The fields in which a browser says that a worker would run the answer.
    static let selectingNames = ["Sec-Fetch-Dest", "Service-Worker"]

    /// Throws 403 when a browser says that a worker would run the answer to the request: in `Sec-Fetch-Dest`
    /// (https://www.w3.org/TR/fetch-metadata/), or in `Service-Worker`, which only the script of a service worker is
    /// asked for with (https://www.w3.org/TR/service-workers/#service-worker-script-request).
    static func check(_ request: Request) throws(Problem) {
        var isForWorker = false
        request.forEachFieldLine { if RequestField.isForWorker($0) { isForWorker = true } }
        guard isForWorker else { return }
        throw Problem(
            status: 403,
            detail: "a worker would run in this server's name, not its origin's; ask the origin for its script")
    }

    /// The fields of an origin's answer without those by which a browser would change what it keeps about this server's
    /// whole host: its storage, service workers, TLS, other addresses, reports, logins, hints and dictionaries; and
    /// without those that only this server may say: which pages may read its answers, and its own.
    static func stripped(_ fields: HTTPFields) -> HTTPFields {
        // Most answers have none of them.
        guard fields.contains(where: { isAboutHost($0.name) }) else { return fields }
        return HTTPFields(fields.filter { !isAboutHost($0.name) })
    }

    private static func isAboutHost(_ name: HTTPField.Name) -> Bool {
        let name = name.canonicalName
        // The length and the first letter alone rule most names out, which costs less than to hash and to compare them.
        let length = name.utf8.count
        if length < 64, lengths & 1 << length != 0, aboutHost.contains(name) { return true }
        switch name.utf8.first {
        case UInt8(ascii: "a"), UInt8(ascii: "l"), UInt8(ascii: "s"): return prefixes.contains { name.hasPrefix($0) }
        default: return false
        }
    }

    /// Families of fields.
    private static let prefixes = [
        // Which pages may read an answer of this server (``CrossOrigin``), and this server's own fields.
        "access-control-", "larder-",
        // Sessions that are bound to the device, and what a browser reports about clicks.
        "secure-session-", "sec-session-", "attribution-reporting-",
    ]

    /// A bit for each length that one of ``aboutHost`` has.
    private static let lengths = aboutHost.reduce(0 as UInt64) { $0 | 1 << $1.utf8.count }

    private static let aboutHost: Set<String> = [
        // What the browser has stored for the host, and who may serve its pages.
        "clear-site-data", "service-worker-allowed", "origin-agent-cluster",
        // TLS and the addresses at which the host is found.
        "strict-transport-security", "public-key-pins", "public-key-pins-report-only", "expect-ct", "alt-svc",
        "alternate-protocol",
        // Where reports about the host's pages go.
        "nel", "report-to", "reporting-endpoints",
        // Whether the user is logged in there.
        "set-login", "idp-signin-status",
        // What a page of another site that embeds the host may share with it.
        "activate-storage-access", "shared-storage-write", "observe-browsing-topics",
        // What the browser says of itself in each later request to the host.
        "accept-ch", "accept-ch-lifetime", "critical-ch",
        // Compression dictionaries for other paths of the host (RFC 9842), and pages of it to load ahead.
        "use-as-dictionary", "speculation-rules",
        // Replaced by the one of ``fields``.
        "x-content-type-options",
    ]
}
