import HTTPTypes
import TestSupport
import Testing

@testable import Larder

/// Answers that are not stored, and ranges that clients request while a fetch of the whole body runs.
@Suite("Answers of /fetch for a single client")
struct FetchOwnAnswerTests {
    private func get(_ server: TestServer, _ url: String, _ fields: HTTPFields = [:]) async throws -> HTTPReply {
        try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + url, fields: fields)
    }

    @Test(
        "Larder evaluates a client's condition even against an answer that it may not store",
        arguments: ["private, max-age=60", "no-store", "max-age=60"])
    func conditions(control: String) async throws {
        let origin = try ScriptedOrigin { request, connection in
            let date = "Sun, 06 Nov 1994 08:49:37 GMT"
            try connection.respond(
                fields: [.cacheControl: control, .eTag: "\"v7\"", .lastModified: date], body: "0123456789")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let own: HTTPFields = control == "max-age=60" ? [.authorization: "Bearer abc"] : [:]
            func reply(_ path: String, _ name: HTTPField.Name, _ value: String) async throws -> HTTPReply {
                var fields = own
                fields[name] = value
                return try await get(server, origin.url(path), fields)
            }
            // From the second request on, Larder knows that the answers of this URL are not stored.
            for _ in 0..<3 {
                let known = try await reply("/a", .ifNoneMatch, "\"v6\", W/\"v7\"")
                #expect(known.status == 304 && known.body.isEmpty && known[.eTag] == "\"v7\"")
                #expect(known["Cache-Status"]?.contains("fwd-status=200") == true)
            }
            #expect(try await reply("/b", .ifModifiedSince, "Sun, 06 Nov 1994 08:49:37 GMT").status == 304)
            #expect(try await reply("/c", .ifNoneMatch, "\"v8\"").text == "0123456789")
            let range = try await reply("/d", .range, "bytes=0-")
            #expect(range.status == 206 && range[.contentRange] == "bytes 0-9/10" && range.text == "0123456789")
        }
    }

    @Test(
        "If-Modified-Since gets 200 if the answer has no Last-Modified; a 304 for If-None-Match has the origin's cookie"
    )
    func weakConditions() async throws {
        let origin = try ScriptedOrigin { request, connection in
            var fields: HTTPFields = [.cacheControl: "no-store", .setCookie: "session=1", .eTag: "\"v7\""]
            if request.target.hasSuffix("/date") { fields[.eTag] = nil }
            try connection.respond(fields: fields, body: "0123456789")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let date = "Sun, 06 Nov 2095 08:49:37 GMT"
            let dated = try await get(server, origin.url("/date"), [.ifModifiedSince: date])
            #expect(dated.status == 200 && dated.text == "0123456789")
            let known = try await get(server, origin.url("/tag"), [.ifNoneMatch: "\"v7\""])
            #expect(known.status == 304 && known[.setCookie] == "session=1")
        }
    }

    @Test("A client's condition has no effect on an error of the origin")
    func conditionsOfErrors() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(404, fields: [.cacheControl: "no-store", .eTag: "\"v7\""], body: "gone")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            #expect(try await get(server, origin.url("/a"), [.ifNoneMatch: "\"v7\""]).status == 404)
        }
    }

    @Test(
        "If Larder will not store an answer, the fetch of the answer ends when its client leaves",
        arguments: [false, true])
    func abandoned(saysNoStore: Bool) async throws {
        let hasEnded = Counter("ended requests")
        let origin = try ScriptedOrigin { request, connection in
            if request.index == 0 { return try connection.respond(fields: [.cacheControl: "no-store"], body: "ok") }
            connection.waitForHangUp()
            hasEnded.add()
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            // Larder knows that the answer is not stored: from no-store in the request or in an earlier answer.
            let path = saysNoStore ? "/b" : "/a"
            #expect(try await get(server, origin.url("/a")).text == "ok")
            try await server.waitForFetches()
            let fields: HTTPFields = saysNoStore ? [.cacheControl: "no-store"] : [:]
            for number in 1...3 {
                let client = Task { try await get(server, origin.url(path), fields) }
                try await origin.waitForRequests(number + 1)
                client.cancel()
                _ = try? await client.value
            }
            try await hasEnded.wait(for: 3)
            try await server.waitForFetches()
        }
    }

    /// An origin with a body of 4 MiB. The first request for the whole body gets 1 MiB immediately, and the rest when
    /// the gate opens.
    private func film(_ gate: Gate, servesRanges: Bool = true, acceptRanges: String? = "bytes") throws -> ScriptedOrigin
    {
        let size = 4 << 20
        return try ScriptedOrigin { request, connection in
            var fields: HTTPFields = [
                .cacheControl: "max-age=60", .eTag: "\"film\"", .acceptRanges: acceptRanges ?? "",
            ]
            if acceptRanges == nil { fields[.acceptRanges] = nil }
            if servesRanges, let range = request["Range"] {
                let first = range.hasPrefix("bytes=-") ? size - 1000 : size - 2000
                fields[.contentRange] = "bytes \(first)-\(size - 1)/\(size)"
                return try connection.respond(206, fields: fields, body: String(repeating: "e", count: size - first))
            }
            fields[.contentLength] = "\(size)"
            try connection.sendHead(fields: fields)
            try connection.send(repeatElement(UInt8(ascii: "v"), count: 1 << 20))
            try gate.waitBlocking()
            try connection.send(repeatElement(UInt8(ascii: "v"), count: 3 << 20))
        }
    }

    @Test(
        "A range far ahead of the received bytes is requested from the origin separately",
        arguments: ["bytes=\((4 << 20) - 2000)-", "bytes=-1000"], ["bytes", nil])
    func farRange(range: String, acceptRanges: String?) async throws {
        let gate = Gate("the rest of the film")
        let origin = try film(gate, acceptRanges: acceptRanges)
        defer { origin.stop() }
        defer { gate.open() }
        try await TestServer.with { (server) async throws in
            async let whole = get(server, origin.url("/film"))
            try await poll("the first MiB") { server.service.metrics.receivedBytes.value >= 1 << 20 }
            for _ in 0..<3 {
                let end = try await get(server, origin.url("/film"), [.range: range])
                #expect(end.status == 206)
                #expect(end.text.allSatisfy { $0 == "e" })
            }
            #expect(origin.requestCount == 2)
            // A range that has arrived is read from the running fetch.
            #expect(try await get(server, origin.url("/film"), [.range: "bytes=5-9"]).text == "vvvvv")
            gate.open()
            #expect(try await whole.body.count == 4 << 20)
            #expect(origin.requestCount == 2)
        }
    }

    @Test(
        "If the origin does not serve ranges, a request for a range far ahead waits for the bytes",
        arguments: ["none", nil])
    func noRanges(acceptRanges: String?) async throws {
        let gate = Gate("the rest of the film")
        let origin = try film(gate, servesRanges: false, acceptRanges: acceptRanges)
        defer { origin.stop() }
        defer { gate.open() }
        try await TestServer.with { (server) async throws in
            async let whole = get(server, origin.url("/film"))
            try await poll("the first MiB") { server.service.metrics.receivedBytes.value >= 1 << 20 }
            let asked = acceptRanges == nil ? 2 : 1
            let joins = server.service.metrics.joins.value
            async let first = get(server, origin.url("/film"), [.range: "bytes=-1000"])
            if asked == 2 { try await origin.waitForRequests(2) }
            try await poll("the first MiB of each answer") { server.service.metrics.receivedBytes.value >= asked << 20 }
            async let second = get(server, origin.url("/film"), [.range: "bytes=-2000"])
            try await poll("the range requests to wait") { server.service.metrics.joins.value == joins + 3 - asked }
            gate.open()
            #expect(try await whole.body.count == 4 << 20)
            #expect(try await first.body.count == 1000)
            #expect(try await second.body.count == 2000)
            #expect(origin.requestCount == asked)
        }
    }
}
