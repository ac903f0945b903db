import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Archives of pages over HTTP")
struct ArchiveRouteTests {
    private func upload(
        _ server: TestServer, _ file: [UInt8], _ query: String = "", sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> HTTPReply {
        try await server.client.request(
            "POST", "/pages/import" + query, fields: [.contentType: "application/octet-stream"], body: file,
            sourceLocation: sourceLocation)
    }

    @Test("An exported page has a replay in another server, without its origin", arguments: ["warc", "wacz"])
    func roundTrip(format: String) async throws {
        let origin = try PageOrigin.start()
        let key = md5(origin.url("/")) + "-page"
        let urls = ["/", "/style.css", "/image.png", "/back.png"].map { origin.url($0) }
        let file = try await TestServer.with { (server) async throws in
            _ = try await server.capture(["url": .string(origin.url("/"))])
            let file = try await server.get("/pages/\(key)/export?format=\(format)")
            #expect(file.status == 200 && file["Content-Type"] == "application/\(format)")
            let name = format == "warc" ? "\(key).warc.gz" : "\(key).wacz"
            #expect(file["Content-Disposition"] == "attachment; filename=\"\(name)\"")
            let head = try await server.client.request("HEAD", "/pages/\(key)/export?format=\(format)")
            #expect(head.status == 200 && head.body.isEmpty)
            return file.body
        }
        origin.stop()
        try await TestServer.with { (server) async throws in
            let page = try await upload(server, file, "?url=\(origin.url("/").percentEncoded)&ttl=60&tags=a,b")
            #expect(page.status == 200, "\(page.text)")
            #expect(try page.member("state") == "complete" && page.member("mode") == "imported")
            #expect(try page.member("key")?.stringValue == key && page.member("captured") == 4)
            #expect(try page.member("entry", "tags")?.arrayValue == ["a", "b"])
            let place = try await server.openView(key)
            for url in urls { #expect(try await server.get(place + url).status == 200) }
            #expect(try await server.get(place + origin.url("/image.png")).text == "PNG of /image.png")
            // Without url, the page is found in the file.
            #expect(try await upload(server, file).member("key")?.stringValue == key)
        }
    }

    @Test("A file that is no archive, or has no page, is refused, and stores no page")
    func refused() async throws {
        try await TestServer.with { (server) async throws in
            #expect(try await upload(server, Array("hello hello".utf8)).status == 400)
            #expect(try await upload(server, Array("hello hello".utf8), "?url=http://h.example/").status == 400)
            let empty = Array("WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n".utf8)
            #expect(try await upload(server, empty).status == 422)
            #expect(try await upload(server, empty, "?url=nonsense").status == 400)
            #expect(try await server.get("/entries").member("entries")?.arrayValue == [])
            #expect(try await server.get("/pages/none/export").status == 404)
            #expect(try await server.get("/pages/\(md5("x"))-page/export").status == 404)
        }
    }

    @Test("An archive without room beside the pinned entries gets 507, and evicts no entry")
    func noRoom() async throws {
        try await TestServer.with(configure: { $0.diskLimit = 4 << 20 }) { (server) async throws in
            try await server.put("pinned", Array(repeating: 0x20, count: 3_500_000), query: "pinned=true")
            try await server.put("other", Array(repeating: 0x20, count: 100_000))
            let refused = try await upload(server, Array(repeating: 0x20, count: 680_000))
            #expect(refused.status == 507, "\(refused.text)")
            #expect(try await server.get("/entries/other").status == 200)
        }
    }

    @Test("An imported page counts the records that are no resources, and lists damaged responses")
    func results() async throws {
        func record(_ kind: String, _ url: String, _ block: String) -> String {
            """
            WARC/1.1\r\nWARC-Type: \(kind)\r\nWARC-Target-URI: \(url)\r\nWARC-Date: 2026-01-31T08:00:00Z\r\n\
            Content-Length: \(block.utf8.count)\r\n\r\n\(block)\r\n\r\n
            """
        }
        let page = record("response", "http://h.example/", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>")
        let file =
            page + page + record("resource", "http://h.example/r", "x")
            + record("response", "file:///etc/passwd", "HTTP/1.1 200 OK\r\n\r\n")
            + record("response", "http://h.example/cut", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")
        try await TestServer.with { (server) async throws in
            let imported = try await upload(server, Array(file.utf8))
            #expect(try imported.status == 200 && imported.member("state") == "partial", "\(imported.text)")
            let counts: JSON = ["noResponse": 1, "otherUrl": 1, "repeated": 1, "beyondLimit": 0]
            #expect(try imported.member("skipped") == counts)
            let failures = try #require(try imported.member("failures")?.arrayValue)
            #expect(failures.map { $0["url"] } == ["http://h.example/cut"])
            #expect(failures.first?["reason"] == "the body is shorter than its Content-Length")
        }
    }

    @Test("An archive beyond a quarter of the disk limit gets 413")
    func large() async throws {
        try await TestServer.with(configure: { $0.diskLimit = 4 << 20 }) { (server) async throws in
            #expect(try await upload(server, Array(repeating: 0x20, count: 2 << 20)).status == 413)
        }
    }
}
