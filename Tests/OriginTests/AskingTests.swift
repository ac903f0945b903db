import Primitives
import TestSupport
import Testing

@testable import Origin

@Suite("A receiver that decides whether an origin is asked")
struct AskingTests {
    private final class Asker: OriginReceiver {
        struct Refusal: Error {}

        let didFinish = Gate("the end of the transfer")
        private let asked = Locked<[String]>([])
        private let result = Locked<Result<OriginSummary, OriginError>?>(nil)
        private let refuses: @Sendable (_ origin: String, _ count: Int) -> Bool

        /// `refuses` gets the origin, and the number of earlier questions about it.
        init(refuses: @escaping @Sendable (_ origin: String, _ count: Int) -> Bool) {
            self.refuses = refuses
        }

        var origins: [String] { asked.withLock(\.self) }

        func originWillBeAsked(_ origin: String) throws {
            let count = asked.withLock { asked in
                defer { asked.append(origin) }
                return asked.count { $0 == origin }
            }
            if refuses(origin, count) { throw Refusal() }
        }

        func originDidAnswer(_ head: OriginHead) throws {}

        func originDidSend(_ bytes: UnsafeRawBufferPointer) throws {}

        func originDidFinish(_ result: Result<OriginSummary, OriginError>) {
            self.result.withLock { $0 = result }
            didFinish.open()
        }

        /// Whether the transfer ended with the refusal of this receiver.
        func isRefused() async throws -> Bool {
            try await didFinish.wait()
            guard case .failure(let error) = result.withLock(\.self), case .receiver(let cause) = error.kind else {
                return false
            }
            return cause is Refusal
        }
    }

    @Test(
        "A receiver that refuses the origin before or after the wait for a place ends the transfer without a request",
        arguments: [0, 1])
    func refused(count: Int) async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { origin.stop() }
        let client = OriginClient(configuration: .local)
        let asker = Asker { _, earlier in earlier == count }
        client.fetch(OriginRequest(url: origin.url("/a")), receiver: asker)
        #expect(try await asker.isRefused())
        #expect(origin.connectionCount == 0)
        #expect(asker.origins == Array(repeating: "http://127.0.0.1:\(origin.port)", count: count + 1))
        #expect(client.openTransfers == 0)
        #expect(client.transferCounts.running == 0 && client.transferCounts.queued == 0)
    }

    @Test("A refused transfer gives its place to the next transfer of the host")
    func place() async throws {
        let gate = Gate("the first answer")
        let origin = try ScriptedOrigin { request, connection in
            if request.index == 0 { try gate.waitBlocking() }
            try connection.respond(body: request.target)
        }
        defer {
            gate.open()
            origin.stop()
        }
        let client = OriginClient(configuration: .local { $0.maxTransfersPerHost = 1 })
        let first = client.start(origin.url("/first"))
        try await origin.waitForRequests(1)
        let refused = (0..<3).map { _ in Asker { _, earlier in earlier == 1 } }
        for (index, asker) in refused.enumerated() {
            client.fetch(OriginRequest(url: origin.url("/\(index)")), receiver: asker)
        }
        let last = client.start(origin.url("/last"))
        gate.open()
        try await first.summary()
        for asker in refused { #expect(try await asker.isRefused()) }
        try await last.summary()
        #expect(origin.requests.map(\.target) == ["/first", "/last"])
    }

    @Test("A receiver that refuses the target of a redirect ends the transfer, and the target gets no request")
    func redirect() async throws {
        let target = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { target.stop() }
        let location = target.url("/b")
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(302, fields: [.location: location])
        }
        defer { origin.stop() }
        let client = OriginClient(configuration: .local)
        let refused = "http://127.0.0.1:\(target.port)"
        let asker = Asker { origin, _ in origin == refused }
        client.fetch(OriginRequest(url: origin.url("/a")), receiver: asker)
        #expect(try await asker.isRefused())
        #expect(origin.requestCount == 1 && target.connectionCount == 0)
        #expect(asker.origins.last == refused && OriginRequest(url: location).origin == refused)
        // A released client would have ended the transfer.
        #expect(client.openTransfers == 0)
    }

    @Test("The origin of a request has the scheme, the host in lower case, and the port, also when it is the default")
    func origins() {
        #expect(OriginRequest(url: "HTTPS://Example.COM/a?b#c").origin == "https://example.com:443")
        #expect(OriginRequest(url: "http://[::1]:81/").origin == "http://[::1]:81")
        #expect(OriginRequest(url: "nonsense").origin == nil)
    }
}
