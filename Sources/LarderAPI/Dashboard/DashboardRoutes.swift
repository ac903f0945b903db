import Larder
import MicroHTTPD

/// `/` and `/dashboard/:file`: a page to look at the server with.
///
/// It is for everybody, and has nothing in it: the page asks the API for what it shows, with a token of its user's
/// where the server wants one.
struct DashboardRoutes: Sendable {
    var routes: [Route] {
        [
            Route(
                "GET", "/", nil, .answering("getDashboard") { DashboardFiles.page.answer(to: $0.request) }, in: .server),
            Route("GET", "/dashboard/:file", nil, .answering("getDashboardFile", part), in: .server),
        ]
    }

    private func part(_ head: Endpoint.Head) throws(Problem) -> Response {
        guard let file = DashboardFiles.parts[head.parameter("file")] else {
            throw .notFound("the dashboard has no such file; / has its page")
        }
        return file.answer(to: head.request)
    }
}
