import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("/fetch with partial answers (206), with HEAD, and with POST answers that have a Content-Location")
struct FetchPartsTests {
    private static let text = "0123456789abcdefghijklmnopqrstuvwxyz"

    /// Starts an origin that answers ranges of ``text``.
    private func origin(
        etag: @escaping @Sendable (ScriptedOrigin.Request) -> String = { _ in "\"v1\"" }
    ) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            var fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: etag(request)]
            let body = Array(Self.text.utf8)
            guard let range = request["Range"]?.dropFirst("bytes=".count).split(separator: "-").compactMap({ Int($0) }),
                range.count == 2
            else {
                if request["If-None-Match"] == fields[.eTag] { return try connection.respond(304, fields: fields) }
                return try connection.respond(fields: fields, body: body)
            }
            fields[.contentRange] = "bytes \(range[0])-\(range[1])/\(body.count)"
            try connection.respond(206, fields: fields, body: body[range[0]...range[1]])
        }
    }

    /// Requests a URL. Returns the answer after the cache has written the result.
    private func get(_ server: TestServer, _ url: String, _ fields: HTTPFields = [:]) async throws -> HTTPReply {
        let reply = try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + url, fields: fields)
        try await server.waitForFetches()
        return reply
    }

    @Test("Stored 206 answers serve ranges within one answer and across several (RFC 9111 §3.3, §3.4)")
    func combined() async throws {
        let origin = try origin()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            #expect(try await get(server, url, [.range: "bytes=0-9"]).text == "0123456789")
            #expect(try await get(server, url, [.range: "bytes=2-4"]).text == "234")
            #expect(origin.requestCount == 1)
            #expect(try await get(server, url, [.range: "bytes=10-19"]).text == "abcdefghij")
            #expect(origin.requestCount == 2)
            let across = try await get(server, url, [.range: "bytes=8-11"])
            #expect(across.status == 206)
            #expect(across.text == "89ab")
            #expect(across[.contentRange] == "bytes 8-11/36")
            #expect(across["Cache-Status"]?.hasPrefix("larder; hit") == true)
            #expect(origin.requestCount == 2)
            // The client requests a range beyond the stored parts, and then the whole body.
            #expect(try await get(server, url, [.range: "bytes=18-35"]).text == "ijklmnopqrstuvwxyz")
            #expect(origin.requestCount == 3)
            let whole = try await get(server, url)
            #expect(whole.status == 200)
            #expect(whole.text == Self.text)
            #expect(whole[.contentRange] == nil)
            #expect(origin.requestCount == 3)
        }
    }

    @Test("A request for a range within a 206 answer that is still arriving gets only the bytes of the range")
    func comingPart() async throws {
        let (hasHead, isAnswered) = (Gate("the first client has a head"), Gate("the second client has its answer"))
        let origin = try ScriptedOrigin { request, connection in
            let range = request.index == 0 ? 0...9 : 2...4
            try connection.sendHead(
                206,
                fields: [
                    .cacheControl: "max-age=60", .eTag: "\"v1\"", .contentLength: String(range.count),
                    .contentRange: "bytes \(range.lowerBound)-\(range.upperBound)/36",
                ])
            if request.index == 0 { try isAnswered.waitBlocking() }
            try connection.send(Array(Self.text.utf8)[range])
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let target = "/fetch/" + origin.url("/a")
            let client = HTTPClient(port: server.api.port)
            async let first = client.withConnection { connection in
                try connection.sendRequest("GET", target, fields: [.range: "bytes=0-9"])
                #expect(try connection.readHead().status == 206)
                hasHead.open()
                return try connection.read(10)
            }
            try await hasHead.wait()
            let second = try await client.request("GET", target, fields: [.range: "bytes=2-4"])
            isAnswered.open()
            #expect(second.text == "234")
            #expect(second[.contentRange] == "bytes 2-4/36")
            #expect(try await first == Array("0123456789".utf8))
        }
    }

    @Test(
        "If a stored part's file has a new date, Larder verifies the part and serves it, but fetches a damaged part again"
    )
    func touchedPart() async throws {
        let whole = pattern(200_000, seed: 7)
        let origin = try ScriptedOrigin { _, connection in
            let fields: HTTPFields = [
                .cacheControl: "max-age=60", .eTag: "\"v1\"", .contentRange: "bytes 0-99999/200000",
            ]
            try connection.respond(206, fields: fields, body: whole[..<100_000])
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            func fetch(_ expectedRequests: Int) async throws -> String {
                let reply = try await get(server, origin.url("/a"), [.range: "bytes=0-99999"])
                #expect(reply.body == Array(whole[..<100_000]))
                #expect(origin.requestCount == expectedRequests)
                try await server.space.cache.flush()
                server.space.cache.trimMemory(toBytes: 0)
                return try #require(try server.space.cache.list().entries.first?.localPath)
            }
            for date in [1.0, 2] {
                let path = try await fetch(1)
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: date)], ofItemAtPath: path)
            }
            let damaged = try FileHandle(forWritingTo: URL(fileURLWithPath: try await fetch(1)))
            try damaged.write(contentsOf: Data("damage".utf8))
            try damaged.close()
            _ = try await fetch(2)
        }
    }

    @Test(
        "A 304 or a HEAD that confirms stale parts makes them fresh, and they stay parts (RFC 9111 §4.3.4, §4.3.5)",
        arguments: [18, 36],
        ["GET", "HEAD"])
    func confirmed(held: Int, method: String) async throws {
        let origin = try origin()
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await get(server, url, [.range: "bytes=2-9"])
            _ = try await get(server, url, [.range: "bytes=0-1"])
            _ = try await get(server, url, [.range: "bytes=10-\(held - 1)"])
            server.clock.advance(by: .seconds(61))
            if method == "HEAD" {
                _ = try await HTTPClient(port: server.api.port).request("HEAD", "/fetch/" + url)
                try await server.waitForFetches()
            }
            for _ in 0..<2 {
                let across = try await get(server, url, [.range: "bytes=1-12"])
                #expect(across.status == 206)
                #expect(across.text == "123456789abc")
                #expect(across[.contentRange] == "bytes 1-12/36")
            }
            #expect(origin.requestCount == 4)
            let whole = try await get(server, url)
            #expect(whole.status == 200)
            #expect(whole.text == Self.text)
            #expect(origin.requestCount == (held == 36 ? 4 : 5))
        }
    }

    @Test("Larder never combines parts of two versions of a body")
    func versions() async throws {
        let origin = try origin(etag: { "\"v\($0.index)\"" })
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await get(server, url, [.range: "bytes=0-9"])
            _ = try await get(server, url, [.range: "bytes=10-19"])
            _ = try await get(server, url, [.range: "bytes=8-11"])
            #expect(origin.requestCount == 3)
        }
    }

    @Test("A 206 answer without a strong validator is passed on and not stored (RFC 9111 §3.4)")
    func weak() async throws {
        let origin = try origin(etag: { _ in "W/\"v1\"" })
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for _ in 0..<2 {
                #expect(try await get(server, origin.url("/a"), [.range: "bytes=0-9"]).text == "0123456789")
            }
            #expect(origin.requestCount == 2)
            #expect(server.space.cache.totals.entries == 0)
        }
    }

    @Test(
        "A 206 answer of another length than its Content-Range is passed on, not stored (RFC 9110 §15.3.7)",
        arguments: [3, 12], [true, false])
    func mismatched(count: Int, isChunked: Bool) async throws {
        let origin = try ScriptedOrigin { request, connection in
            let fields: HTTPFields = [
                .cacheControl: "max-age=60", .eTag: "\"v1\"", .contentRange: "bytes 2-8/36",
            ]
            let body = Array(Self.text.utf8.prefix(request.index == 0 ? count : 7))
            guard isChunked else { return try connection.respond(206, fields: fields, body: body) }
            try connection.startChunks(206, fields: fields)
            try connection.sendChunk(body)
            try connection.endChunks()
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            #expect(try await get(server, url, [.range: "bytes=2-8"]).body.count == count)
            let again = try await get(server, url, [.range: "bytes=2-8"])
            #expect(again.status == 206)
            #expect(again.body.count == 7)
            #expect(origin.requestCount == 2)
        }
    }

    @Test(
        "The answer to HEAD freshens the stored answer or causes its validation (RFC 9111 §4.3.5)",
        arguments: [true, false])
    func head(isSame: Bool) async throws {
        let origin = try ScriptedOrigin { request, connection in
            let isLater = request.index > 0
            let tag = isLater && !isSame ? "\"v2\"" : "\"v1\""
            let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: tag]
            if request["If-None-Match"] == tag { return try connection.respond(304, fields: fields) }
            try connection.respond(fields: fields, body: "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await get(server, url)
            server.clock.advance(by: .seconds(61))
            let head = try await HTTPClient(port: server.api.port).request("HEAD", "/fetch/" + url)
            #expect(head.status == 200)
            #expect(head[.contentLength] == "4")
            #expect(origin.requests.last?.method == "HEAD")
            try await server.waitForFetches()
            _ = try await get(server, url)
            #expect(origin.requestCount == (isSame ? 2 : 3))
        }
    }

    @Test("The answer to a POST with the POST's URL as Content-Location serves later GETs (RFC 9110 §9.3.3)")
    func post() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let fields: HTTPFields = [.cacheControl: "max-age=60", .contentLocation: request.target]
            try connection.respond(fields: fields, body: "\(request.method) \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let target = "/fetch/" + origin.url("/a")
            let client = HTTPClient(port: server.api.port)
            #expect(try await client.request("GET", target).text == "GET 0")
            #expect(try await client.request("POST", target, text: "x").text == "POST 1")
            try await server.waitForFetches()
            #expect(try await client.request("GET", target).text == "POST 1")
            #expect(try await client.request("POST", target, text: "x").text == "POST 2")
            #expect(origin.requestCount == 3)
        }
    }
}

extension TestServer {
    /// Waits until all requests to origins have ended and the cache has written their results.
    func waitForFetches() async throws {
        try await poll("requests to origins to end", every: .milliseconds(1)) { space.gateway.fetchCount == 0 }
        try await space.cache.flush()
    }
}

extension HTTPReply {
    subscript(name: HTTPField.Name) -> String? { fields[name] }
}
