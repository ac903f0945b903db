import MicroHTTPD
import Testing

@Suite("The router")
struct RouterTests {
    private static let router: Router<Int> = {
        var router = Router<Int>()
        router.add("GET", "/", 0)
        router.add("GET", "/entries", 1)
        router.add("DELETE", "/entries", 2)
        router.add("GET", "/entries/:key", 3)
        router.add("PATCH", "/entries/:key", 4)
        router.add("GET", "/entries/:key/content", 5)
        router.add("PUT", "/entries/:key/content", 6)
        router.add("GET", "/entries/special/content", 7)
        router.add("HEAD", "/own", 8)
        router.add("GET", "/own", 9)
        router.add("POST", "/a/:x/b/:y", 10)
        router.add("GET", "/dir/", 11)
        router.add("GET", "/fetch/*", 12)
        router.add("GET", "/fetch", 13)
        return router
    }()

    private func describe(_ match: Router<Int>.Match) -> String {
        switch match {
        case .found(let value, let parameters, let rest, _):
            let pairs = zip(parameters.names, parameters.values).map { "\($0)=\($1)" }
            let list = (pairs.sorted() + (rest.map { ["*=\($0)"] } ?? [])).joined(separator: ",")
            return list.isEmpty ? "\(value)" : "\(value) \(list)"
        case .methodNotAllowed(let allow): return "405 " + allow.joined(separator: ",")
        case .notFound: return "404"
        }
    }

    @Test(
        "The router finds the route of a method and a path, or answers 404 or 405",
        arguments: [
            ("GET", "/", "0"),
            ("GET", "/entries", "1"),
            ("DELETE", "/entries", "2"),
            ("GET", "/entries/k", "3 key=k"),
            ("HEAD", "/entries/k", "3 key=k"),
            ("PATCH", "/entries/k", "4 key=k"),
            ("GET", "/entries/%2F%20/content", "5 key=%2F%20"),
            ("PUT", "/entries/k/content", "6 key=k"),
            ("GET", "/entries/special/content", "7"),
            ("GET", "/entries/special", "3 key=special"),
            ("HEAD", "/own", "8"),
            ("GET", "/own", "9"),
            ("POST", "/a/1/b/2", "10 x=1,y=2"),
            ("GET", "/dir/", "11"),
            ("GET", "/entries/k?q=/content", "3 key=k"),
            ("GET", "/entries?key=/x", "1"),
            ("GET", "/entries/k\u{301}/content", "5 key=k\u{301}"),
            ("GET", "/entries/\u{301}/content", "5 key=\u{301}"),
            ("GET", "/fetch/http://h/a", "12 *=http://h/a"),
            ("HEAD", "/fetch/https://h//a%2Fb/%2e%2e/../?c=d&e=/f?#g", "12 *=https://h//a%2Fb/%2e%2e/../?c=d&e=/f?#g"),
            ("GET", "/fetch//", "12 *=/"),
            ("GET", "/fetch/?", "12 *=?"),
            ("GET", "/fetch/%zz\u{301}", "12 *=%zz\u{301}"),
            ("GET", "/fetch?url=/x", "13"),
            ("GET", "/fetch/", "404"),
            ("POST", "/fetch/http://h/", "405 GET,HEAD"),
            ("PUT", "/entries/special/content", "405 GET,HEAD"),
            ("POST", "/entries", "405 DELETE,GET,HEAD"),
            ("PUT", "/entries/k", "405 GET,HEAD,PATCH"),
            ("GET", "/a/1/b/2", "405 POST"),
            ("get", "/entries", "405 DELETE,GET,HEAD"),
            ("GET", "/entries/", "404"),
            ("GET", "//entries", "404"),
            ("GET", "/entries//content", "404"),
            ("GET", "/entries/k/content/", "404"),
            ("GET", "/dir", "404"),
            ("GET", "/%65ntries", "404"),
            ("GET", "/a", "404"),
            ("GET", "/a/1/b", "404"),
            ("GET", "", "404"),
            ("GET", "*", "404"),
            ("GET", "entries", "404"),
        ])
    func match(method: String, path: String, expected: String) {
        #expect(describe(Self.router.match(method: method, target: path)) == expected)
    }

    @Test("A match names the pattern of its route")
    func pattern() {
        guard case .found(_, _, _, let pattern) = Self.router.match(method: "HEAD", target: "/entries/k/content") else {
            Issue.record("not found")
            return
        }
        #expect(pattern == "/entries/:key/content")
    }

