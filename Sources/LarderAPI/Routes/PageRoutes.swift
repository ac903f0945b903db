import Crypto
import EmbeddedFiles
import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// The dashboard, and openapi.yaml as a page, which `swift run DocumentationPage` writes. They need no token, because
/// they contain no data: the dashboard asks the API for data with the user's token.
struct PageRoutes: Sendable {
    var routes: [Route] {
        [
            page("/", "getDashboard") { _ in DashboardFiles.page },
            page("/dashboard/:file", "getDashboardFile") { (head) throws(Problem) in
                guard let file = DashboardFiles.parts[head.parameter("file")] else {
                    throw .notFound("the dashboard has no file at this path; its page is /")
                }
                return file
            },
            page("/docs", "getDocs") { _ in Self.documentation },
            page("/docs/style.css", "getDocsStyle") { _ in Self.documentationStyle },
        ]
    }

    private func page(
        _ pattern: String, _ operation: String,
        _ file: @escaping @Sendable (Endpoint.Head) throws(Problem) -> PublicFile
    ) -> Route {
        let endpoint = Endpoint.answering(operation) { (head) throws(Problem) in
            try file(head).answer(to: head.request)
        }
        return Route("GET", pattern, nil, endpoint, in: .server)
    }

    private static let documentationPolicy =
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    private static let documentation = PublicFile(
        EmbeddedFiles.documentation, type: "text/html; charset=utf-8", policy: documentationPolicy)

    private static let documentationStyle = PublicFile(
        EmbeddedFiles.documentationStyle, type: "text/css; charset=utf-8", policy: documentationPolicy)
}

/// A file in the executable, for every visitor. Its answers are made once.
struct PublicFile: Sendable {
    private let etag: EntityTag
    private let whole: Response
    private let notModified: Response

    init(_ bytes: [UInt8], type: String, policy: String) {
        etag = EntityTag(strong: SHA256.hash(data: bytes).prefix(16).hex)
        var fields: HTTPFields = [
            // Browsers revalidate the file each time, because another version of the server has other files.
            .eTag: etag.text, .cacheControl: "no-cache", .contentSecurityPolicy: policy,
            .xContentTypeOptions: "nosniff",
        ]
        notModified = Response(status: 304, fields: fields, body: .withheld(length: Int64(bytes.count)))
        fields[.contentType] = type
        whole = Response(fields: fields, body: .bytes(SharedBytes(bytes)))
    }

    /// Answers with 304 if `If-None-Match` shows that the client has the file (RFC 9110 §13.1.2).
    func answer(to request: Request) -> Response {
        let known = request.values(.ifNoneMatch).joined(separator: ", ")
        return EntityTag.anyMatches(known, etag, comparison: .weak) ? notModified : whole
    }
}

/// The answers with the files of the dashboard.
enum DashboardFiles {
    static let page = file("index.html", EmbeddedFiles.dashboardPage)
    static let parts = Dictionary(
        uniqueKeysWithValues: EmbeddedFiles.dashboardParts.map { ($0.name, file($0.name, $0.bytes)) })

    /// `blob:` permits previews, which are images from the page's memory. Browsers that support trusted types also
    /// refuse to turn text into markup or scripts.
    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob:", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ].joined(separator: "; ")

    private static func file(_ name: String, _ bytes: [UInt8]) -> PublicFile {
        let type =
            switch name.split(separator: ".").last {
            case "html": "text/html; charset=utf-8"
            case "css": "text/css; charset=utf-8"
            case "svg": "image/svg+xml"
            default: "text/javascript; charset=utf-8"
            }
        return PublicFile(bytes, type: type, policy: policy)
    }
}
