import HTTPCaching
import HTTPTypes
import Primitives
import WebArchive

/// The place of a replay: all its URLs begin with it.
package struct ReplayPlace: Hashable, Sendable {
    /// The host and port by which the browser knows the server, as in the field Host.
    package var host: String
    /// Begins and ends with a slash, and has the ticket.
    package var path: String

    package init(host: String, path: String) {
        self.host = host
        self.path = path
    }

    /// The URL under which the replay shows a captured URL.
    func address(of url: WebURL) -> String { path + url.text }

    /// Only for a host with the characters of host names and ports, because it becomes a part of a policy.
    var isValid: Bool {
        !host.isEmpty && host.utf8.count < 300
            && host.utf8.allSatisfy { $0.isAlphanumeric || [0x2d, 0x2e, 0x3a, 0x5b, 0x5d].contains($0) }
    }

    /// Confines a captured document: no scripts, no forms, no plug-ins of others, and no request beyond the replay. The
    /// sandbox gives it an origin of its own, so it cannot use the API with the reader's credentials.
    var policy: String {
        let place = host + path
        return """
            sandbox; default-src 'none'; img-src \(place) data: blob:; style-src \(place) 'unsafe-inline'; \
            font-src \(place) data:; media-src \(place) blob:; frame-src \(place); script-src 'none'; \
            object-src \(place); form-action 'none'; base-uri \(place); frame-ancestors 'self'
            """
    }
}

/// The answer of a replay to a request for a captured URL, without the body's bytes.
struct ReplayAnswer: Sendable {
    enum Body: Sendable {
        case text(String)
        /// The resource with this SHA-256, as it was captured.
        case stored([UInt8])
        /// The resource with this SHA-256, with its URLs rewritten for the place of the replay.
        case rewritten([UInt8], ArchivedDocument.Format)
    }

    var status: Int
    var fields: HTTPFields
    var body: Body
    /// The Content-Type of the captured answer, which has the encoding of the stored body.
    var storedType: String?

    /// The fields of the captured answer that a replay must not repeat: they reach beyond the replay, or describe bytes
    /// that a replay changes.
    private static let dropped: Set<HTTPField.Name> = Set(
        [
            "Set-Cookie", "Link", "Refresh", "Content-Security-Policy", "Content-Security-Policy-Report-Only",
            "Report-To", "Reporting-Endpoints", "NEL", "SourceMap", "X-SourceMap", "Clear-Site-Data",
            "Strict-Transport-Security", "Alt-Svc", "Public-Key-Pins", "X-Frame-Options", "Permissions-Policy",
            "Feature-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Embedder-Policy",
            "Cross-Origin-Resource-Policy", "Origin-Agent-Cluster", "Access-Control-Allow-Origin",
            "Access-Control-Allow-Credentials", "Expect-CT", "Service-Worker-Allowed", "Content-Length", "ETag",
            "Last-Modified", "Cache-Control", "Expires", "Age", "Date", "Vary", "Accept-Ranges", "Content-Range",
            "Accept-CH", "Critical-CH", "Speculation-Rules", "No-Vary-Search", "Timing-Allow-Origin", "Location",
        ].compactMap { HTTPField.Name($0) })

    private init(_ status: Int, _ fields: HTTPFields, _ body: Body) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    /// The answer for `url`; `record` is `nil` if the capture has no such URL.
    static func answer(to url: WebURL, _ record: CaptureRecord?, at place: ReplayPlace) -> ReplayAnswer {
        guard let record, let answer = record.answer else { return missing(url, record?.problem, at: place) }
        if let location = answer.fields[.location], answer.digest == nil {
            guard let target = WebURL(location, relativeTo: url) else { return missing(url, nil, at: place) }
            var fields = confined([:], at: place)
            fields[.location] = place.address(of: target) + target.fragment
            return ReplayAnswer(answer.status, fields, .text(""))
        }
        guard let digest = answer.digest else { return missing(url, record.problem, at: place) }
        var fields = confined(answer.fields.filter { !dropped.contains($0.name) }, at: place)
        let type = answer.fields[.contentType]
        guard let format = format(of: record.kind, type) else {
            fields[.contentType] = harmlessType(type)
            return ReplayAnswer(answer.status, fields, .stored(digest))
        }
        fields[.contentType] = contentType(type, format)
        var replay = ReplayAnswer(answer.status, fields, .rewritten(digest, format))
        replay.storedType = type
        return replay
    }

    /// The format of a body that must be rewritten. Every HTML and XML body must be, for any place in the page: a reader
    /// can open it by itself, and its hints and refreshes would leave the replay.
    private static func format(of kind: Reference.Kind, _ type: String?) -> ArchivedDocument.Format? {
        let format = ArchivedDocument.Format(of: .frame, contentType: type)
        if type?.isEmpty == false, let format { return format }
        if kind == .style { return .css }
        let own = ArchivedDocument.Format(of: kind, contentType: type)
        return own == .html || own == .css ? own : nil
    }

    /// The type of a body that stays as it is. The parts of a multipart body could be HTML, and a body without a type
    /// could be taken for HTML.
    private static func harmlessType(_ type: String?) -> String {
        guard let type, !type.isEmpty, !type.lowercased().trimmingSpace().hasPrefix("multipart/") else {
            return "application/octet-stream"
        }
        return type
    }

    /// A rewritten document is in UTF-8, whatever the origin said.
    private static func contentType(_ type: String?, _ format: ArchivedDocument.Format) -> String {
        let known = (type ?? "").prefix { $0 != ";" }.trimmingSpace()
        let name = format == .css || known.isEmpty ? format.mediaType : String(known)
        return name + "; charset=utf-8"
    }

    private static func missing(_ url: WebURL, _ problem: String?, at place: ReplayPlace) -> ReplayAnswer {
        var fields = confined([:], at: place)
        fields[.contentType] = "text/html; charset=utf-8"
        let reason = problem.map { "The capture lacks it: \($0)." } ?? "The page was captured without it."
        let address = Self.escaped(url.text)
        let text = """
            <!doctype html><meta charset=utf-8><title>Not captured</title><h1>Not captured</h1><p>\(escaped(reason))</p>\
            <p>Its address is <a href="\(address)" rel="noreferrer" target="_blank">\(address)</a>.</p>
            """
        return ReplayAnswer(404, fields, .text(text))
    }

    private static func escaped(_ text: String) -> String {
        var output: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): output.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): output.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): output.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): output.append(contentsOf: "&quot;".utf8)
            default: output.append(byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func confined(_ fields: HTTPFields, at place: ReplayPlace) -> HTTPFields {
        var fields = fields
        for (name, value) in confinement { fields[HTTPField.Name(name)!] = value }
        fields[HTTPField.Name("Content-Security-Policy")!] = place.policy
        return fields
    }

    /// The opaque origin of a sandboxed document makes each of its requests a cross-origin request, so fonts and style
    /// sheets with `crossorigin` need the first two fields.
    private static let confinement = [
        ("Access-Control-Allow-Origin", "*"), ("Cross-Origin-Resource-Policy", "cross-origin"),
        ("X-Content-Type-Options", "nosniff"), ("X-DNS-Prefetch-Control", "off"), ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "private, no-cache"),
    ]
}

extension ArchivedDocument.Format {
    fileprivate var mediaType: String {
        switch self {
        case .html: "text/html"
        case .xml: "application/xml"
        case .css: "text/css"
        case .manifest: "application/manifest+json"
        case .script: "text/javascript"
        }
    }
}