    @Test("The router lists all declared routes in order")
    func routes() {
        #expect(Self.router.routes.map(\.value) == Array(0...13))
        #expect(Self.router.routes[5].method == "GET")
        #expect(Self.router.routes[5].pattern == "/entries/:key/content")
    }

    @Test("If a literal segment leads to no route, the router tries a parameter in its place")
    func backtracking() {
        var router = Router<Int>()
        router.add("GET", "/x/a/b", 1)
        router.add("GET", "/x/:p/c", 2)
        router.add("GET", "/:q/a/d", 3)
        #expect(describe(router.match(method: "GET", target: "/x/a/c")) == "2 p=a")
        #expect(describe(router.match(method: "GET", target: "/x/a/d")) == "3 q=x")
        #expect(describe(router.match(method: "GET", target: "/x/a/e")) == "404")
    }

    @Test("A path without a route of its own matches the longest pattern that ends in a wildcard")
    func rest() {
        var router = Router<Int>()
        router.add("GET", "/x/*", 1)
        router.add("GET", "/x/:p/c", 2)
        router.add("GET", "/x/a/*", 3)
        #expect(describe(router.match(method: "GET", target: "/x/b/c")) == "2 p=b")
        #expect(describe(router.match(method: "GET", target: "/x/b/d?c")) == "1 *=b/d?c")
        #expect(describe(router.match(method: "GET", target: "/x/a/c")) == "3 *=c")
        #expect(describe(router.match(method: "GET", target: "/x/a")) == "1 *=a")
    }

    @Test("A route for any method gets the requests with a method that has no route of its own, even an unknown method")
    func anyMethod() {
        var router = Router<Int>()
        router.add(Router.anyMethod, "/fetch/*", 1)
        router.add("GET", "/fetch/*", 2)
        router.add("POST", "/fetch", 3)
        router.add(Router.anyMethod, "/fetch", 4)
        for method in ["PUT", "PURGE", "get", "*", "M-SEARCH"] {
            #expect(describe(router.match(method: method, target: "/fetch/http://h//a?b")) == "1 *=http://h//a?b")
            #expect(describe(router.match(method: method, target: "/fetch?url=x")) == "4")
        }
        #expect(describe(router.match(method: "GET", target: "/fetch/x")) == "2 *=x")
        #expect(describe(router.match(method: "HEAD", target: "/fetch/x")) == "2 *=x")
        #expect(describe(router.match(method: "POST", target: "/fetch")) == "3")
        #expect(describe(router.match(method: "HEAD", target: "/fetch")) == "4")
        #expect(describe(router.match(method: "PURGE", target: "/")) == "404")
        #expect(router.routes.map(\.method) == ["*", "GET", "POST", "*"])
    }

    @Test(
        "A request with any method reaches its route with its exact target and body",
        arguments: ["PURGE", "get", "head", "put", "M-SEARCH", "TRACE", "*", "A!#$%&'*+-.^_`|~z"])
    func anyMethodOnTheWire(method: String) async throws {
        var router = Router<Int>()
        router.add(Router.anyMethod, "/fetch/*", 1)
        let handler = Handler { [router] request in
            let match = router.match(method: request.method, target: request.target)
            guard case .found(_, _, let rest?, _) = match else { return .refuse(Response(status: 500)) }
            let text = request.method + " " + rest
            return .accept(.memory(limit: 100)) { exchange in
                guard case .memory(let body) = exchange.body else { return exchange.respond(Response(status: 500)) }
                exchange.respond(Response(text: text + " " + String(decoding: body, as: UTF8.self)))
            }
        }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            let rest = "https://h//a%2Fb/%2e%2e/../?c=d&e=/f?&%zz+\\|"
            for _ in 0..<2 {
                try client.request(method, "/fetch/" + rest, fields: ["Content-Length: 4"])
                try client.send("body")
                let answer = try client.answer()
                #expect(answer.status == 200)
                #expect(answer.text == "\(method) \(rest) body")
            }
        }
    }

    @Test("A path of 100,000 segments gets an ordinary 404")
    func longPath() {
        let path = String(repeating: "/a", count: 100_000)
        #expect(describe(Self.router.match(method: "GET", target: path)) == "404")
    }
}
