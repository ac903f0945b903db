import CCurl
import Glibc
import Primitives
import TestSupport
import Testing

@testable import Origin

@Suite struct RetryTests {
    @Test("The client tries a refused connection three times, and then reports libcurl's code and message")
    func connectionRefused() async throws {
        let port = try RefusingPort()
        let tries = Counter()
        let client = OriginClient(
            configuration: .local {
                $0.retry.random = {
                    tries.add()
                    return 0.5
                }
            })
        let error = try await client.failure(port.url())
        #expect(error.code == 7)
        #expect(error.message.contains("Failed to connect"))
        #expect(tries.value == 2)
    }

    @Test("A request that fails before any byte of an answer is sent again", arguments: [true, false])
    func retried(isReset: Bool) async throws {
        let origin = try ScriptedOrigin { request, connection in
            guard request.index < 2 else { return try connection.respond(body: "third time") }
            if isReset { connection.reset() } else { connection.close() }
        }
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.text == "third time")
        #expect(collector.heads.count == 1)
        #expect(try collector.results[0].get().retryCount == 2)
        #expect(origin.requestCount == 3)
        #expect(origin.connectionCount == 3)
    }

    @Test("The client sends a failing request again only as often as the limit allows")
    func retryLimit() async throws {
        let origin = try ScriptedOrigin { _, connection in connection.close() }
        let error = try await OriginClient(configuration: .local).failure(origin.url())
        #expect(error.code == 52)
        #expect(origin.requestCount == 3)
    }

    @Test("A request is not sent again after a byte of its answer has arrived")
    func notRetried() async throws {
        let gotBody = Gate("body")
        let origin = try ScriptedOrigin { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nsome")
            try gotBody.waitBlocking()
            connection.reset()
        }
        let collector = OriginClient(configuration: .local).start(origin.url())
        try await collector.didSend.wait()
        gotBody.open()
        #expect(try await collector.error().code == 56)
        #expect(collector.text == "some")
        #expect(origin.requestCount == 1)
    }

    // The test uses no sockets, because an origin cannot see how much of a head the client has read when it resets the
    // connection.
    @Test("A request is not sent again after the first line of an interim answer's head has arrived")
    func notRetriedWithinHead() throws {
        let multi = curl_multi_init()!
        defer { curl_multi_cleanup(multi) }
        let inbox = Inbox(multi: multi)
        for (line, isEarly) in [("", true), ("HTTP/1.1 103 Early Hints\r\n", false)] {
            let transfer = Transfer(
                control: OriginTransfer(id: 1, inbox: inbox), request: OriginRequest(url: "http://127.0.0.1/"),
                receiver: Collector(),
                url: try OriginURL("http://127.0.0.1/"), resources: TransferResources(.local))
            transfer.begin()
            // The transfer gets a socket of its own, which is not connected.
            var address = curl_sockaddr()
            address.family = AF_INET
            address.socktype = Int32(SOCK_STREAM.rawValue)
            address.addr = IPAddress.loopback(port: 80)
            let descriptor = transfer.openSocket(&address)
            defer { close(descriptor) }
            #expect(transfer.willSendRequest(to: "127.0.0.1", port: 80, localPort: 1))
            #expect(line.isEmpty || Array(line.utf8).withUnsafeBytes { transfer.receiveLine($0) })
            guard case .failed(let error, isEarly) = transfer.outcome(of: CURLE_RECV_ERROR) else {
                Issue.record("\(transfer.outcome(of: CURLE_RECV_ERROR))")
                continue
            }
            #expect(error.isWorthRetrying)
        }
    }

    @Test("Other transfers continue while a transfer waits for its next try")
    func retryDoesNotBlock() async throws {
        let failing = try ScriptedOrigin { _, connection in connection.close() }
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        let client = OriginClient(
            configuration: .local {
                $0.retry.baseDelay = .seconds(60); $0.retry.maximumDelay = .seconds(60)
            })
        let waiting = client.start(failing.url())
        try await failing.waitForRequests(1)
        for _ in 0..<3 { try await client.get(origin.url()) }
        #expect(!waiting.didFinish.isOpen)
        client.shutDown()
        guard case .cancelled = try await waiting.error().kind else {
            Issue.record("\(waiting.results)")
            return
        }
        #expect(failing.requestCount == 1)
    }
}

extension IPAddress {
    /// 127.0.0.1 as a `sockaddr` of the system.
    fileprivate static func loopback(port: UInt16) -> sockaddr {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        return withUnsafeBytes(of: address) { $0.load(as: sockaddr.self) }
    }
}
