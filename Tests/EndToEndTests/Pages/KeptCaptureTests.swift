import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Several captures of a page")
struct KeptCaptureTests {
    /// An origin with a page that names its version in the title and in the URL of its image. Each request gets a new
    /// version.
    private static func versions() throws -> ScriptedOrigin {
        let version = Locked(0)
        return try ScriptedOrigin { request, connection in
            guard request.target == "/" else { return try connection.respond(body: "image of \(request.target)") }
            let number = version.withLock { version in
                version += 1
                return version
            }
            try connection.respond(
                fields: [.contentType: "text/html"],
                body: "<title>Version \(number)</title><p>text \(number)</p><img src=\(number).png>")
        }
    }

    @Test("A page with captures=2 keeps the two newest captures, and each of them can be read by its number")
    func numbers() async throws {
        let origin = try Self.versions()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/")
            let page = "/pages/\(md5(url))-page"
            var numbers: [Int] = []
            for version in 1...3 {
                let reply = try await server.capture(["url": .string(url), "captures": 2])
                #expect(try reply.member("title")?.stringValue == "Version \(version)")
                let captures = try #require(reply.member("captures")?.arrayValue)
                let titles = (max(1, version - 1)...version).reversed().map { JSON.string("Version \($0)") }
                #expect(captures.map { $0["title"] } == titles)
                numbers.append(Int(try #require(captures.first?["number"]?.integerValue)))
            }
            for (query, version) in [("", 3), ("?capture=\(numbers[2])", 3), ("?capture=\(numbers[1])", 2)] {
                #expect(try await server.get("\(page)/text\(query)").text == "text \(version)\n")
                let resources = try await server.get("\(page)/resources\(query)").member("resources")?.arrayValue
                #expect(resources?.map { $0["url"]?.stringValue } == [url, origin.url("/\(version).png")])
                let archive = try await server.get("\(page)/export\(query)").unzipped()
                #expect(archive.contains("<title>Version \(version)<") && !archive.contains("Version \(5 - version)"))
                let view = try await server.get("\(page)/view\(query)")
                #expect(view.status == 303)
                let place = try #require(view["Location"])
                #expect(try await server.get(place).text.contains("Version \(version)"))
                #expect(try await server.get(place + url).text.contains("Version \(version)"))
                #expect(try await server.get(place + origin.url("/\(version).png")).status == 200)
                #expect(try await server.get(place + origin.url("/\(5 - version).png")).status == 404)
            }
            for path in ["/text", "/resources", "/export", "/view"] {
                for number in [numbers[0], numbers[2] + 1] {
                    let unknown = try await server.get("\(page)\(path)?capture=\(number)")
                    #expect(unknown.status == 404, "\(path)")
                    #expect(try unknown.member("pointer") == "/capture")
                    let detail = try unknown.member("detail")?.stringValue
                    #expect(detail == "the page has no capture \(number); GET \(page) lists its captures")
                }
                for text in ["", "newest", "-1", "1.5"] {
                    let invalid = try await server.get("\(page)\(path)?capture=\(text)")
                    #expect(invalid.status == 400, "\(path)")
                    #expect(try invalid.member("pointer") == "/capture")
                }
            }
        }
    }

    @Test("A view of the older capture goes on until further captures replace it")
    func viewOfOlder() async throws {
        let origin = try Self.versions()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let members: JSON = ["url": .string(origin.url("/")), "captures": 2]
            let page = try await server.capture(members)
            let number = try #require(page.member("captures")?.arrayValue?.first?["number"]?.integerValue)
            _ = try await server.capture(members)
            let path = "/pages/\(md5(origin.url("/")))-page"
            let place = try #require(try await server.get("\(path)/view?capture=\(number)")["Location"])
            #expect(try await server.get(place + origin.url("/")).text.contains("Version 1"))
            _ = try await server.capture(members)
            #expect(try await server.get(place + origin.url("/")).status == 404)
        }
    }

    @Test("An import with captures=2 keeps the page's newest capture beside the imported one")
    func imported() async throws {
        let origin = try Self.versions()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/")
            _ = try await server.capture(["url": .string(url)])
            let file = try await server.get("/pages/\(md5(url))-page/export").body
            let type: HTTPFields = [.contentType: "application/octet-stream"]
            for (query, modes) in [("&captures=2", ["imported", "static"]), ("", ["imported"])] {
                let reply = try await server.client.request(
                    "POST", "/pages/import?url=\(url.percentEncoded)\(query)", fields: type, body: file)
                #expect(reply.status == 200, "\(reply.text)")
                let captures = try reply.member("captures")?.arrayValue
                #expect(captures?.map { $0["mode"]?.stringValue } == modes)
            }
            for text in ["0", "101", "x"] {
                let reply = try await server.client.request(
                    "POST", "/pages/import?captures=\(text)", fields: type, body: file)
                #expect(reply.status == 400)
            }
        }
    }
}
