import Larder
import MicroHTTPD
import Primitives

/// `/docs`: openapi.yaml as a page to read.
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
        // The first one makes it, which takes some time.
        Task.detached { call.respond(Self.page.answer(to: head.request)) }
    }

    /// The page loads its style sheet, and may do nothing else.
    private static let policy: String = [
        "default-src 'none'", "style-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    private static let page = PublicFile(
        Array(DocumentationPage(description: document).html.text.utf8), type: "text/html; charset=utf-8",
        policy: policy)

    private static let style = PublicFile(
        PackageResources.documentation_css, type: "text/css; charset=utf-8", policy: policy)

    /// A part of the executable: whether it can be read is tested before there is one.
    private static var document: APIDescription {
        try! APIDescription(JSON(yaml: String(decoding: PackageResources.openapi_yaml, as: UTF8.self)))
    }
}
