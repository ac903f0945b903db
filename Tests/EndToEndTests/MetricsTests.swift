import DiskCache
import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The values of /metrics")
struct MetricsTests {
    /// The value of a sample in the text of /metrics, for example of `name{label="value"}`; `nil` without that sample.
    private func value(_ sample: String, _ server: TestServer) async throws -> Double? {
        let text = try await server.get("/metrics").text
        let line = text.split(separator: "\n").first { $0.hasPrefix(sample + " ") }
        return line.flatMap { Double($0.dropFirst(sample.count + 1)) }
    }

    @Test("Requests of every operation of openapi.yaml are counted, including requests to trim memory")
    func operations() async throws {
        try await TestServer.with { (server) async throws in
            #expect(try await server.client.request("POST", "/memory/trim").status == 200)
            let samples = MetricSamples(try await server.get("/metrics").text)
            let counted = samples.values(of: "route", in: "larder_http_requests_total")
            // A HEAD counts under the operation of GET. On a path that accepts any method, all requests count under the
            // operation of GET.
            let described = try OpenAPIDocument.repository().operations
                .filter { $0.method == "GET" || ($0.method != "HEAD" && !$0.takesRest) }.map(\.id)
            #expect(described.count > 30 && Set(described).isSubset(of: counted))
            #expect(try await value(#"larder_http_requests_total{route="trimMemory",status="200"}"#, server) == 1)
        }
    }

    @Test("The number of running transfers counts the transfers of downloads and the transfers of /fetch")
    func runningTransfers() async throws {
        let gate = Gate("both transfers have been counted")
        let origin = try ScriptedOrigin { _, connection in
            try gate.waitBlocking()
            try connection.respond(body: "x")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            async let download = server.download(["url": .string(origin.url("/download"))])
            async let fetch = server.get("/fetch/" + origin.url("/fetch"))
            try await poll("two running transfers") { server.service.transferCounts.running == 2 }
            let running = try await value("larder_downloads_running", server)
            gate.open()
            #expect(running == 2)
            #expect(try await (download.status, fetch.status) == (200, 200))
            try await poll("the end of both transfers") { server.service.transferCounts.running == 0 }
        }
    }

    // MARK: - Removed entries

