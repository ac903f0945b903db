import HTTPTypes
import TestSupport
import Testing

@testable import Origin

@Suite struct TLSTests {
    @Test("HTTPS with a certificate of an added authority uses HTTP/2, and many transfers share a connection")
    func http2() async throws {
        let all = Counter("requests")
        let origin = try ScriptedOrigin { request, connection in
            all.add()
            try all.waitBlocking(for: 20)
            try connection.respond(fields: [.contentType: "text/plain"], body: request.target)
        }
        let front = try await TLSFront(originPort: origin.port)
        let client = OriginClient(
            configuration: .local {
                // There is one thread, because only transfers of the same thread share a connection.
                $0.threads = 1
                $0.certificateAuthorityFile = front.authority.certificateFile
                $0.addressPolicy = AddressPolicy(allowing: [try! AddressRule("localhost")])
            })
        let collectors = (0..<20).map { client.start(front.url("/\($0)")) }
        for (index, collector) in collectors.enumerated() {
            try await collector.summary()
            #expect(collector.text == "/\(index)")
            #expect(collector.head?.version == "2")
            #expect(collector.head?.framing == .stream)
            #expect(collector.head?.fields[.contentType] == "text/plain")
        }
        #expect(Set(origin.requests.map { $0["X-Front-Protocol"] }) == ["HTTP/2.0"])
        #expect(Set(origin.requests.map { $0["X-Front-Connection"] }).count == 1)
    }

    @Test("Many transfers in turn over a shared HTTP/2 connection do not crash the process")
    func afterSharing() async throws {
        let all = Counter("requests")
        let origin = try ScriptedOrigin { request, connection in
            // The origin answers only when all ten requests of a round have arrived.
            let number = all.add()
            try all.waitBlocking(for: (number + 9) / 10 * 10)
            try connection.respond(body: request.target)
        }
        let front = try await TLSFront(originPort: origin.port)
        let client = OriginClient(
            configuration: .local {
                $0.certificateAuthorityFile = front.authority.certificateFile
                $0.addressPolicy = AddressPolicy(allowing: [try! AddressRule("localhost")])
            })
        for _ in 0..<3 {
            for collector in (0..<10).map({ _ in client.start(front.url("/x")) }) { try await collector.summary() }
        }
        #expect(origin.requestCount == 30)
    }

    @Test("An unreadable file of authorities fails TLS before the request, and no request counts as sent")
    func unreadableAuthorities() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        let front = try await TLSFront(originPort: origin.port)
        let client = OriginClient(
            configuration: .local {
                $0.certificateAuthorityFile = "/missing.pem"
                $0.addressPolicy = AddressPolicy(allowing: [try! AddressRule("localhost")])
                $0.retry = .never
            })
        let error = try await client.failure(front.url("/a"))
        #expect(error.isBeforeRequest, "\(error)")
        #expect(origin.requestCount == 0)
    }

    @Test("A server without HTTP/2 gets HTTP/1.1 requests")
    func http1() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request.target) }
        let front = try await TLSFront(originPort: origin.port, http2: false)
        let client = OriginClient(
            configuration: .local { $0.certificateAuthorityFile = front.authority.certificateFile })
        let collectors = (0..<5).map { client.start(front.url("/\($0)", host: "127.0.0.1")) }
        for collector in collectors { try await collector.summary() }
        #expect(collectors.allSatisfy { $0.head?.version == "1.1" })
    }

    @Test("A certificate of an unknown authority is refused before any request is sent")
    func unknownAuthority() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        let front = try await TLSFront(originPort: origin.port)
        let error = try await OriginClient(configuration: .local).failure(front.url())
        #expect(error.code == 60)
        #expect(origin.requestCount == 0)
    }

    @Test("A truncated body over HTTP/2 is an error")
    func cut() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.sendHead(fields: [.contentLength: "1000"])
            try connection.send("short")
            connection.close()
        }
        let front = try await TLSFront(originPort: origin.port)
        let client = OriginClient(
            configuration: .local { $0.certificateAuthorityFile = front.authority.certificateFile })
        let error = try await client.failure(front.url())
        guard case .transfer = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
    }
}
