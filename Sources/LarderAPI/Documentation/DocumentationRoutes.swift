import Larder
import MicroHTTPD
import Primitives

/// `/docs`: openapi.yaml as a page for people.
struct DocumentationRoutes: Sendable {
    var routes: [Route] {
        [
            Route("GET", "/docs", nil, .calling("getDocs", read), in: .server),
            Route(
                "GET", "/docs/style.css", nil, .answering("getDocsStyle") { Self.style.answer(to: $0.request) },
                in: .server),
        ]
    }

    private func read(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        // The first request builds the page, which takes too long for the daemon's thread.
        Task.detached { call.respond(Self.page.answer(to: head.request)) }
    }

    /// The Content-Security-Policy: the page loads its style sheet and may do nothing else.
    private static let policy: String = [
        "default-src 'none'", "style-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    private static let page = PublicFile(
        Array(DocumentationPage(description: document).html.text.utf8), type: "text/html; charset=utf-8",
        policy: policy)

    private static let style = PublicFile(
        PackageResources.documentation_css, type: "text/css; charset=utf-8", policy: policy)

    /// The description in the executable. `try!` is safe because a test reads the same openapi.yaml before a release.
    private static var document: APIDescription {
        try! APIDescription(JSON(yaml: String(decoding: PackageResources.openapi_yaml, as: UTF8.self)))
    }
}
