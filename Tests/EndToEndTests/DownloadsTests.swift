import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("Batches, and the watching and cancelling of downloads")
struct DownloadsTests {
    @Test(
        "The answer to a batch has a line for each element, with the element's index and its result or error",
        arguments: ["array", "lines"])
    func batch(form: String) async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(request.target == "/bad" ? 500 : 200, body: request.target)
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let elements: [JSON] = [
                ["url": .string(origin.url("/a")), "ttl": 60], ["url": .string(origin.url("/bad"))],
                ["url": "nonsense"], ["url": .string(origin.url("/b")), "ttl": -1],
            ]
            let isArray = form == "array"
            let text =
                isArray ? JSON.array(elements).text : elements.map(\.text).joined(separator: "\n") + "\n\n{\"url\n"
            // This client does not check the request against openapi.yaml, because two of the elements are wrong on
            // purpose.
            let reply = try await HTTPClient(port: server.api.port).request(
                "POST", "/downloads",
                fields: [.contentType: isArray ? "application/json" : "application/x-ndjson"], text: text)
            #expect(reply.status == 200)
            #expect(reply["Content-Type"] == "application/x-ndjson")
            var lines: [Int: JSON] = [:]
            for line in reply.text.split(separator: "\n") {
                let json = try JSON(parsing: String(line))
                lines[Int(json["index"]?.doubleValue ?? -1)] = json
            }
            #expect(lines.count == (isArray ? 4 : 5))
            if !isArray { #expect(lines[4]?["error"]?["status"] == 400) }
            #expect(lines[0]?["outcome"] == "downloaded")
            #expect(lines[1]?["error"]?["originStatus"] == 500)
            #expect(lines[2]?["error"]?["pointer"] == "/2/url")
            #expect(lines[3]?["error"]?["pointer"] == "/3/ttl")
        }
    }

    @Test("The first lines of a batch arrive while the last download still runs")
    func batchStreams() async throws {
        try await TestServer.withGatedOrigin(isHeld: { $0 == "/slow" }) { server, origin, gate in
            let batch: JSON = [["url": .string(origin.url("/slow"))], ["url": .string(origin.url("/fast"))]]
            let (first, rest) = try await server.client.withConnection { connection in
                try connection.sendRequest(
                    "POST", "/downloads", fields: [.contentType: "application/json", .connection: "close"],
                    body: batch.utf8)
                _ = try connection.readHead()
                let first = String(decoding: try connection.readSome() ?? [], as: UTF8.self)
                gate.open()
                return (first, String(decoding: try connection.readToEnd(), as: UTF8.self))
            }
            #expect(first.contains("\"index\":1"))
            #expect(rest.contains("\"index\":0"))
        }
    }

    @Test("A call with Prefer: respond-async gets 202 immediately, and its download can be watched to the end")
    func async() async throws {
        let gate = Gate("the rest of the body")
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "10"])
            try connection.send("12345")
            try gate.waitBlocking()
            try connection.send("67890")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            let reply = try await server.client.request(
                "POST", "/download",
                fields: [.contentType: "application/json", HTTPField.Name("Prefer")!: "respond-async, wait=10"],
                body: JSON.object([.init("url", .string(url))]).utf8)
            #expect(reply.status == 202)
            let location = try #require(reply["Location"])
            #expect(location == "/downloads/\(md5(url))")
            #expect(reply["Preference-Applied"] == "respond-async")
            try await poll("the progress of the download") {
                server.space.downloads.status(of: md5(url))?.receivedBytes == 5
            }
            let running = try await server.get(location).json
            #expect(running["state"] == "running")
            #expect(running["totalBytes"] == 10)
            #expect(running["waiters"] == 0)
            gate.open()
            try await server.waitForSuccess(of: url)
            let ended = try await server.get(location).json
            #expect(ended["entry"]?["contentLength"] == 10)
            #expect(try await server.get("/downloads").member("downloads")?.arrayValue?.count == 1)
            server.clock.advance(by: .seconds(601))
            #expect(try await server.get(location).status == 404)
        }
    }

    @Test("A succeeded download shows the current state of its entry, until the entry is replaced or removed")
    func entryOfEnded() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "[1]") }
        defer { origin.stop() }
        let json: HTTPFields = [.contentType: "application/json"]
        try await TestServer.with { (server) async throws in
            let (url, key) = (origin.url("/a"), md5(origin.url("/a")))
            func shown() async throws -> JSON? {
                let one = try await server.get("/downloads/\(key)").json
                #expect(one["state"] == "succeeded")
                #expect(try await server.get("/downloads").member("downloads") == [one])
                return one["entry"]
            }
            _ = try await server.download(["url": .string(url), "ttl": 60])
            _ = try await server.client.request("PATCH", "/entries/\(key)", fields: json, text: #"{"tags": ["t"]}"#)
            #expect(try await shown()?["tags"] == ["t"])
            _ = try await server.client.request("PUT", "/json?url=\(url.percentEncoded)", fields: json, text: "[2]")
            #expect(try await shown() == nil)
            _ = try await server.download(["url": .string(url), "ttl": 60, "refresh": true])
            #expect(try await shown() != nil)
            _ = try await server.client.request("DELETE", "/entries/\(key)")
            #expect(try await shown() == nil)
        }
    }

    @Test(
        "GET /downloads lists running downloads before the latest ended ones, up to its limit, and tells if more exist"
    )
    func limit() async throws {
        try await TestServer.withGatedOrigin(isHeld: { $0 == "/slow" }) { server, origin, gate in
            let ended = 101
            func listed(_ query: String) async throws -> [String] {
                let list = try await server.get("/downloads" + query)
                let downloads = try list.member("downloads")?.arrayValue ?? []
                #expect(try list.member("more") == .bool(downloads.count < ended + 1), "\(query)")
                return downloads.compactMap { $0["url"]?.stringValue?.split(separator: "/").last.map(String.init) }
            }
            func download(_ numbers: Range<Int>) async throws {
                for number in numbers { _ = try await server.download(["url": .string(origin.url("/\(number)"))]) }
            }
            // The download of `/slow`, which the gate holds, begins after most other downloads. On a busy machine, all
            // downloads together would take longer than the gate's time limit.
            try await download(0..<ended - 2)
            _ = try await server.client.request(
                "POST", "/download",
                fields: [.contentType: "application/json", HTTPField.Name("Prefer")!: "respond-async"],
                text: #"{"url": "\#(origin.url("/slow"))"}"#)
            try await origin.waitForRequests(ended - 1)
            try await download(ended - 2..<ended)
            #expect(try await listed("?limit=3") == ["slow", "100", "99"])
            #expect(try await listed("?limit=1") == ["slow"])
            // The long lists come after the end, because Larder ends a download that brings no byte for 30 seconds.
            gate.open()
            try await server.waitForSuccess(of: origin.url("/slow"))
            #expect(try await listed("?limit=1") == ["slow"])
            #expect(try await listed("").count == 100)
            #expect(try await listed("?limit=1000").count == 102)
        }
    }

    @Test("The waiters of a cancelled download get 502, and an older entry stays")
    func cancelling() async throws {
        let gate = Gate("never")
        let origin = try ScriptedOrigin { request, connection in
            if request.index > 0 { try gate.waitBlocking() }
            try connection.respond(body: "old")
        }
        defer {
            gate.open()
            origin.stop()
        }
        try await TestServer.with { (server) async throws in
            let url = origin.url("/a")
            _ = try await server.download(["url": .string(url), "ttl": 60])
            async let waiting = server.download(["url": .string(url), "refresh": true])
            try await origin.waitForRequests(2)
            let cancelled = try await server.client.request("DELETE", "/downloads/\(md5(url))")
            #expect(cancelled.status == 200)
            #expect(try cancelled.member("state") == "cancelled")
            #expect(try await waiting.status == 502)
            #expect(try await server.content(of: url) == "old")
            #expect(try await server.client.request("DELETE", "/downloads/\(md5(url))").status == 409)
            #expect(try await server.client.request("DELETE", "/downloads/unknown").status == 404)
            #expect(try await server.get("/downloads/\(md5(url))").member("state") == "cancelled")
        }
    }

    @Test("A request right after the cancellation of a download starts a new download")
    func askingAfterCancelling() async throws {
        let origin = try ScriptedOrigin { request, connection in
            // The first request of each pair gets no answer, so only the cancellation ends it.
            if request.index % 2 == 0 { return connection.waitForHangUp() }
            try connection.respond(body: "new")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for number in 0..<10 {
                let request = DownloadRequest(url: try CanonicalURL(origin.url("/\(number)")))
                let downloads = server.space.downloads
                async let first = result(of: request, in: downloads)
                try await origin.waitForRequests(2 * number + 1)
                guard case .cancelled = downloads.cancel(request.key.text) else {
                    Issue.record("no download was running")
                    return
                }
                let second = await result(of: request, in: downloads)
                #expect(try second.get().outcome == .downloaded)
                let cancelled = await first
                #expect(throws: DownloadError.cancelled) { try cancelled.get() }
            }
        }
    }

    @Test("A second cancellation also cancels the download that waits for the end of the first cancelled download")
    func cancellingTwice() async throws {
        let origin = try ScriptedOrigin { _, connection in connection.waitForHangUp() }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for number in 0..<10 {
                let request = DownloadRequest(url: try CanonicalURL(origin.url("/\(number)")))
                let downloads = server.space.downloads
                downloads.download(request) { _ in }
                _ = downloads.cancel(request.key.text)
                let answers = Recorder<Result<DownloadResult, DownloadError>>()
                downloads.download(request) { answers.append($0) }
                guard case .cancelled = downloads.cancel(request.key.text) else {
                    Issue.record("no download was running")
                    return
                }
                try await poll("the result of the cancelled download") { !answers.elements.isEmpty }
                #expect(throws: DownloadError.cancelled) { try answers.elements[0].get() }
                try await poll("the end of all downloads") { downloads.runningCount == 0 }
            }
        }
    }

    private func result(
        of request: DownloadRequest, in downloads: DownloadManager
    ) async -> Result<DownloadResult, DownloadError> {
        await withCheckedContinuation { continuation in
            downloads.download(request) { continuation.resume(returning: $0) }
        }
    }

    @Test("A batch with too many downloads or JSON values is refused as a whole")
    func batchLimits() async throws {
        try await TestServer.with { server in
            let client = HTTPClient(port: server.api.port)
            for (type, text) in [
                ("application/json", "[" + String(repeating: "{},", count: 10_000) + "{}]"),
                ("application/x-ndjson", String(repeating: "{}\n", count: 10_001)),
            ] {
                let reply = try await client.request("POST", "/downloads", fields: [.contentType: type], text: text)
                #expect(reply.status == 413, "\(reply.text.prefix(200))")
            }
            let values = "[" + String(repeating: "1,", count: 1_000_000) + "1]"
            let reply = try await client.request(
                "POST", "/downloads", fields: [.contentType: "application/json"], text: values)
            #expect(reply.status == 400)
        }
    }

    @Test("When the client of a batch disconnects, the running downloads go on, and the waiting downloads do not begin")
    func batchAbandoned() async throws {
        try await TestServer.withGatedOrigin(configure: { $0.maxDownloadsPerHost = 4 }) { server, origin, gate in
            let batch = JSON.array((0..<2000).map { ["url": .string(origin.url("/\($0)"))] })
            let connection = try await server.post(batch, to: "/downloads", connections: 1)[0]
            try await origin.waitForRequests(4)
            try await poll("512 started downloads of the batch") { server.space.downloads.runningCount == 512 }
            connection.close()
            try await poll("the removal of the waiting downloads") { server.space.downloads.runningCount == 4 }
            gate.open()
            try await poll("the end of the downloads") { server.space.downloads.runningCount == 0 }
            #expect(server.space.cache.totals.entries == 4)
            #expect(origin.requestCount == 4)
        }
    }

    @Test("When the client of a batch disconnects, each waiting download still runs if another caller requested it")
    func batchAbandonedBesideOthers() async throws {
        try await TestServer.withGatedOrigin(configure: { $0.maxDownloadsPerHost = 4 }) { server, origin, gate in
            let downloads = server.space.downloads
            let batch = JSON.array((0..<100).map { ["url": .string(origin.url("/\($0)"))] })
            let connection = try await server.post(batch, to: "/downloads", connections: 1)[0]
            try await poll("100 started downloads") { downloads.runningCount == 100 }
            async let joined = server.download(["url": .string(origin.url("/98"))])
            let behind = DownloadRequest(url: try CanonicalURL(origin.url("/99")))
            downloads.start(behind) { _ in }
            try await poll("two waiters of one download") { downloads.status(of: md5(origin.url("/98")))?.waiters == 2 }
            connection.close()
            try await poll("the removal of unneeded downloads") { downloads.runningCount == 6 }
            // A caller may still request a download that the batch has just given up.
            async let late = server.download(["url": .string(origin.url("/50"))])
            try await poll("the download of the late caller") { downloads.runningCount == 7 }
            gate.open()
            #expect(try await joined.status == 200)
            #expect(try await late.status == 200)
            try await server.waitForSuccess(of: origin.url("/99"))
            try await poll("the end of the downloads") { downloads.runningCount == 0 }
            #expect(origin.requestCount == 7)
        }
    }
}
