import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Tests how the server serves the dashboard's files. scripts/check-dashboard tests the dashboard in a browser.
@Suite("Serving the dashboard's files")
struct DashboardTests {
    /// The target and the text of each file of the dashboard's folder.
    private static func files() throws -> [(target: String, text: String)] {
        var folder = URL(filePath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        folder.append(path: "Sources/EmbeddedFiles/Dashboard")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            return (name == "index.html" ? "/" : "/dashboard/\(name)", text)
        }
    }

    @Test("The server sends every file of the dashboard unchanged, with its media type and a Content-Security-Policy")
    func everyFile() async throws {
        let files = try Self.files()
        #expect(files.count > 30)
        let types = ["js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"]
        try await TestServer.with { (server) async throws in
            for (target, text) in files {
                let reply = try await server.get(target)
                #expect(reply.status == 200 && reply.text == text, "\(target)")
                let type = types[String(target.split(separator: ".").last ?? "")] ?? "text/html"
                #expect(reply["Content-Type"]?.hasPrefix(type) == true, "\(target)")
                #expect(reply["X-Content-Type-Options"] == "nosniff")
                let policy = try #require(reply["Content-Security-Policy"])
                #expect(policy.hasPrefix("default-src 'none'; "))
                #expect(policy.contains("frame-ancestors 'none'"))
                #expect(!policy.contains("unsafe") && !policy.contains("http") && !policy.contains("*"))
            }
        }
    }

    @Test("The server sends a dashboard file with no-cache and a strong ETag, and later sends 304 for this ETag")
    func validation() async throws {
        try await TestServer.with { (server) async throws in
            var tags: Set<String> = []
            for target in ["/", "/dashboard/main.js"] {
                let reply = try await server.get(target)
                #expect(reply["Cache-Control"] == "no-cache")
                let tag = try #require(reply["ETag"])
                #expect(tag.hasPrefix("\""), "the ETag is not strong")
                tags.insert(tag)
                for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                    let same = try await server.get(target, fields: [.ifNoneMatch: known])
                    #expect(same.status == 304 && same["ETag"] == tag, "\(target) \(known)")
                }
                #expect(try await server.get(target, fields: [.ifNoneMatch: "\"other\""]).status == 200)
                let head = try await server.client.request("HEAD", target)
                #expect(head.status == 200 && head.body.isEmpty)
                #expect(head["Content-Length"] == "\(reply.body.count)")
            }
            #expect(tags.count == 2)
        }
    }

    @Test("The dashboard page loads only files of this server, and contains no inline script or style")
    func selfContained() throws {
        let files = try Self.files()
        let names = Set(files.map { $0.target.replacing("/dashboard/", with: "") })
        for (target, text) in files {
            // These URLs load no resource: one is the name of an XML namespace, two are placeholders of input fields.
            let rest = text.replacing("http://www.w3.org/2000/svg", with: "")
                .replacing("\"https://\"", with: "").replacing("https://api.example.com/", with: "")
            #expect(!rest.contains("http://") && !rest.contains("https://"), "\(target)")
            #expect(!rest.contains("innerHTML") && !rest.contains("eval("), "\(target)")
            for match in text.matches(of: /from "\.\/([^"]+)"/) {
                #expect(names.contains(String(match.1)), "\(target) imports \(match.1)")
            }
        }
        let page = try #require(files.first { $0.target == "/" }).text
        #expect(page.matches(of: /<script(?![^>]* src="dashboard\/)/).isEmpty)
        #expect(!page.contains("<style") && page.matches(of: /\s(style|on[a-z]+)=/).isEmpty)
        for match in page.matches(of: /(?:src|href)="dashboard\/([^"]+)"/) {
            #expect(names.contains(String(match.1)), "the page names \(match.1)")
        }
    }

    @Test(
        "The dashboard page needs no token and no known Host, but the calls for its data need a token and a known Host")
    func forEverybody() async throws {
        let tokens = try TestTokens([.init(name: "me")])
        try await TestServer.with(tokens: tokens.store) { (server) async throws in
            for target in ["/", "/?x=1", "/dashboard/main.js"] {
                #expect(try await HTTPClient(port: server.api.port).request("GET", target).status == 200, "\(target)")
            }
            #expect(try await server.get("/dashboard/none.js").status == 404)
            #expect(try await server.get("/stats").status == 401)
        }
        // When a foreign host name leads to this server (DNS rebinding), the server serves the page, but refuses the
        // page's requests for data.
        try await TestServer.with { (server) async throws in
            let host: HTTPFields = [HTTPField.Name("Host")!: "evil.example"]
            #expect(try await server.get("/", fields: host).status == 200)
            #expect(try await server.get("/stats", fields: host).status == 421)
        }
    }
}
