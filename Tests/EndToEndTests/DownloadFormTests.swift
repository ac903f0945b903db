import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("POST /download with a form")
struct DownloadFormTests {
    private let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]

    @Test("POST /download reads a form as curl -d sends it, and reads JSON that has curl's default media type")
    func forms() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let text =
                "url=\(origin.url("/f").percentEncoded)&ttl=20&updateExpiry=true&tags=a,b&params[q]=1&params[q]=2"
            let reply = try await server.client.request("POST", "/download", fields: form, text: text)
            #expect(reply.status == 200)
            #expect(try reply.member("entry", "expiresInSeconds") == 20)
            #expect(try reply.member("entry", "tags") == ["a", "b"])
            #expect(origin.requests.first?.target == "/f?q=1&q=2")
            let json = JSON.object([.init("url", .string(origin.url("/g")))]).text
            #expect(try await server.client.request("POST", "/download", fields: form, text: json).status == 200)
        }
    }

    @Test("A form with two pairs of brackets in a name is refused, because it means an array or an object elsewhere")
    func nestedNames() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = "url=\(origin.url("/f").percentEncoded)"
            for (name, pointer) in [
                ("params[a][b]", "/params"), ("params[a][]", "/params"), ("params[][]", "/params"),
                ("params[a%5D%5Bb]", "/params"), ("headers[a][b]", "/headers"),
            ] {
                let reply = try await server.client.request("POST", "/download", fields: form, text: "\(url)&\(name)=1")
                #expect(reply.status == 400, "\(name)")
                #expect(try reply.member("pointer") == .string(pointer), "\(name)")
            }
            let text = "\(url)&params[a[b]]=1&params[]c[]=2"
            #expect(try await server.client.request("POST", "/download", fields: form, text: text).status == 200)
            #expect(origin.requests.map(\.target) == ["/f?%5Dc%5B=2&a%5Bb%5D=1"])
        }
    }

    @Test("Parameters stay separate if their names differ only in the Unicode form of an accent")
    func canonicallyEquivalentNames() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let text = "url=\(origin.url("/f").percentEncoded)&params[%C3%A9]=1&params[e%CC%81]=2"
            #expect(try await server.client.request("POST", "/download", fields: form, text: text).status == 200)
            #expect(origin.requests.first?.target == "/f?e%CC%81=2&%C3%A9=1")
        }
    }

    @Test("In params[NAME] of a form, NAME may begin or end with a character that combines with a bracket")
    func signsBesideBrackets() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let text = "url=\(origin.url("/f").percentEncoded)&params[%CC%81a]=1&params[b%D8%81]=2"
            #expect(try await server.client.request("POST", "/download", fields: form, text: text).status == 200)
            #expect(origin.requests.first?.target == "/f?b%D8%81=2&%CC%81a=1")
        }
    }

    @Test("Empty tags in a form or query count towards the limit, and a comma before a combining accent separates tags")
    func countedTags() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let beginnings = (form: "url=\(origin.url("/f").percentEncoded)", path: "/entries/k/content?ttl=9")
            for (count, status) in [(64, 200), (65, 400)] {
                for tags in [
                    String(repeating: "&tags=", count: count), "&tags=" + String(repeating: ",", count: count - 1),
                ] {
                    let stored = try await server.client.request("PUT", beginnings.path + tags, text: "x")
                    #expect(stored.status == status)
                    let text = beginnings.form + tags
                    let downloaded = try await server.client.request("POST", "/download", fields: form, text: text)
                    #expect(downloaded.status == status)
                }
            }
            let tags: JSON = ["a", "\u{301}b"]
            let stored = try await server.client.request("PUT", beginnings.path + "&tags=a,%CC%81b", text: "x")
            #expect(try stored.member("tags") == tags)
            let text = beginnings.form + "&tags=a,%CC%81b&refresh=true"
            let downloaded = try await server.client.request("POST", "/download", fields: form, text: text)
            #expect(try downloaded.member("entry", "tags") == tags)
        }
    }

    @Test(
        "The time to read a form grows at most in proportion to the number of its parameters", .timeLimit(.minutes(1)))
    func manyNames() async throws {
        try await TestServer.with { (server) async throws in
            for name in ["params[%x]=", "%x=", "params[a]=%x"] {
                let names = (0..<70_000).map { name.replacing("%x", with: String($0, radix: 36)) }
                let reply = try await server.client.request(
                    "POST", "/download", fields: form, text: names.joined(separator: "&"))
                #expect(reply.status == 400)
            }
        }
    }
}
