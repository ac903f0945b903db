import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Origin

@Suite struct FailureTests {
    @Test("A disallowed address is refused before any connection")
    func refused() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        let client = OriginClient()
        for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "017700000001"] {
            let error = try await client.failure(origin.url(host: host))
            guard case .addressRefused(let rule) = error.kind else {
                Issue.record("\(host): \(error.kind)")
                continue
            }
            #expect(rule.contains("is loopback (127.0.0.0/8)"), "\(host)")
        }
        let error = try await client.failure("http://[::ffff:127.0.0.1]:\(origin.port)/")
        guard case .addressRefused("[::ffff:127.0.0.1] is IPv4-mapped (::ffff:0.0.0.0/96)") = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
        #expect(origin.connectionCount == 0)
    }

    @Test("A host rule allows a name, although its address alone would be refused")
    func hostRule() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "local") }
        var configuration = OriginConfiguration.local
        configuration.addressPolicy = AddressPolicy(allowing: [try AddressRule("localhost:\(origin.port)")])
        let client = OriginClient(configuration: configuration)
        #expect(try await client.get(origin.url(host: "localhost")).text == "local")
        guard case .addressRefused = try await client.failure(origin.url(host: "127.0.0.1")).kind else {
            Issue.record("127.0.0.1 was let through")
            return
        }
    }

    @Test("The client skips a name's refused addresses, in any order and family, and uses an allowed address")
    func mixedAddresses() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request["Host"]!) }
        let port = origin.port
        for addresses in [
            "10.0.0.1,127.0.0.1", "127.0.0.1,10.0.0.1", "[::1],10.0.0.1,127.0.0.1", "[fe80::1],127.0.0.1",
        ] {
            let client = OriginClient(configuration: .local { $0.lookUps = ["mixed.test:\(port):\(addresses)"] })
            #expect(try await client.get(origin.url(host: "mixed.test")).text == "mixed.test:\(port)", "\(addresses)")
        }
        let client = OriginClient(configuration: .local { $0.lookUps = ["bad.test:\(port):10.0.0.1,192.168.0.1"] })
        let error = try await client.failure(origin.url(host: "bad.test"))
        guard case .addressRefused("bad.test is private (10.0.0.0/8)") = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
    }

    @Test("A host rule allows only its name: a redirect to another name of the same address is refused")
    func hostRuleOfEachHop() async throws {
        let origin = try ScriptedOrigin { request, connection in
            let port = request["Host"]!.split(separator: ":")[1]
            try connection.respond(302, fields: [.location: "http://other.test:\(port)/"])
        }
        let client = OriginClient(
            configuration: .local {
                $0.addressPolicy = AddressPolicy(allowing: [try! AddressRule("good.test")])
                $0.lookUps = ["good.test", "other.test"].map { "\($0):\(origin.port):127.0.0.1" }
            })
        guard case .addressRefused = try await client.failure(origin.url(host: "good.test")).kind else {
            Issue.record("the redirect was followed")
            return
        }
        #expect(origin.requestCount == 1)
    }

    @Test("If the client skips a refused address and fails to connect to the next, it reports the failed connection")
    func refusedThenFailing() async throws {
        let port = try RefusingPort()
        let client = OriginClient(
            configuration: .local {
                $0.lookUps = ["mixed.test:\(port.number):10.0.0.1,127.0.0.1"]
                $0.retry = .never
            })
        let error = try await client.failure(port.url(host: "mixed.test"))
        guard case .transfer = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
        #expect(error.code == 7)
    }

    @Test("A host that does not exist fails with libcurl's error 6")
    func unknownHost() async throws {
        let error = try await OriginClient(configuration: .local { $0.retry = .never }).failure(
            "http://larder.invalid/")
        #expect(error.code == 6)
        #expect(error.message.contains("larder.invalid"))
    }

    @Test("A request to an origin that never answers times out")
    func stallBeforeAnswer() async throws {
        let origin = try ScriptedOrigin { _, connection in connection.waitForHangUp() }
        let client = OriginClient(configuration: .local { $0.stallTimeout = .milliseconds(150) })
        let error = try await client.failure(origin.url())
        guard case .timedOut(.waiting) = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
        #expect(error.code == 28)
        // The origin's thread can be later than the time-out.
        try await origin.waitForRequests(1)
        #expect(origin.requestCount == 1)
    }

    @Test("A transfer times out if its origin stops in mid-body, but not if the origin is slow but steady")
    func stallWithinAnswer() async throws {
        let clock = ManualClock()
        let gates = (0..<5).map { Gate("byte \($0 + 1)") }
        let origin = try ScriptedOrigin { request, connection in
            try connection.sendHead(fields: [.contentLength: "6"])
            if request.target == "/stall" {
                try connection.send("xxx")
                return connection.waitForHangUp()
            }
            try connection.send(Array(repeating: Array("x".utf8), count: 6), gates: gates)
        }
        let client = OriginClient(
            configuration: .local {
                $0.stallTimeout = .milliseconds(40)
                $0.now = { clock.monotonicNow() }
            })
        let stalling = client.start(origin.url("/stall"))
        let trickling = client.start(origin.url("/trickle"))
        try await stalling.received.wait(for: 3)
        for (number, gate) in gates.enumerated() {
            try await trickling.received.wait(for: number + 1)
            clock.advance(by: .milliseconds(30))
            // 60 ms have passed for the stalling transfer and 30 ms for the trickling transfer, and the client has
            // checked both.
            if number == 1 {
                guard case .timedOut(.receiving) = try await stalling.error().kind else {
                    Issue.record("\(stalling.results)")
                    return
                }
            }
            gate.open()
        }
        try await trickling.summary()
        #expect(trickling.text == "xxxxxx")
        #expect(stalling.text == "xxx")
    }

    @Test("The total time limit also ends a body that keeps arriving")
    func total() async throws {
        let clock = ManualClock()
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead()
            for _ in 0..<20 {
                try connection.send("x")
                clock.advance(by: .milliseconds(20))
            }
            connection.waitForHangUp()
        }
        let client = OriginClient(
            configuration: .local {
                $0.totalTimeout = .milliseconds(300)
                $0.now = { clock.monotonicNow() }
            })
        let error = try await client.failure(origin.url())
        guard case .timedOut(.total) = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
    }

    @Test("The total time limit ends endless redirects, within an origin and between two origins", arguments: [1, 2])
    func totalOverRedirects(origins: Int) async throws {
        let clock = ManualClock()
        let urls = Recorder<String>()
        let script: ScriptedOrigin.Script = { request, connection in
            clock.advance(by: .milliseconds(50))
            let next = urls.elements[(Int(request.target.dropFirst())! + 1) % origins]
            try connection.respond(302, fields: [.location: next + String((Int(request.target.dropFirst())! + 1))])
        }
        let all = try (0..<origins).map { _ in try ScriptedOrigin(script) }
        for origin in all { urls.append(origin.url("/")) }
        let client = OriginClient(
            configuration: .local {
                $0.totalTimeout = .milliseconds(300)
                $0.maxRedirects = 20
                $0.now = { clock.monotonicNow() }
            })
        let error = try await client.failure(all[0].url("/0"))
        guard case .timedOut(.total) = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
    }

    @Test("A transfer times out if the origin never accepts the connection")
    func connectTimeout() async throws {
        let listener = try FullListener()
        let client = OriginClient(
            configuration: .local {
                $0.connectTimeout = .milliseconds(200)
                $0.retry.maximumTries = 2
            })
        let error = try await client.failure("http://127.0.0.1:\(listener.port)/")
        guard case .timedOut(.connecting) = error.kind else {
            Issue.record("\(error.kind): \(error)")
            return
        }
        #expect(error.code == 28)
    }

    // MARK: Cancellation and shutdown

    @Test("A transfer can be cancelled while it is queued, waits for an answer, or receives its body")
    func cancelled() async throws {
        let gate = Gate()
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/body" {
                try connection.sendHead(fields: [.contentLength: "100"])
                try connection.send("some")
            }
            connection.waitForHangUp()
            gate.open()
        }
        let client = OriginClient(configuration: .local { $0.maxTransfersPerHost = 2 })
        let body = Collector()
        let waiting = Collector()
        let queued = Collector()
        var transfers = [("/body", body), ("/wait", waiting)].map { path, collector in
            client.fetch(OriginRequest(url: origin.url(path)), receiver: collector)
        }
        try await body.didSend.wait()
        try await origin.waitForRequests(2)
        // The queued transfer is added last, because the client's threads would start the three transfers in any order.
        transfers.append(client.fetch(OriginRequest(url: origin.url("/queued")), receiver: queued))
        // Each transfer must end before the next is cancelled, because the end of a running transfer starts the queued
        // transfer.
        for (transfer, collector) in zip(transfers, [body, waiting, queued]).reversed() {
            transfer.cancel()
            let error = try await collector.error()
            guard case .cancelled = error.kind else {
                Issue.record("\(error.kind)")
                continue
            }
            #expect(error.code == 42)
        }
        // The origin sees the connection close, and the third request was never sent.
        try await gate.wait()
        #expect(origin.requestCount == 2)
        for transfer in transfers { transfer.cancel() }
        #expect(body.results.count == 1)
    }

    @Test("A shutdown notifies the receiver of each running, queued or new transfer exactly once")
    func shutDown() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "100"])
            try connection.send("some")
            connection.waitForHangUp()
        }
        let client = OriginClient(configuration: .local { $0.maxTransfersPerHost = 5 })
        let collectors = (0..<20).map { client.start(origin.url("/\($0)")) }
        try await origin.waitForRequests(5)
        try await blocking { client.shutDown() }
        #expect(collectors.allSatisfy { $0.results.count == 1 })
        let late = client.start(origin.url("/late"))
        #expect(late.results.count == 1)
        for collector in collectors + [late] {
            guard case .cancelled = try await collector.error().kind else {
                Issue.record("\(collector.results)")
                continue
            }
        }
        try await blocking { client.shutDown() }
        #expect(origin.requestCount == 5)
    }

    @Test("A transfer that starts during a shutdown notifies its receiver exactly once")
    func shutDownRace() async throws {
        for _ in 0..<20 {
            let client = OriginClient(configuration: .local)
            let started = Counter()
            async let shutDown: Void = blocking {
                try started.waitBlocking(for: 20)
                client.shutDown()
            }
            let collectors = try await concurrently(4) { _ in
                try await blocking {
                    (0..<50).map { _ in
                        let collector = Collector()
                        client.fetch(OriginRequest(url: "http://127.0.0.1:9/"), receiver: collector)
                        started.add()
                        return collector
                    }
                }
            }
            try await shutDown
            #expect(collectors.joined().allSatisfy { $0.results.count == 1 })
        }
    }

    @Test("The release of the client object ends its transfers")
    func deinitialised() async throws {
        let origin = try ScriptedOrigin { _, connection in connection.waitForHangUp() }
        var client: OriginClient? = OriginClient(configuration: .local)
        let collector = Collector()
        client!.fetch(OriginRequest(url: origin.url()), receiver: collector)
        try await origin.waitForRequests(1)
        client = nil
        guard case .cancelled = try await collector.error().kind else {
            Issue.record("\(collector.results)")
            return
        }
    }

    @Test(
        "Chunk framing that two readers may read differently is an error, and the client closes the connection",
        arguments: [
            "5g\r\nhello\r\n0\r\n\r\n", "5,5\r\nhello\r\n0\r\n\r\n", "5\u{0}\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n",
            "5\r\nhello\r\n0g\r\n\r\n", "5\r\nhello\r\n0\n\n", "5\r\nhello\n0\r\n\r\n", "-5\r\nhello\r\n0\r\n\r\n",
            "0x5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nX\u{0}: y\r\n\r\n",
        ])
    func chunkFraming(body: String) async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/good" { return try connection.respond(body: "good") }
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)")
        }
        let client = OriginClient(configuration: .local { $0.threads = 1 })
        guard case .malformedResponse = try await client.failure(origin.url("/x")).kind else {
            Issue.record("the framing is accepted")
            return
        }
        #expect(try await client.get(origin.url("/good")).text == "good")
        #expect(origin.connectionCount == 2)
    }

    @Test(
        "An answer's head reaches the caller before a malformed first chunk only if the chunk arrives later",
        arguments: [true, false])
    func firstChunk(isLate: Bool) async throws {
        let gate = Gate("the head is there")
        if !isLate { gate.open() }
        let origin = try ScriptedOrigin { _, connection in
            let (head, body) = ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "5g\r\nhello\r\n0\r\n\r\n")
            guard isLate else { return try connection.send(head + body) }
            try connection.send(head)
            try gate.waitBlocking()
            try connection.send(body)
        }
        let collector = OriginClient(configuration: .local).start(origin.url())
        // The caller gets the head without waiting for a late body.
        if isLate {
            try await poll("the head to be shown") { collector.head != nil }
            gate.open()
        }
        guard case .malformedResponse = try await collector.error().kind else {
            Issue.record("the framing is accepted")
            return
        }
        #expect((collector.head != nil) == isLate)
    }

    @Test("An HTTP/1.0 answer with a transfer coding is an error (RFC 9112 §6.1)")
    func oldTransferCoding() async throws {
        let origin = try rawOrigin("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
        guard case .malformedResponse = try await OriginClient(configuration: .local).failure(origin.url()).kind else {
            Issue.record("the framing is accepted")
            return
        }
    }
}
