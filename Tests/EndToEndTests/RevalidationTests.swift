import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The revalidation of entries")
struct RevalidationTests {
    @Test("A 304 from another URL than the stored body's URL is not accepted, and Larder downloads the body")
    func redirectMoved() async throws {
        let dates = ["/v1": "Sat, 10 Jan 2026 00:00:00 GMT", "/v2": "Mon, 05 Jan 2026 00:00:00 GMT"]
        let origin = try ScriptedOrigin { request, connection in
            switch request.target {
            case "/latest": try connection.respond(302, fields: [.location: request.index == 0 ? "/v1" : "/v2"])
            case let target where request["If-Modified-Since"] != nil:
                try connection.respond(304, fields: [.lastModified: dates[target]!])
            case let target: try connection.respond(fields: [.lastModified: dates[target]!], body: target)
            }
        }
        defer { origin.stop() }
        try await TestServer.with { server in
            let url = origin.url("/latest")
            let call: JSON = ["url": .string(url), "ttl": 20]
            _ = try await server.download(call)
            server.clock.advance(by: .seconds(30))
            #expect(try await server.download(call).member("outcome") == "downloaded")
            #expect(try await server.content(of: url) == "/v2")
        }
    }

    @Test("A 304 with another ETag than the entry's ETag is not accepted, and Larder downloads the body")
    func otherVersion() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request["If-None-Match"] != nil { return try connection.respond(304, fields: [.eTag: "\"2\""]) }
            try connection.respond(fields: [.eTag: "\"\(request.index == 0 ? 1 : 2)\""], body: "body \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with { server in
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 20]
            _ = try await server.download(call)
            server.clock.advance(by: .seconds(30))
            #expect(try await server.download(call).member("outcome") == "downloaded")
            #expect(try await server.content(of: origin.url("/a")) == "body 2")
        }
    }

    @Test(
        "A 304 with another strong ETag confirms an entry only if Last-Modified is a strong date (RFC 9110 §8.8.2.2)",
        arguments: [("W/\"1\"", true), ("\"1-gzip\"", true), ("W/\"1\"", false)])
    func strongDate(tag: String, isStrong: Bool) async throws {
        // For a download, a date counts as strong only if it is at least 61 seconds before the download.
        let start = Timestamp(seconds: 1_767_225_600)
        let modified = (start - .seconds(isStrong ? 3600 : 30)).httpDate
        let origin = try ScriptedOrigin { request, connection in
            let isKnown = request["If-None-Match"] == tag
            try connection.respond(
                isKnown ? 304 : 200, fields: [.eTag: isKnown ? "\"1\"" : tag, .lastModified: modified],
                body: isKnown ? "" : "body \(request.index)")
        }
        defer { origin.stop() }
        try await TestServer.with(clock: ManualClock(start)) { (server) async throws in
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 20]
            _ = try await server.download(call)
            for _ in 0..<2 {
                server.clock.advance(by: .seconds(30))
                let outcome = try await server.download(call).member("outcome")
                #expect(outcome == (isStrong ? "revalidated" : "downloaded"))
            }
            #expect(try await server.content(of: origin.url("/a")) == (isStrong ? "body 0" : "body 4"))
        }
    }

    /// RFC 9111 §4.3.4: fields of the 304 replace the stored fields of the same name, and all other fields stay.
    @Test(
        "A 304 without freshness keeps the stored freshness, and a 304 with freshness replaces it",
        arguments: [
            ("no-cache", "", 0), ("max-age=60", "", 60), ("max-age=60", "max-age=90", 90), ("", "max-age=5", 5),
        ])
    func freshnessOf304(stored: String, of304: String, seconds: Int) async throws {
        let origin = try ScriptedOrigin { request, connection in
            let isConditional = request["If-None-Match"] != nil
            var fields: HTTPFields = [.eTag: "\"1\""]
            let control = isConditional ? of304 : stored
            if !control.isEmpty { fields[.cacheControl] = control }
            try connection.respond(isConditional ? 304 : 200, fields: fields, body: isConditional ? "" : "x")
        }
        defer { origin.stop() }
        try await TestServer.with { server in
            let url = JSON.string(origin.url("/a"))
            _ = try await server.download(["url": url])
            server.clock.advance(by: .seconds(8 * 86_400))
            // The second validation shows which fields the entry has after the first 304.
            for _ in 0..<2 {
                let reply = try await server.download(["url": url, "refresh": true])
                #expect(try reply.member("outcome") == "revalidated")
                #expect(try reply.member("entry", "expiresInSeconds") == .number(seconds))
            }
        }
    }

    /// Answers a conditional request, once the gate is open, with a 304 that names another ETag.
    private func unconfirmingOrigin(_ gate: Gate) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            guard request["If-None-Match"] != nil else {
                return try connection.respond(fields: [.eTag: "\"1\""], body: "body \(request.index)")
            }
            try gate.waitBlocking()
            try connection.respond(304, fields: [.eTag: "\"2\""])
        }
    }

    @Test("JSON that is stored during a revalidation stays, even if the revalidation leads to a new body")
    func storedDuringRevalidation() async throws {
        let gate = Gate("the JSON has been stored")
        let origin = try unconfirmingOrigin(gate)
        defer { origin.stop() }
        try await TestServer.with { server in
            let url = origin.url("/a")
            let call: JSON = ["url": .string(url), "ttl": 20]
            _ = try await server.download(call)
            server.clock.advance(by: .seconds(30))
            async let download = server.download(call)
            try await origin.waitForRequests(2)
            let stored = try await server.client.request(
                "PUT", "/json?url=\(url.percentEncoded)&ttl=60", fields: [.contentType: "application/json"],
                text: #"{"of": "the caller"}"#)
            #expect([200, 201].contains(stored.status))
            gate.open()
            #expect(try await download.status == 200)
            #expect(origin.requestCount == 3)
            #expect(try await server.content(of: url) == #"{"of": "the caller"}"#)
        }
    }

    @Test("A PATCH during a revalidation stays in effect, even if the revalidation leads to a new body")
    func patchDuringRevalidation() async throws {
        let gate = Gate("the entry has been changed")
        let origin = try unconfirmingOrigin(gate)
        defer { origin.stop() }
        try await TestServer.with { server in
            let url = origin.url("/a")
            let call: JSON = ["url": .string(url), "ttl": 20, "tags": ["a"]]
            _ = try await server.download(call)
            server.clock.advance(by: .seconds(30))
            async let download = server.download(call)
            try await origin.waitForRequests(2)
            let reply = try await server.client.request(
                "PATCH", "/entries/\(md5(url))", fields: [.contentType: "application/json"],
                text: #"{"ttl": 500, "tags": ["c"]}"#)
            #expect(reply.status == 200)
            gate.open()
            let entry = try await download.member("entry")
            #expect(entry?["tags"] == ["c"] && entry?["expiresInSeconds"] == 500)
            #expect(try await server.content(of: url) == "body 2")
        }
    }

    @Test(
        "If a body is damaged, a download with respond-async downloads it again instead of reporting it as cached")
    func asyncLooksAtTheBody() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(body: String(repeating: "x", count: 100_000))
        }
        defer { origin.stop() }
        try await TestServer.with(configure: { $0.memoryLimit = 0 }) { server in
            let url = origin.url("/a")
            let entry = try await server.download(["url": .string(url), "ttl": 60]).member("entry")
            try FileManager.default.removeItem(atPath: try #require(entry?["localPath"]?.stringValue))
            let reply = try await server.client.request(
                "POST", "/download",
                fields: [.contentType: "application/json", HTTPField.Name("Prefer")!: "respond-async"],
                body: JSON.object([.init("url", .string(url))]).utf8)
            #expect(reply.status == 202)
            try await server.waitForSuccess(of: url)
            #expect(try await server.get("/entries/\(md5(url))/content").status == 200)
        }
    }

    @Test("Simultaneous hits add all their tags to the entry")
    func tagsUnite() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { server in
            let url = JSON.string(origin.url("/a"))
            _ = try await server.download(["url": url, "ttl": 60, "tags": ["first"]])
            let replies = try await concurrently(20) { number in
                try await server.download(["url": url, "tags": [.string("t\(number)")]])
            }
            for (number, reply) in replies.enumerated() {
                #expect(try reply.member("entry", "tags")?.arrayValue?.contains(.string("t\(number)")) == true)
            }
            let tags = try await server.get("/entries/\(md5(origin.url("/a")))").member("tags")?.arrayValue ?? []
            #expect(Set(tags) == Set(["first"] + (0..<20).map { JSON.string("t\($0)") }))
        }
    }
}
