import DiskCache
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The events of downloads and entries")
struct EventTests {
    @Test("A download has events for its start, progress, new entry and success; a hit has only the event of success")
    func download() async throws {
        let gate = Gate("the rest of the body")
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "10", .contentType: "text/plain"])
            try connection.send("12345")
            try gate.waitBlocking()
            try connection.send("67890")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let (url, key) = (origin.url("/a?b=c"), md5(origin.url("/a?b=c")))
            let listener = try await server.listen()
            async let first = server.download(["url": .string(url), "ttl": 60, "tags": ["one"]])
            let started = try await listener.wait(for: 1)[0]
            #expect(started.type == "download.started")
            #expect(started.data["state"] == "running")
            #expect(started.data["namespace"] == "default")
            #expect(started.data["tags"] == ["one"])
            #expect(started.data["waiters"] == 1)
            let progress = try await listener.wait(for: 2)[1]
            #expect(progress.type == "download.progress")
            #expect(progress.data["receivedBytes"] == 5)
            #expect(progress.data["totalBytes"] == 10)
            gate.open()
            #expect(try await first.status == 200)
            let events = try await listener.wait(for: 4)
            #expect(events.map(\.type).suffix(2) == ["entry.stored", "download.succeeded"])
            #expect(events[2].data["kind"] == "download")
            #expect(events[2].data["contentLength"] == 10)
            let ended = events[3].data
            #expect(ended["state"] == "succeeded")
            #expect(ended["receivedBytes"] == 10)
            #expect(ended["fromCache"] == false)
            #expect(ended["entry"]?["contentLength"] == 10)
            #expect(ended["entry"]?["tags"] == ["one"])
            #expect(events.allSatisfy { $0.key == key && $0.data["url"] == .string(url) })
            let reply = try await server.download(["url": .string(url), "tags": ["two"]])
            #expect(try reply.member("outcome") == "cached")
            let again = try await listener.wait(for: 5)[4]
            // The second request added its tag to the entry.
            #expect(again.data["tags"] == ["one", "two"])
            #expect(again.data["entry"]?["tags"] == ["one", "two"])
            #expect(again.type == "download.succeeded")
            #expect(again.data["fromCache"] == true)
            #expect(again.data["entry"]?["key"] == .string(key))
            #expect(again.data["receivedBytes"] == 0)
        }
    }

    @Test("When the origin pauses, the bytes that it sent before are reported during the pause")
    func pause() async throws {
        let gate = Gate("the rest of the body")
        let arrived = Gate("the first byte")
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "10"])
            try connection.send("1")
            try arrived.waitBlocking()
            try connection.send("2345")
            try gate.waitBlocking()
            try connection.send("67890")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let listener = try await server.listen()
            async let reply = server.download(["url": .string(origin.url("/a"))])
            _ = try await listener.wait(for: 2)
            arrived.open()
            let progress = try await listener.wait(for: 3)[2]
            #expect(progress.type == "download.progress")
            #expect(progress.data["receivedBytes"] == 5)
            gate.open()
            #expect(try await reply.status == 200)
        }
    }

    @Test("A revalidation by a 304 is reported as a success with fromCache, and not as a stored entry")
    func revalidated() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let isKnown = request["If-None-Match"] != nil
            try connection.respond(isKnown ? 304 : 200, fields: [.eTag: "\"1\""], body: isKnown ? "" : "body")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let call: JSON = ["url": .string(origin.url("/a")), "ttl": 10]
            _ = try await server.download(call)
            server.clock.advance(by: .seconds(11))
            let listener = try await server.listen()
            #expect(try await server.download(call).member("outcome") == "revalidated")
            let events = try await listener.wait(for: 2)
            #expect(events.map(\.type) == ["download.started", "download.succeeded"])
            #expect(events[1].data["fromCache"] == true)
        }
    }

    @Test("A failed or cancelled download reports the error that its caller gets")
    func failed() async throws {
        try await TestServer.withGatedOrigin(isHeld: { $0 == "/slow" }) { server, origin, _ in
            let broken = try ScriptedOrigin { _, connection in try connection.respond(500, body: "no") }
            defer { broken.stop() }
            let listener = try await server.listen("type=download.failed")
            let reply = try await server.download(["url": .string(broken.url("/a")), "tags": ["t"]])
            #expect(reply.status == 502)
            let (failed, problem) = (try await listener.wait(for: 1)[0].data, try reply.json)
            #expect(failed["error"] == problem)
            #expect(failed["error"]?["originStatus"] == 500)
            #expect(failed["state"] == "failed")
            #expect(failed["tags"] == ["t"])
            async let cancelled = server.download(["url": .string(origin.url("/slow"))])
            try await server.waitForWaiters(1)
            let path = "/downloads/\(md5(origin.url("/slow")))"
            #expect(try await server.client.request("DELETE", path).status == 200)
            #expect(try await cancelled.status == 502)
            let event = try await listener.wait(for: 2)[1].data
            #expect(event["state"] == "cancelled")
            #expect(event["error"]?["status"] == 502)
        }
    }

    @Test("The progress of a body in many pieces is reported at most four times a second")
    func pace() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.startChunks()
            for number in 0..<500 {
                try connection.sendChunk([UInt8](repeating: UInt8(number % 251), count: 4096))
                // The origin waits in real time, so that the transfer of the body takes about a second.
                let tick = Gate("some time at the origin")
                try? tick.waitBlocking(limit: .milliseconds(2))
            }
            try connection.endChunks()
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let listener = try await server.listen("type=download")
            let start = ContinuousClock.now
            #expect(try await server.download(["url": .string(origin.url("/a"))]).status == 200)
            let seconds = (ContinuousClock.now - start).inSeconds
            try await listener.wait("the end of the download") { $0.type == "download.succeeded" }
            let progress = listener.events.filter { $0.type == "download.progress" }
            #expect((1...(Int(seconds * 4) + 1)).contains(progress.count), "\(progress.count) in \(seconds) s")
            let received = progress.compactMap { $0.data["receivedBytes"]?.doubleValue }
            #expect(received == received.sorted())
        }
    }

    @Test("Stored, removed and expired entries are reported, also those of /fetch, and reads are not reported")
    func entries() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: "fetched")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let listener = try await server.listen("type=entry")
            try await server.put("one", [1, 2, 3], query: "ttl=10&tags=b,a")
            for _ in 0..<3 { _ = try await server.get("/entries/one/content") }
            _ = try await server.get("/fetch/\(origin.url("/x"))")
            let stored = try await listener.wait(for: 2)
            #expect(stored.map(\.type) == ["entry.stored", "entry.stored"])
            #expect(stored[0].key == "one")
            #expect(stored[0].data["tags"] == ["a", "b"])
            #expect(stored[0].data["kind"] == "data" && stored[0].data["url"] == nil)
            #expect(stored[1].data["kind"] == "response")
            #expect(stored[1].data["url"] == .string(origin.url("/x")))
            server.clock.advance(by: .seconds(11))
            try await server.sweep()
            let expired = try await listener.wait(for: 3)[2]
            #expect(expired.type == "entry.expired" && expired.key == "one")
            try await server.put("two", [1])
            #expect(try await server.client.request("DELETE", "/entries/two").status == 200)
            // A PUT with a ttl of 0 removes the entry, as a DELETE does.
            try await server.put("two", [1])
            try await server.put("two", [1], query: "ttl=0")
            let types = try await listener.wait(for: 7).map(\.type).suffix(4)
            #expect(types == ["entry.stored", "entry.removed", "entry.stored", "entry.removed"])
        }
    }

    @Test("Each evicted entry is reported, by an event of its own or in the count of an event for several entries")
    func evicted() async throws {
        try await TestServer.with(configure: { $0.diskLimit = 400_000 }) { (server) async throws in
            let listener = try await server.listen("type=entry.evicted")
            let body = [UInt8](repeating: 1, count: 1000)
            for number in 0..<600 { try await server.put("\(number)", body) }
            try await listener.wait(for: 1)
            // The eviction goes on for a moment after the last store.
            try await poll("the events of all evictions") {
                let told = listener.events.reduce(0) { $0 + Int($1.data["count"]?.doubleValue ?? 1) }
                return told == 600 - Int(server.service.totals.entries)
            }
        }
    }

    @Test("A purge of 400 entries sends an event for each of 100 entries, and one event with the number of the others")
    func purge() async throws {
        try await TestServer.with { (server) async throws in
            for number in 0..<400 { try await server.put("k\(number)", [1], query: "tags=many") }
            try await server.put("other", [1])
            let (all, one) = (try await server.listen(), try await server.listen("key=none&tag=none"))
            #expect(try await server.client.request("DELETE", "/entries?tag=many").member("removed") == 400)
            let last = try await all.wait("the event with the count") { $0.data["count"] != nil }
            #expect(all.events.count == 101)
            #expect(all.events.allSatisfy { $0.type == "entry.removed" })
            #expect(Set(all.events.dropLast().compactMap(\.key)).count == 100)
            #expect(last.id == all.events.last?.id)
            #expect(last.data["count"] == 300)
            #expect(last.data["selector"] == ["tag": "many"])
            #expect(last.data["key"] == nil)
            // An event that states only the number of the removed entries also reaches a listener with a filter for a
            // key, because the removed entries can have any key.
            #expect(try await one.wait(for: 1).map(\.id) == [last.id])
            #expect(try await server.client.request("DELETE", "/entries?all=true").member("removed") == 1)
            #expect(try await all.wait(for: 102)[101].key == "other")
        }
    }

    @Test("The stream has the documented format, and its heartbeats carry the id of the last event")
    func answer() async throws {
        var limits = EventHub.Limits()
        limits.heartbeat = .milliseconds(20)
        try await TestServer.with(eventLimits: limits) { (server) async throws in
            let listener = try await server.listen("type=entry&key=x")
            #expect(listener.head["Content-Type"] == "text/event-stream")
            #expect(listener.head["X-Accel-Buffering"] == "no")
            let first = try #require(listener.lastID)
            try await server.put("x", [1])
            try await listener.wait(for: 1)
            // The filter excludes the event of this PUT. A heartbeat still sends the event's id, so that the client can
            // resume behind the event.
            try await server.put("y", [1])
            try await poll("a later id") { listener.lastID != first && listener.lastID != listener.events[0].id }
            let heartbeats = listener.heartbeats
            try await poll("heartbeats") { listener.heartbeats > heartbeats + 1 }
            let violations = try OpenAPIDocument.repository().violations(
                of: OpenAPIDocument.Exchange(
                    method: "GET", target: "/events?type=entry&key=x", status: listener.head.status,
                    fields: listener.head.fields.map { ($0.name.rawName, $0.value) }, body: listener.text))
            #expect(violations == [])
            let head = try await server.client.request("HEAD", "/events")
            #expect(head.status == 200 && head["Content-Type"] == "text/event-stream")
            #expect(server.service.events.listenerCount == 1)
            listener.close()
            try await poll("the departure of the listener") { server.service.events.listenerCount == 0 }
        }
    }

    @Test(
        "Filters select by type, type group, key, tag and namespace, and a bad filter gets 400",
        arguments: [
            ("type=entry.stored", ["stored a", "stored b"]), ("type=entry", ["stored a", "stored b", "removed a"]),
            ("type=entry.removed&type=download", ["removed a"]), ("type=download.failed,entry.removed", ["removed a"]),
            ("key=b", ["stored b"]), ("tag=t", ["stored a", "removed a"]), ("tag=t&type=entry.stored", ["stored a"]),
            ("namespace=default&key=a", ["stored a", "removed a"]), ("namespace=*&key=b", ["stored b"]),
        ])
    func filters(query: String, expected: [String]) async throws {
        try await TestServer.with { (server) async throws in
            let (listener, all) = (try await server.listen(query), try await server.listen())
            try await server.put("a", [1], query: "tags=t")
            try await server.put("b", [1])
            _ = try await server.client.request("DELETE", "/entries/a")
            try await all.wait(for: 3)
            let told = try await listener.wait(for: expected.count)
            #expect(told.map { "\($0.type.dropFirst(6)) \($0.key ?? "")" } == expected)
            for (wrong, pointer) in [
                ("type=entri", "/type"), ("type=", "/type"), ("type=entry.", "/type"), ("key=", "/key"),
                ("tag=", "/tag"), ("tag=a&tag=b", "/tag"), ("since=1", "/since"),
            ] {
                let reply = try await server.get("/events?\(wrong)")
                #expect(reply.status == 400)
                #expect(try reply.member("pointer") == .string(pointer))
            }
        }
    }
}

extension TestServer {
    /// Removes expired entries, as the upkeep does once a minute.
    func sweep() async throws {
        _ = try await withCheckedContinuation { continuation in
            space.cache.sweepExpired { continuation.resume(returning: $0) }
        }.get()
    }
}
