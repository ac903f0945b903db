import Crypto
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
        PackageResources.documentation_html, type: "text/html; charset=utf-8", policy: documentationPolicy)

    private static let documentationStyle = PublicFile(
        PackageResources.documentation_css, type: "text/css; charset=utf-8", policy: documentationPolicy)
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

/// The files of the dashboard. They lie in `Dashboard/Page` and are part of the executable.
enum DashboardFiles {
    static let page = file("index.html", PackageResources.index_html)
    static let parts = Dictionary(uniqueKeysWithValues: contents.map { ($0.name, file($0.name, $0.bytes)) })

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

    private static let contents: [(name: String, bytes: [UInt8])] = [
        ("activity.js", PackageResources.activity_js),
        ("api.js", PackageResources.api_js),
        ("base.css", PackageResources.base_css),
        ("chart.js", PackageResources.chart_js),
        ("clock.js", PackageResources.clock_js),
        ("dialog.js", PackageResources.dialog_js),
        ("dom.js", PackageResources.dom_js),
        ("download-form.js", PackageResources.download_form_js),
        ("download-list.js", PackageResources.download_list_js),
        ("downloads-model.js", PackageResources.downloads_model_js),
        ("downloads.css", PackageResources.downloads_css),
        ("downloads.js", PackageResources.downloads_js),
        ("entries.css", PackageResources.entries_css),
        ("entries.js", PackageResources.entries_js),
        ("entry-actions.js", PackageResources.entry_actions_js),
        ("entry-table.js", PackageResources.entry_table_js),
        ("entry.css", PackageResources.entry_css),
        ("entry.js", PackageResources.entry_js),
        ("events.js", PackageResources.events_js),
        ("failure.js", PackageResources.failure_js),
        ("fields.css", PackageResources.fields_css),
        ("filter-form.js", PackageResources.filter_form_js),
        ("format.js", PackageResources.format_js),
        ("frame.css", PackageResources.frame_css),
        ("freshness.js", PackageResources.freshness_js),
        ("icon.svg", PackageResources.icon_svg),
        ("json-text.js", PackageResources.json_text_js),
        ("main.js", PackageResources.main_js),
        ("masthead.js", PackageResources.masthead_js),
        ("name.js", PackageResources.name_js),
        ("namespaces.js", PackageResources.namespaces_js),
        ("notices.js", PackageResources.notices_js),
        ("overview.css", PackageResources.overview_css),
        ("overview.js", PackageResources.overview_js),
        ("parts.css", PackageResources.parts_css),
        ("poll.js", PackageResources.poll_js),
        ("preview.js", PackageResources.preview_js),
        ("purge.js", PackageResources.purge_js),
        ("readings.js", PackageResources.readings_js),
        ("router.js", PackageResources.router_js),
        ("theme.js", PackageResources.theme_js),
        ("ttl-field.js", PackageResources.ttl_field_js),
        ("vitals.js", PackageResources.vitals_js),
    ]
}