    @Test("The entries that a purge removes count as purged, by kind, and neither as expired nor as evicted")
    func purges() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for key in ["a", "b", "c"] { #expect(try await server.put(key, [1], query: "tags=t").status == 200) }
            #expect(try await server.download(["url": .string(origin.url("/d")), "tags": ["t"]]).status == 200)
            let json = try await server.client.request(
                "PUT", "/json?url=http://h.example/", fields: [.contentType: "application/json"],
                body: Array("[1]".utf8))
            #expect(json.status == 200)
            // The replacement of an entry does not count as a purge.
            #expect(try await server.put("a", [2], query: "tags=t").status == 200)
            #expect(try await server.client.request("DELETE", "/entries?tag=t&dryRun=true").status == 200)
            #expect(try await value(#"larder_purges_total{kind="data"}"#, server) == 0)
            #expect(try await server.client.request("DELETE", "/entries/a").status == 200)
            #expect(try await server.client.request("DELETE", "/entries/a").status == 404)
            #expect(try await server.client.request("DELETE", "/entries?tag=t").member("removed") == 3)
            #expect(try await server.client.request("DELETE", "/entries?all=true").member("removed") == 1)
            for (kind, count) in [("data", 3), ("download", 1), ("json", 1), ("response", 0)] as [(String, Double)] {
                #expect(try await value("larder_purges_total{kind=\"\(kind)\"}", server) == count, "\(kind)")
            }
            for sample in ["larder_expiries_total", #"larder_evictions_total{reason="limit"}"#] {
                #expect(try await value(sample, server) == 0, "\(sample)")
            }
        }
    }

    @Test("The entries of a removed or newly versioned namespace count once as purged, and no counter decreases")
    func purgedNamespaces() async throws {
        try await TestServer.with { (server) async throws in
            let purges = #"larder_purges_total{kind="data"}"#
            try await server.putNamespace("a", ["version": "1"])
            for key in ["k", "l", "m"] {
                let put = try await server.inNamespace("a").request("PUT", "/entries/\(key)/content", text: "x")
                #expect(put.status == 200)
            }
            #expect(try await server.client.request("DELETE", "/entries?all=true").member("removed") == 0)
            #expect(try await server.inNamespace("a").request("DELETE", "/entries/m").status == 200)
            try await server.putNamespace("a", ["version": "2"])
            #expect(try await value(purges, server) == 3)
            #expect(try await server.inNamespace("a").request("PUT", "/entries/k/content", text: "x").status == 200)
            #expect(try await server.client.request("DELETE", "/namespaces/a").status == 200)
            try await poll("the directories to go") { try server.namespaceDirectories == ["default"] }
            #expect(try await value(purges, server) == 4)
        }
    }

    @Test("An expired entry counts as expired when the periodic upkeep removes the entry, and not before")
    func expiries() async throws {
        try await TestServer.with { (server) async throws in
            for key in ["a", "b", "c"] { #expect(try await server.put(key, [1], query: "ttl=60").status == 200) }
            #expect(try await server.put("stays", [1], query: "ttl=600").status == 200)
            server.clock.advance(by: .seconds(61))
            #expect(try await value("larder_expiries_total", server) == 0)
            let swept = await withCheckedContinuation { continuation in
                server.space.cache.sweepExpired { continuation.resume(returning: $0) }
            }
            #expect(try swept.get() == 3)
            #expect(try await value("larder_expiries_total", server) == 3)
            #expect(try await value(#"larder_purges_total{kind="data"}"#, server) == 0)
        }
    }

    @Test("Evicted entries count by the reason of their eviction: disk limit, disk reserve, or variants of one URL")
    func evictions() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.vary: "Accept-Language", .cacheControl: "max-age=60"], body: "x")
        }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        func evicted(_ reason: String, _ server: TestServer) async throws -> Double? {
            try await value("larder_evictions_total{reason=\"\(reason)\"}", server)
        }
        try await TestServer.with(directory: directory, configure: { $0.diskReserve = .bytes(0) }) {
            (server) async throws in
            for number in 0..<Entry.variantLimit + 3 {
                let reply = try await server.get(
                    "/fetch/" + origin.url("/v"), fields: [.acceptLanguage: "x-\(number)"])
                #expect(reply.status == 200)
            }
            try await poll("three evicted variants") { server.service.metrics.removals.count(of: .variants) >= 3 }
            #expect(try await evicted("variants", server) == 3)
            #expect(try await evicted("limit", server) == 0)
            #expect(try await evicted("reserve", server) == 0)
            #expect(try await server.client.request("DELETE", "/entries?all=true").status == 200)
        }
        try await TestServer.with(
            directory: directory,
            configure: {
                $0.diskReserve = .bytes(0)
                $0.diskLimit = 4 << 20
            }
        ) { (server) async throws in
            for number in 0..<12 {
                #expect(try await server.put("n\(number)", [UInt8](repeating: 1, count: 512 << 10)).status == 200)
            }
            let count = try await evicted("limit", server)
            #expect(count.map { (5...11).contains($0) } == true, "\(count ?? -1)")
            #expect(try await evicted("reserve", server) == 0)
        }
        let space = try FileManager.default.attributesOfFileSystem(forPath: directory.path)
        let free = try #require((space[.systemFreeSize] as? NSNumber)?.int64Value)
        // The reserve is larger than the free space, so all entries that may be evicted are evicted.
        try await TestServer.with(directory: directory, configure: { $0.diskReserve = .bytes(free * 2) }) {
            (server) async throws in
            let maintained: Void = await withCheckedContinuation { continuation in
                server.space.cache.maintain { continuation.resume() }
            }
            _ = maintained
            try await poll("an eviction for the reserve") { server.service.metrics.removals.count(of: .reserve) > 0 }
            #expect(try await evicted("limit", server) == 0)
        }
    }

    @Test("An entry with a damaged body counts as damaged, not as purged")
    func damage() async throws {
        try await TestServer.with(configure: {
            $0.inlineLimit = 0
            $0.memoryLimit = 0
        }) { (server) async throws in
            let put = try await server.put("k", [UInt8](repeating: 7, count: 100_000))
            let path = try #require(try put.member("localPath")?.stringValue)
            try Data([1, 2, 3]).write(to: URL(filePath: path))
            #expect(try await server.get("/entries/k/content").status == 404)
            #expect(try await value("larder_damaged_entries_total", server) == 1)
            #expect(try await value(#"larder_purges_total{kind="data"}"#, server) == 0)
        }
    }

    // MARK: - Bytes and the process

    @Test("The counter of sent bytes includes heads and bodies, on open and closed connections, and never decreases")
    func sentBytes() async throws {
        try await TestServer.with { (server) async throws in
            let body = [UInt8](repeating: 7, count: 200_000)
            #expect(try await server.put("k", body).status == 200)
            let before = try #require(try await value("larder_sent_bytes_total", server))
            for _ in 0..<5 { #expect(try await server.get("/entries/k/content").body == body) }
            let (answered, read) = (Gate("the answers"), Gate("the counter was read"))
            let port = server.api.port
            // This connection stays open after its answers.
            async let open: Void = blocking {
                let connection = try RawConnection(port: port)
                defer { connection.close() }
                for _ in 0..<5 {
                    try connection.sendRequest("GET", "/entries/k/content")
                    #expect(try connection.readReply().body == body)
                }
                answered.open()
                try read.waitBlocking()
            }
            try await answered.wait()
            var (last, reads) = (before, 0.0)
            repeat {
                let now = try #require(try await value("larder_sent_bytes_total", server))
                #expect(now >= last)
                (last, reads) = (now, reads + 1)
            } while last < before + 2_000_000 && reads < 5
            // Besides the ten bodies of 200,000 bytes, the counter includes the heads of their answers, and the answers
            // to this loop's own requests.
            #expect(last >= before + 2_000_000 && last < before + 2_050_000 + reads * 100_000, "\(last - before)")
            read.open()
            try await open
            #expect(try #require(try await value("larder_sent_bytes_total", server)) >= last)
        }
    }

    @Test("The process metrics match the system's values for this process")
    func process() async throws {
        try await TestServer.with { (server) async throws in
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #expect(try await value("process_max_fds", server) == Double(limit.rlim_cur))
            let open = try #require(try await value("process_open_fds", server))
            #expect(open >= 5 && open <= Double(limit.rlim_cur))
            let resident = try #require(try await value("process_resident_memory_bytes", server))
            let virtual = try #require(try await value("process_virtual_memory_bytes", server))
            #expect(resident > 1_048_576 && virtual > resident)
            let start = try #require(try await value("process_start_time_seconds", server))
            let uptime = Date().timeIntervalSince1970 - start
            #expect(uptime > 0 && uptime < 86_400)
            let cpu = try #require(try await value("process_cpu_seconds_total", server))
            #expect(cpu > 0 && cpu < uptime * Double(ProcessInfo.processInfo.processorCount))
        }
    }
}
