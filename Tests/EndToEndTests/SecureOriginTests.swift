import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Origins over HTTPS, HTTP/2 and FTP")
struct SecureOriginTests {
    @Test("A download over HTTPS succeeds when the origin's CA is trusted, and gets 502 when it is not")
    func https() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "over TLS") }
        defer { origin.stop() }
        let front = try await TLSFront(originPort: origin.port)
        defer { front.stop() }
        let url = JSON.string(front.url("/a"))
        try await TestServer.with(authority: front.authority.certificateFile) { (server) async throws in
            let reply = try await server.download(["url": url, "ttl": 60])
            #expect(reply.status == 200, "\(reply.text)")
            let key = try #require(try reply.member("entry", "key")?.stringValue)
            #expect(try await server.get("/entries/\(key)/content").text == "over TLS")
        }
        try await TestServer.with { (server) async throws in
            let reply = try await server.download(["url": url])
            #expect(reply.status == 502)
            #expect(try reply.member("curlCode") == 60)
        }
    }

    @Test("A download over FTP succeeds when the permitted schemes include ftp, and gets 403 when they do not")
    func ftp() async throws {
        let file = (0..<300_000).map { UInt8($0 % 250) }
        let origin = try ScriptedFTPOrigin(files: ["/pub/file.bin": file])
        defer { origin.stop() }
        try await TestServer.with(configure: { $0.schemes = ["http", "https", "ftp"] }) { (server) async throws in
            let reply = try await server.download(["url": .string(origin.url("/pub/file.bin")), "ttl": 60])
            #expect(reply.status == 200, "\(reply.text)")
            let key = try #require(try reply.member("entry", "key")?.stringValue)
            #expect(try await server.get("/entries/\(key)/content").body == file)
            #expect(try await server.download(["url": .string(origin.url("/pub/none"))]).status == 502)
        }
        try await TestServer.with { (server) async throws in
            #expect(try await server.download(["url": .string(origin.url("/pub/file.bin"))]).status == 403)
        }
    }

    @Test("Larder follows a redirect, but not to a scheme or an address that is not allowed")
    func redirects() async throws {
        let target = try ScriptedOrigin { _, connection in try connection.respond(body: "there") }
        defer { target.stop() }
        let origin = try ScriptedOrigin { request, connection in
            let location =
                switch request.target {
                case "/ok": target.url("/there")
                case "/file": "file:///etc/passwd"
                case "/private": "http://[::1]:\(target.port)/"
                default: request.target
                }
            try connection.respond(302, fields: [.location: location])
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let reply = try await server.download(["url": .string(origin.url("/ok")), "ttl": 60])
            #expect(reply.status == 200, "\(reply.text)")
            // The entry belongs to the requested URL, not to the target of the redirect.
            #expect(try await server.content(of: origin.url("/ok")) == "there")
            #expect(try await server.download(["url": .string(origin.url("/file"))]).status == 403)
            #expect(try await server.download(["url": .string(origin.url("/private"))]).status == 403)
            #expect(try await server.download(["url": .string(origin.url("/loop"))]).status == 502)
            #expect(target.requestCount == 1)
        }
    }
}
