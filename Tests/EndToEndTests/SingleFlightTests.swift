import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Single flight: one origin request per key at a time")
struct SingleFlightTests {
    @Test("200 simultaneous clients of one slow URL cause a single request to the origin")
    func twoHundredClients() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            let call: JSON = ["url": .string(origin.url("/slow")), "ttl": 60]
            async let replies = concurrently(200) { _ in try await server.download(call) }
            try await server.waitForWaiters(200)
            gate.open()
            let outcomes = try await replies.map { try $0.member("outcome")?.stringValue ?? "" }
            #expect(outcomes.filter { $0 == "downloaded" }.count == 1)
            #expect(outcomes.filter { $0 == "joined" }.count == 199)
            #expect(origin.requestCount == 1)
        }
    }

    @Test("If clients disconnect, even the client that started the download, the other clients get their answer")
    func hangUps() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            let call: JSON = ["url": .string(origin.url("/slow")), "ttl": 60]
            let leaving = try await server.post(call, to: "/download", connections: 100)
            try await server.waitForWaiters(100)
            async let replies = concurrently(100) { _ in try await server.download(call) }
            try await server.waitForWaiters(200)
            for connection in leaving { connection.close() }
            try await server.waitForWaiters(100)
            gate.open()
            for reply in try await replies { #expect(try reply.member("outcome") == "joined") }
            #expect(origin.requestCount == 1)
        }
    }

    @Test("A joining caller with too many tags gets 400, and does not affect the waiters")
    func tooManyTags() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            @Sendable func call(_ tags: Range<Int>) -> JSON {
                ["url": .string(origin.url("/slow")), "tags": .array(tags.map { .string("\($0)") })]
            }
            async let first = server.download(call(0..<60))
            try await server.waitForWaiters(1)
            async let others = concurrently(3) { try await server.download(call(($0 + 1) * 60..<($0 + 2) * 60)) }
            try await server.waitForWaiters(4)
            #expect(try await server.download(call(240..<257)).status == 400)
            async let last = server.download(call(240..<256))
            try await server.waitForWaiters(5)
            gate.open()
            #expect(try await first.status == 200)
            for reply in try await others { #expect(reply.status == 200) }
            #expect(try await last.member("entry", "tags")?.arrayValue?.count == 256)
        }
    }

    @Test("A download with refresh does not join a download that began earlier, and gets the origin's newer body")
    func refreshDuringDownload() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            async let first = server.download(["url": .string(origin.url("/slow")), "ttl": 60])
            try await server.waitForWaiters(1)
            let call: JSON = ["url": .string(origin.url("/slow")), "ttl": 60, "refresh": true]
            async let refreshes = concurrently(3) { _ in try await server.download(call) }
            try await poll("the refreshes to wait for the next download") {
                server.space.downloads.laterCount(of: CacheKey.url(canonical: origin.url("/slow")).text) == 3
            }
            gate.open()
            #expect(try await first.member("outcome") == "downloaded")
            let outcomes = try await refreshes.map { try $0.member("outcome")?.stringValue ?? "" }.sorted()
            #expect(outcomes.filter { $0 == "joined" }.count == 2)
            #expect(origin.requestCount == 2)
        }
    }

    @Test("If a PATCH comes during a refresh, the entry keeps the tags, the pin and the ttl of the PATCH")
    func patchDuringRefresh() async throws {
        let gate = Gate("the entry has been changed")
        let origin = try ScriptedOrigin { request, connection in
            if request.index > 0 { try gate.waitBlocking() }
            try connection.respond(body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { server async throws in
            let url = origin.url("/a")
            let key = CacheKey.url(canonical: url).text
            #expect(try await server.download(["url": .string(url), "ttl": 60]).status == 200)
            async let refresh = server.download([
                "url": .string(url), "ttl": 60, "refresh": true, "tags": ["a"], "pinned": true,
            ])
            try await origin.waitForRequests(2)
            let patch: JSON = ["ttl": 5, "tags": ["c"], "pinned": false]
            let reply = try await server.client.request(
                "PATCH", "/entries/\(key)", fields: [.contentType: "application/json"], body: patch.utf8)
            #expect(reply.status == 200)
            gate.open()
            #expect(try await refresh.member("outcome") == "downloaded")
            let entry = try #require(try server.space.cache.entry(for: key))
            #expect(entry.tags == ["c"] && !entry.pinned && entry.ttl == .seconds(5))
        }
    }

    @Test("A caller that joins a refresh after a PATCH adds its own tag and its pin, even if the PATCH removed both")
    func joinAfterPatch() async throws {
        let gate = Gate("the caller has joined")
        let origin = try ScriptedOrigin { request, connection in
            if request.index > 0 { try gate.waitBlocking() }
            try connection.respond(body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { server async throws in
            let url = origin.url("/a")
            let key = CacheKey.url(canonical: url).text
            #expect(try await server.download(["url": .string(url), "ttl": 60, "pinned": true]).status == 200)
            let call: JSON = ["url": .string(url), "ttl": 60, "refresh": true, "tags": ["a", "b"], "pinned": true]
            async let refresh = server.download(call)
            try await origin.waitForRequests(2)
            let patch: JSON = ["ttl": 0, "tags": ["c"], "pinned": false]
            let reply = try await server.client.request(
                "PATCH", "/entries/\(key)", fields: [.contentType: "application/json"], body: patch.utf8)
            #expect(reply.status == 200)
            async let joined = server.download(["url": .string(url), "tags": ["a"], "pinned": true])
            try await server.waitForWaiters(2)
            gate.open()
            #expect(try await refresh.member("outcome") == "downloaded")
            #expect(try await joined.member("outcome") == "joined")
            let entry = try #require(try server.space.cache.entry(for: key))
            #expect(entry.tags == ["a", "c"] && entry.pinned && entry.ttl == .zero)
        }
    }

    @Test("The entry gets the tags, the pin and the staleIfError of a caller that joined its download")
    func wishesOfJoiner() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            let url = origin.url("/slow")
            async let first = server.download(["url": .string(url), "ttl": 60, "tags": ["a"]])
            try await server.waitForWaiters(1)
            async let second = server.download([
                "url": .string(url), "ttl": 60, "tags": ["b"], "pinned": true, "staleIfError": 3600,
            ])
            try await server.waitForWaiters(2)
            gate.open()
            #expect(try await (first.status, second.status) == (200, 200))
            let entry = try #require(try server.space.cache.entry(for: CacheKey.url(canonical: url).text))
            #expect(entry.tags == ["a", "b"] && entry.pinned && entry.staleAllowance == .seconds(3600))
        }
    }

    @Test("A hit with staleIfError sets the entry's staleIfError, and a refresh without staleIfError keeps the value")
    func allowanceOnHit() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { server async throws in
            let url = origin.url("/a")
            #expect(try await server.download(["url": .string(url), "ttl": 60]).status == 200)
            let hit = try await server.download(["url": .string(url), "ttl": 60, "staleIfError": 3600])
            #expect(try hit.member("outcome") == "cached")
            let refresh: JSON = ["url": .string(url), "ttl": 60, "refresh": true]
            #expect(try await server.download(refresh).member("outcome") == "downloaded")
            let entry = try #require(try server.space.cache.entry(for: CacheKey.url(canonical: url).text))
            #expect(entry.staleAllowance == .seconds(3600))
        }
    }

    @Test("After all clients of a download have disconnected, the download continues, and its entry is stored")
    func everybodyLeaves() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            let call: JSON = ["url": .string(origin.url("/slow")), "ttl": 60]
            let connection = try await server.post(call, to: "/download", connections: 1)[0]
            try await server.waitForWaiters(1)
            connection.close()
            try await server.waitForWaiters(0)
            gate.open()
            try await server.waitForSuccess(of: origin.url("/slow"))
            #expect(try await server.content(of: origin.url("/slow")) == "/slow")
        }
    }

    @Test("The entry gets the tags of all callers that share its download, and the ttl of the first caller")
    func joining() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            let url = JSON.string(origin.url("/a"))
            async let first = server.download(["url": url, "ttl": 60, "tags": ["a"]])
            try await server.waitForWaiters(1)
            async let second = server.download(["url": url, "ttl": 5, "tags": ["b"]])
            try await server.waitForWaiters(2)
            gate.open()
            let entries = try await [first, second].map { try $0.member("entry") }
            for entry in entries {
                #expect(entry?["tags"] == ["a", "b"])
                #expect(entry?["expiresInSeconds"] == 60)
            }
        }
    }

    @Test("Two URLs, or two sets of fields, with one MD5 share no download; the second caller gets the error keyInUse")
    func collisions() async throws {
        try await TestServer.withGatedOrigin { server, origin, gate in
            let first = DownloadRequest(url: try CanonicalURL(origin.url("/first")))
            let others = [
                DownloadRequest(url: try CanonicalURL(origin.url("/second"))),
                DownloadRequest(url: first.url, fields: [.acceptLanguage: "de"]),
            ]
            func download(_ request: DownloadRequest) -> (end: Gate, outcome: Recorder<String>) {
                let (end, outcome) = (Gate("the end of a download"), Recorder<String>())
                server.space.downloads.download(request, key: first.key) { result in
                    switch result {
                    case .success(let success): outcome.append(success.outcome.rawValue)
                    case .failure(let error): outcome.append("\(error)")
                    }
                    end.open()
                }
                return (end, outcome)
            }
            let running = download(first)
            try await origin.waitForRequests(1)
            let refused = "\(DownloadError.keyInUse)"
            for other in others { #expect(download(other).outcome.elements == [refused]) }
            gate.open()
            try await running.end.wait()
            #expect(running.outcome.elements == ["downloaded"])
            // The key now has the entry of the first URL. A download of the second URL with this key replaces the
            // entry.
            let replacing = download(others[0])
            try await replacing.end.wait()
            #expect(replacing.outcome.elements == ["downloaded"])
            #expect(origin.requests.map(\.target) == ["/first", "/second"])
        }
    }
}
