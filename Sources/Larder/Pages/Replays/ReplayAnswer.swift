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
    /// sandbox gives it an origin of its own, so it cannot use the API with the reader's credentials. `frame-ancestors`
    /// would keep the frames of a page out, because the page around them has such an origin, too.
    var policy: String {
        let place = host + path
        return """
            sandbox; default-src 'none'; img-src \(place) data: blob:; style-src \(place) 'unsafe-inline'; \
            font-src \(place) data:; media-src \(place) blob:; frame-src \(place); script-src 'none'; \
            object-src \(place); form-action 'none'; base-uri \(place)
            """
    }
}

/// The answer of a replay to a request for a captured URL, without the body's bytes.
struct ReplayAnswer: Sendable {
    /// The source of the body.
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
    /// The bytes of the stored body.
    var length: Int64 = 0
    /// The Content-Type of the captured answer, which has the encoding of the stored body.
    var storedType: String?
    /// The encoding of the document that refers to the body.
    var parentEncoding = TextEncoding.utf8

    /// The fields of the captured answer that a replay repeats. Others reach beyond the replay, such as Link, Refresh
    /// and Set-Cookie, or describe bytes that a replay changes.
    private static let repeated: Set<HTTPField.Name> = [.contentLanguage, .contentDisposition]

    private init(_ status: Int, _ fields: HTTPFields, _ body: Body) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    /// The answer for `url`; `record` is `nil` if the capture has no such URL.
    static func answer(to url: WebURL, _ record: CaptureRecord?, at place: ReplayPlace) -> ReplayAnswer {
        // An interim response is no answer (RFC 9110 §15.2).
        guard let record, let answer = record.answer, answer.status >= 200 else {
            return missing(url, record?.problem, at: place)
        }
        if let location = answer.fields[.location], answer.digest == nil {
            guard let target = WebURL(location, relativeTo: url) else { return missing(url, nil, at: place) }
            var fields = confined([:], at: place)
            fields[.location] = place.address(of: target) + target.fragment
            return ReplayAnswer(answer.status, fields, .text(""))
        }
        guard let digest = answer.digest else { return missing(url, record.problem, at: place) }
        var fields = confined(answer.fields.filter { repeated.contains($0.name) }, at: place)
        let type = answer.fields[.contentType]
        let media = MediaType(type)
        let format = format(of: record.kind, media)
        fields[.contentType] = contentType(media, format) ?? plainType(media, type)
        guard let format else { return ReplayAnswer(answer.status, fields, .stored(digest)) }
        var replay = ReplayAnswer(answer.status, fields, .rewritten(digest, format))
        replay.storedType = type
        replay.length = answer.length
        replay.parentEncoding = record.encoding.flatMap { TextEncoding(name: $0) } ?? .utf8
        return replay
    }

    /// The format of a body that must be rewritten. Every HTML and XML body must be, for any place in the page: a
    /// reader can open it by itself, and its hints and refreshes would leave the replay.
    private static func format(of kind: Reference.Kind, _ type: MediaType) -> ArchivedDocument.Format? {
        if type.isHTML { return .html }
        if type.isXML { return .xml }
        if kind == .style || type.candidates == ["text/css"] { return .css }
        return type.candidates.isEmpty && [.frame, .object, .refresh].contains(kind) ? .html : nil
    }

    /// Canonical, because a browser may read the origin's text in another way. Rewritten documents are in UTF-8.
    private static func contentType(_ type: MediaType, _ format: ArchivedDocument.Format?) -> String? {
        switch format {
        case .html: "text/html; charset=utf-8"
        case .css: "text/css; charset=utf-8"
        case .xml:
            (type.candidates.first { $0 == "image/svg+xml" || $0 == "application/xhtml+xml" } ?? "application/xml")
                + "; charset=utf-8"
        default: nil
        }
    }

    /// The type of a body that stays as it is, with its charset.
    private static func plainType(_ type: MediaType, _ text: String?) -> String {
        guard let name = type.harmless else { return "application/octet-stream" }
        let charset = ContentDisposition.parameters(of: text ?? "").first { $0.name == "charset" }?.value ?? []
        let isPlain = !charset.isEmpty && charset.allSatisfy { $0.isAlphanumeric || $0 == 0x2d || $0 == 0x5f }
        return isPlain ? "\(name); charset=\(String(decoding: charset, as: UTF8.self))" : name
    }

    private static func missing(_ url: WebURL, _ problem: String?, at place: ReplayPlace) -> ReplayAnswer {
        var fields = confined([:], at: place)
        fields[.contentType] = "text/html; charset=utf-8"
        let reason = problem.map { "The capture lacks it: \($0)." } ?? "The page was captured without it."
        let address = Self.escaped(url.text)
        let text = """
            <!doctype html><meta charset=utf-8><title>Not captured</title><h1>Not captured</h1>\
            <p>\(escaped(reason))</p><p>Its address is <a href="\(address)" rel="noreferrer" target="_blank">\(address)</a>.</p>
            """
        // The reader may follow the link, in a window without the sandbox.
        fields[csp] = "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'"
        return ReplayAnswer(404, fields, .text(text))
    }

    static func escaped(_ text: String) -> String {
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
        fields[csp] = place.policy
        return fields
    }

    static let csp = HTTPField.Name("Content-Security-Policy")!

    /// The opaque origin of a sandboxed document makes each of its requests a cross-origin request, so fonts and style
    /// sheets with `crossorigin` need the first two fields.
    static let confinement = [
        ("Access-Control-Allow-Origin", "*"), ("Cross-Origin-Resource-Policy", "cross-origin"),
        ("X-Content-Type-Options", "nosniff"), ("X-DNS-Prefetch-Control", "off"), ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "private, no-cache"),
    ]
}
