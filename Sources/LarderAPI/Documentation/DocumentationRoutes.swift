import Larder
import MicroHTTPD
import Primitives

/// `/docs`: openapi.yaml as a page for people. `swift run DocumentationPage` writes the page.
struct DocumentationRoutes: Sendable {
    var routes: [Route] {
        [
            Route("GET", "/docs", nil, .answering("getDocs") { Self.page.answer(to: $0.request) }, in: .server),
            Route(
                "GET", "/docs/style.css", nil, .answering("getDocsStyle") { Self.style.answer(to: $0.request) },
                in: .server),
        ]
    }

    private static let policy: String = [
        "default-src 'none'", "style-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    private static let page = PublicFile(
        PackageResources.documentation_html, type: "text/html; charset=utf-8", policy: policy)

    private static let style = PublicFile(
        PackageResources.documentation_css, type: "text/css; charset=utf-8", policy: policy)
}
