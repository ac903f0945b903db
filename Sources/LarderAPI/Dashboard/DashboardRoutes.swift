import Larder
import MicroHTTPD

/// `/` and `/dashboard/:file`: the dashboard, a page that shows the state of the server. The page needs no token
/// because it contains no data. It asks the API for the data, with the user's token if the server requires one.
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
            throw .notFound("the dashboard has no file at this path; its page is /")
        }
        return file.answer(to: head.request)
    }
}
