import HTTPTypes
import TestSupport
import Testing

@testable import Larder

@Suite("Requests for one URL that overtake each other")
struct FetchRaceTests {
    private func get(_ server: TestServer, _ url: String, _ fields: HTTPFields = [:]) async throws -> HTTPReply {
        try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + url, fields: fields)
    }

    @Test("The answer to an earlier request does not replace the answer to a later request", arguments: [false, true])
    func overtaken(isHeadLate: Bool) async throws {
        let gate = Gate("the newer answer to be stored")
        let origin = try ScriptedOrigin { request, connection in
            let (fields, body): (HTTPFields, String) = ([.cacheControl: "max-age=60"], "version \(request.index)")
            guard request.index == 0 else { return try connection.respond(fields: fields, body: body) }
            if isHeadLate { try gate.waitBlocking() }
            try connection.sendHead(fields: [.cacheControl: "max-age=60", .contentLength: "\(body.utf8.count)"])
            try connection.send("ver")
            if !isHeadLate { try gate.waitBlocking() }
            try connection.send("sion 0")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            async let older = get(server, origin.url("/a"))
            try await origin.waitForRequests(1)
            server.clock.advance(by: .seconds(1))
            #expect(try await get(server, origin.url("/a"), [.cacheControl: "no-cache"]).text == "version 1")
            try await poll("the newer answer to be stored") { server.space.gateway.fetchCount == 1 }
            gate.open()
            #expect(try await older.text == "version 0")
            try await server.waitForFetches()
            #expect(try await get(server, origin.url("/a")).text == "version 1")
            #expect(origin.requestCount == 2)
        }
    }

    @Test("A new answer replaces an answer that Larder stored while its clock was ahead")
    func clockSetBack() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "\(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            server.clock.advance(by: .seconds(3600))
            #expect(try await get(server, origin.url("/a")).text == "0")
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(-3600))
            #expect(try await get(server, origin.url("/a"), [.cacheControl: "no-cache"]).text == "1")
            try await server.waitForFetches()
            #expect(try await get(server, origin.url("/a")).text == "1")
        }
    }

    @Test("If a purge removes the response that waiting clients validate, the clients share one new request")
    func purgedMeanwhile() async throws {
        let (validation, answer) = (Gate("all clients to wait"), Gate("all clients to wait again"))
        let origin = try ScriptedOrigin { request, connection in
            let fields: HTTPFields = [.cacheControl: "max-age=1", .eTag: "\"v1\""]
            if request["If-None-Match"] != nil {
                try validation.waitBlocking()
                return try connection.respond(304, fields: fields)
            }
            if request.index > 0 { try answer.waitBlocking() }
            try connection.respond(fields: fields, body: "hello")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            #expect(try await get(server, url).text == "hello")
            try await server.waitForFetches()
            server.clock.advance(by: .seconds(3))
            let joins = server.service.metrics.joins
            let before = joins.value
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<10 { group.addTask { try await get(server, url).text } }
                try await poll("all clients but one to wait") { joins.value == before + 9 }
                // The purge comes after the look into the cache that precedes the validation.
                try await origin.waitForRequests(2)
                let purge = try await HTTPClient(port: server.api.port).request("DELETE", "/entries?url=" + url)
                #expect(purge.status == 200)
                validation.open()
                try await poll("all clients but one to wait again") { joins.value == before + 18 }
                answer.open()
                for try await text in group { #expect(text == "hello") }
            }
            #expect(origin.requestCount == 3)
        }
    }

    @Test(
        "If a copy of the same version is stored during a validation, the 304 confirms the copy without a new request")
    func sameVersion() async throws {
        let gate = Gate("the newer copy to be stored")
        let origin = try ScriptedOrigin { request, connection in
            let fields: HTTPFields = [.cacheControl: "max-age=0", .eTag: "\"v1\""]
            if request.index == 1 {
                try gate.waitBlocking()
                return try connection.respond(304, fields: fields)
            }
            try connection.respond(fields: fields, body: "hello")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            #expect(try await get(server, origin.url("/a")).text == "hello")
            try await server.waitForFetches()
            async let validated = get(server, origin.url("/a"))
            try await origin.waitForRequests(2)
            #expect(try await get(server, origin.url("/a"), [.ifMatch: "\"v1\""]).text == "hello")
            try await poll("the newer copy to be stored") { server.space.gateway.fetchCount == 1 }
            gate.open()
            let reply = try await validated
            #expect(reply.text == "hello")
            #expect(reply[.cacheStatus]?.contains("fwd-status=304") == true)
            #expect(origin.requestCount == 3)
        }
    }

    @Test(
        "After a 304 that only its own client may use, simultaneous clients do not wait for each other",
        arguments: [[:], [.range: "bytes=5-9", .ifNoneMatch: "\"v1\""]] as [HTTPFields])
    func unshareable304(fields: HTTPFields) async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request["If-None-Match"] != nil {
                // To a request without Range, the origin answers with another ETag than the ETag that Larder validates.
                return try connection.respond(304, fields: [.eTag: request["Range"] == nil ? "\"v2\"" : "\"v1\""])
            }
            try connection.respond(fields: [.cacheControl: "no-cache", .eTag: "\"v1\""], body: "hello")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for _ in 0..<2 {
                _ = try await get(server, origin.url("/a"), fields)
                try await server.waitForFetches()
            }
            let joins = server.service.metrics.joins.value
            _ = try await concurrently(8) { _ in try await get(server, origin.url("/a"), fields) }
            #expect(server.service.metrics.joins.value == joins)
        }
    }
}
