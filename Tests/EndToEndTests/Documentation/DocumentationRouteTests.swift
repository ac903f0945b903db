import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import DocumentationPage

@Suite("The routes of /docs")
struct DocumentationRouteTests {
    @Test("The page /docs is made from the repository's openapi.yaml, and has a style sheet and no scripts")
    func page() async throws {
        try await TestServer.with { (server) async throws in
            let page = try await server.get("/docs")
            let made = try DocumentationPage(
                description: APIDescription(JSON(yaml: OpenAPIDocument.repositoryText()))
            ).html.text
            let isCurrent = page.text == made
            #expect(isCurrent, "openapi.yaml has changed since its page was made; run: swift run DocumentationPage")
            #expect(page.status == 200 && page["Content-Type"] == "text/html; charset=utf-8")
            let style = try await server.get("/docs/style.css")
            #expect(style.status == 200 && style["Content-Type"] == "text/css; charset=utf-8")
            #expect(!style.text.contains("url(") && !style.text.contains("@import"))
            for reply in [page, style] {
                #expect(reply["X-Content-Type-Options"] == "nosniff")
                let policy = try #require(reply["Content-Security-Policy"])
                #expect(policy.hasPrefix("default-src 'none'; style-src 'self'; "))
                #expect(!policy.contains("script") && !policy.contains("unsafe"))
                #expect(policy.contains("frame-ancestors 'none'"))
            }
            #expect(!made.contains("<script") && made.matches(of: /\s(style|on[a-z]+)="/).isEmpty)
        }
    }

    @Test("A client revalidates the page /docs on each use, and gets 304 if the client's copy is current")
    func validation() async throws {
        try await TestServer.with { (server) async throws in
            var tags: Set<String> = []
            for target in ["/docs", "/docs/style.css"] {
                let reply = try await server.get(target)
                #expect(reply["Cache-Control"] == "no-cache")
                let tag = try #require(reply["ETag"])
                #expect(tag.hasPrefix("\""))
                tags.insert(tag)
                for known in [tag, "W/\(tag)", "\"other\", \(tag)"] {
                    let same = try await server.get(target, fields: [.ifNoneMatch: known])
                    #expect(same.status == 304 && same["ETag"] == tag && same.body.isEmpty)
                }
                #expect(try await server.get(target, fields: [.ifNoneMatch: "\"other\""]).status == 200)
                let head = try await server.client.request("HEAD", target)
                #expect(head.status == 200 && head.body.isEmpty && head["Content-Length"] == "\(reply.body.count)")
            }
            #expect(tags.count == 2)
        }
    }

    @Test("The page /docs and its style sheet need no token, and are served under any host name")
    func forEverybody() async throws {
        let tokens = try TestTokens([.init(name: "me")])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            let client = HTTPClient(port: server.api.port)
            for target in ["/docs", "/docs?x=1", "/docs/style.css"] {
                #expect(try await client.request("GET", target).status == 200, "\(target)")
            }
            #expect(try await client.request("GET", "/docs/none.css").status == 401)
        }
        try await TestServer.with { (server) async throws in
            let host: HTTPFields = [HTTPField.Name("Host")!: "evil.example"]
            #expect(try await server.get("/docs", fields: host).status == 200)
            #expect(try await server.get("/stats", fields: host).status == 421)
        }
    }
}
