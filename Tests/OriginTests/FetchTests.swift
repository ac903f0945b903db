import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Origin

@Suite struct FetchTests {
    @Test("A body arrives whole, with its head and every field line in order")
    func simple() async throws {
        let origin = try rawOrigin(
            "HTTP/1.1 200 OK\r\nX-B: 1\r\nX-A: 2\r\nX-B: 3\r\nContent-Length: 5\r\n\r\nhello")
        let client = OriginClient(configuration: .local)
        let collector = try await client.get(origin.url("/a?b=c"))
        let head = try #require(collector.head)
        #expect(collector.text == "hello")
        #expect(head.status == 200)
        #expect(head.version == "1.1")
        #expect(head.declaredLength == 5)
        #expect(head.framing == .length)
        #expect(head.effectiveURL == origin.url("/a?b=c"))
        #expect(
            head.fields.map { "\($0.name.rawName): \($0.value)" } == [
                "X-B: 1", "X-A: 2", "X-B: 3", "Content-Length: 5",
            ])
        #expect(try collector.results[0].get().byteCount == 5)
    }

    @Test("The URL is sent byte for byte, without its fragment")
    func target() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        let client = OriginClient(configuration: .local)
        try await client.get(origin.url("/a/../b/%2e%2E/./c//d?x=/../&y=%41#fragment"))
        #expect(origin.requests[0].target == "/a/../b/%2e%2E/./c//d?x=/../&y=%41")
        #expect(origin.requests[0]["Host"] == "127.0.0.1:\(origin.port)")
    }

    @Test("Request fields are sent as given, even empty, and replace libcurl's own")
    func fields() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        let client = OriginClient(configuration: .local { $0.userAgent = "agent/1" })
        try await client.get(origin.url()) { request in
            request.fields = [.ifNoneMatch: "\"x\"", .accept: "text/plain"]
            request.fields.append(HTTPField(name: HTTPField.Name("X-Empty")!, value: ""))
            request.fields.append(HTTPField(name: HTTPField.Name("X-Two")!, value: "1"))
            request.fields.append(HTTPField(name: HTTPField.Name("X-Two")!, value: "2"))
        }
        let request = origin.requests[0]
        #expect(request["If-None-Match"] == "\"x\"")
        #expect(request.fields[values: .accept] == ["text/plain"])
        #expect(request["X-Empty"] == "")
        #expect(request.fields[values: HTTPField.Name("X-Two")!] == ["1", "2"])
        #expect(request["User-Agent"] == "agent/1")
        #expect(request.fields[.cookie] == nil)
    }

    @Test("Any status is an answer, including 304, 404, 500 and 999", arguments: [201, 204, 304, 404, 500, 599, 999])
    func statuses(status: Int) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(status, fields: [.eTag: "\"e\""], body: "body")
        }
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.head?.status == status)
        #expect(collector.head?.framing == (status == 204 || status == 304 ? .noBody : .length))
        #expect(collector.text == (status == 204 || status == 304 ? "" : "body"))
    }

    @Test("Interim answers (1xx) are not taken for the final answer")
    func interim() async throws {
        let origin = try rawOrigin(
            "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.heads.map(\.status) == [200])
        #expect(collector.text == "ok")
    }

    @Test("The next request reuses the connection")
    func reuse() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        let client = OriginClient(configuration: .local)
        for index in 0..<5 {
            #expect(try await client.get(origin.url("/\(index)")).text == "/\(index)")
        }
        #expect(origin.connectionCount == 1)
    }

    @Test("The client replaces a connection that the origin has closed, and does not count this as a failure")
    func closedMeanwhile() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(body: request.target)
            if request.index == 0 { connection.reset() }
        }
        let client = OriginClient(configuration: .local { $0.retry = .never })
        try await client.get(origin.url("/first"))
        #expect(try await client.get(origin.url("/second")).text == "/second")
        #expect(origin.connectionCount == 2)
    }

    @Test("A single thread runs 100 transfers at once")
    func concurrent() async throws {
        let all = Counter("requests")
        let origin = try ScriptedOrigin { request, connection in
            all.add()
            // No request is answered before all requests have arrived.
            try all.waitBlocking(for: 100)
            try connection.respond(body: request.target)
        }
        let client = OriginClient(configuration: .local { $0.threads = 1 })
        let collectors = (0..<100).map { client.start(origin.url("/\($0)")) }
        for (index, collector) in collectors.enumerated() {
            try await collector.summary()
            #expect(collector.text == "/\(index)")
        }
        #expect(origin.requestCount == 100)
    }

    @Test("When a host has reached its transfer limit, further transfers to the host wait")
    func perHostLimit() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { request, connection in
            if request.target != "/free" { try gate.waitBlocking() }
            try connection.respond()
        }
        let other = try ScriptedOrigin { _, connection in try connection.respond() }
        let client = OriginClient(configuration: .local { $0.maxTransfersPerHost = 3 })
        let collectors = (0..<10).map { client.start(origin.url("/\($0)")) }
        try await origin.waitForRequests(3)
        // A request to another host is served meanwhile, so the client had time to send the seven waiting requests.
        try await client.get(other.url())
        #expect(origin.requestCount == 3)
        #expect(origin.connectionCount == 3)
        gate.open()
        for collector in collectors { try await collector.summary() }
        #expect(origin.requestCount == 10)
        #expect(Set(origin.requests.map(\.target)) == Set((0..<10).map { "/\($0)" }))
    }

    @Test("When a transfer to a host at its limit ends, the next transfer starts, even on another thread")
    func placesAreShared() async throws {
        let atOnce = Locked(0)
        let origin = try ScriptedOrigin { request, connection in
            let count = atOnce.withLock { count in
                count += 1
                return count
            }
            // The count decreases before the answer, because the end of the answer lets the next transfer start.
            atOnce.withLock { $0 -= 1 }
            try connection.respond(body: String(count))
        }
        let client = OriginClient(
            configuration: .local {
                $0.threads = 4
                $0.maxTransfersPerHost = 1
            })
        let collectors = (0..<40).map { client.start(origin.url("/\($0)")) }
        for collector in collectors {
            try await collector.summary()
            #expect(collector.text == "1")
        }
        // Each thread has connections of its own, so four connections show that all four threads ran transfers.
        #expect(origin.connectionCount == 4)
    }

    @Test("If a waiting transfer is cancelled at the moment of its start, another transfer can start in its place")
    func leavingInTurn() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        let client = OriginClient(
            configuration: .local {
                $0.threads = 4
                $0.maxTransfersPerHost = 2
            })
        let collectors = (0..<400).map { number in
            let collector = client.start(origin.url("/\(number)"))
            if number % 3 == 0 { collector.transfer?.cancel() }
            return collector
        }
        for (number, collector) in collectors.enumerated() {
            if number % 3 == 0 {
                try await collector.didFinish.wait()
            } else {
                try await collector.summary()
            }
            #expect(collector.results.count == 1)
        }
        #expect(client.transferCounts == (0, 0))
    }

    @Test("The time for which a transfer waits because of its host's limit does not count against time limits")
    func waitingIsFree() async throws {
        let clock = ManualClock()
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "4"])
            for _ in 0..<4 {
                clock.advance(by: .milliseconds(100))
                try connection.send("x")
            }
        }
        let client = OriginClient(
            configuration: .local {
                $0.maxTransfersPerHost = 1
                $0.stallTimeout = .milliseconds(500)
                $0.totalTimeout = .milliseconds(600)
                $0.now = { clock.monotonicNow() }
            })
        // The transfers run one after the other, so the last transfer waits longer than any limit.
        let collectors = (0..<5).map { client.start(origin.url("/\($0)")) }
        for collector in collectors { try await collector.summary() }
    }

    // Runs in a process of its own, so that the processor time is only this test's.
    @Test("Transfers that wait for answers use no processor time")
    func idle() async throws {
        await #expect(processExitsWith: .success) {
            let origin = try ScriptedOrigin { _, connection in connection.waitForHangUp() }
            let client = OriginClient(configuration: .local { $0.stallTimeout = .seconds(2) })
            let collectors = (0..<20).map { client.start(origin.url("/\($0)")) }
            try await origin.waitForRequests(20)
            let before = clock()
            for collector in collectors { _ = try await collector.error() }
            #expect(Double(clock() - before) / Double(CLOCKS_PER_SEC) < 0.2)
        }
    }

    // Runs in a process of its own, because environment variables belong to all tests.
    @Test("Proxy variables of the environment are ignored")
    func proxies() async throws {
        await #expect(processExitsWith: .success) {
            let proxy = try ScriptedOrigin { _, connection in try connection.respond(body: "proxy") }
            let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "origin") }
            for name in ["http_proxy", "all_proxy", "ALL_PROXY", "HTTP_PROXY"] { setenv(name, proxy.url(), 1) }
            #expect(try await OriginClient(configuration: .local).get(origin.url()).text == "origin")
            #expect(proxy.connectionCount == 0)
            // The variables do work for a client that uses them.
            let url = origin.url()
            #expect(try await blocking { try ChildProcess.run("curl", ["-sS", url]) }.text == "proxy")
        }
    }

    @Test("A URL with an invalid form or a disallowed scheme is refused")
    func badURLs() async throws {
        let client = OriginClient(configuration: .local)
        for url in [
            "not a url", "http://", "/relative", "http://user@127.0.0.1/", "http://127.0.0.1:99999/", "http://a b/",
        ] {
            let error = try await client.failure(url)
            guard case .urlInvalid = error.kind else {
                Issue.record("\(url): \(error.kind)")
                continue
            }
            #expect(error.code == 3)
        }
        for url in ["ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "dict://127.0.0.1/", "x://y/"] {
            let error = try await client.failure(url)
            guard case .schemeRefused(let scheme) = error.kind else {
                Issue.record("\(url): \(error.kind)")
                continue
            }
            #expect(url.hasPrefix(scheme + ":"))
        }
    }

    @Test("An error that the receiver throws ends the transfer, and is the transfer's result")
    func receiverThrows() async throws {
        let hungUp = Gate("hang-up")
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "1000000"])
            try connection.send("some")
            connection.waitForHangUp()
            hungUp.open()
        }
        let client = OriginClient(configuration: .local)
        for collector in [Collector(refusesAnswer: true), Collector(refusesBody: true)] {
            client.fetch(OriginRequest(url: origin.url()), receiver: collector)
            let error = try await collector.error()
            guard case .receiver(let thrown) = error.kind else {
                Issue.record("\(error.kind)")
                continue
            }
            #expect(thrown is Collector.Refusal)
            #expect(collector.results.count == 1)
        }
        try await hungUp.wait()
    }
}
