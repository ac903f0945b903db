import Foundation
import HTTPTypes
import MicroHTTPD
import Primitives
import TestSupport
import Testing

/// A sink that is full after each write, for a moment.
private final class PausingSink: BodySink {
    let received = Locked<[UInt8]>([])

    func write(_ bytes: UnsafeRawBufferPointer) -> Backpressure {
        let copy = Array(bytes)
        received.withLock { $0 += copy }
        return .full
    }

    func onRoom(_ action: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async(execute: action)
    }

    func abandon() {}
}

@Suite("Connections over TLS")
struct SecureConnectionTests {
    private static let echo = Handler.answering { Response(text: $0.request.target) }
    private let authority: TestAuthority
    private let credentials: TLSCredentials

    init() async throws {
        authority = try await blocking { try TestAuthority() }
        credentials = try TLSCredentials(authority.server)
    }

    @Test("The daemon closes a TLS connection after a failed answer, even if its client stays connected")
    func broken() async throws {
        let stream = ResponseStream()
        let handler = Handler.answering { exchange in
            exchange.request.path == "/idle" ? Response(text: "") : Response(body: .stream(stream, length: nil))
        }
        try await withDaemon(credentials, handler, configure: { $0.threads = 1 }) { [authority] daemon in
            let idle = try RawConnection(port: daemon.port, authority: authority)
            try idle.sendRequest("GET", "/idle")
            #expect(try idle.readReply().status == 200)
            let client = try RawConnection(port: daemon.port, authority: authority)
            try client.sendRequest("GET", "/broken")
            try pollBlocking("a request") { daemon.exchangesInFlight == 1 }
            stream.fail()
            #expect(throws: (any Error).self) { try client.readReply() }
            try pollBlocking("one connection less", limit: .seconds(10)) { daemon.connectionCount == 1 }
            try idle.sendRequest("GET", "/idle")
            #expect(try idle.readReply().status == 200)
            client.close()
        }
    }

    @Test("A single TLS connection carries every kind of answer and an upload, as over plain HTTP")
    func everyKind() async throws {
        let piece = pattern(1 << 20)
        let all = (0..<10).reduce(into: [UInt8]()) { all, _ in all += piece }
        let (shared, file, waiting) = (SharedBytes(all), try TemporaryFile(all), Mailbox<Exchange>())
        let handler = Handler { request in
            .accept(.memory(limit: 16 << 20)) { exchange in
                switch request.path {
                case "/bytes": exchange.respond(Response(body: .bytes(shared)))
                case "/file": exchange.respond(Response(body: .file(file.body())))
                case "/stream":
                    let stream = ResponseStream()
                    exchange.respond(Response(body: .stream(stream, length: nil)))
                    Thread {
                        for start in stride(from: 0, to: all.count, by: 65_536) {
                            stream.write(all[start..<start + 65_536])
                        }
                        stream.finish()
                    }.start()
                case "/upload":
                    guard case .memory(let body) = exchange.body else { return exchange.respond(Response(status: 500)) }
                    exchange.respond(Response(text: body == all ? "the same" : "another"))
                default: waiting.put(exchange)
                }
            }
        }
        try await withDaemon(credentials, handler) { [authority] daemon in
            let connection = try RawConnection(port: daemon.port, authority: authority)
            for _ in 0..<2 {
                for path in ["/bytes", "/file", "/stream"] {
                    try connection.sendRequest("GET", path)
                    #expect(try connection.readReply().body == all, "\(path)")
                }
                try connection.sendRequest("HEAD", "/file")
                #expect(try connection.readReply(to: "HEAD")["Content-Length"] == "\(all.count)")
                try connection.sendRequest("PUT", "/upload", body: all)
                #expect(try connection.readReply().text == "the same")
            }
            try connection.sendRequest("GET", "/late")
            let exchange = try waiting.wait()[0]
            #expect(!exchange.sendInterim(103))
            exchange.respond(Response(text: "late"))
            #expect(try connection.readReply().text == "late")
            #expect(daemon.connectionCount == 1)
            connection.close()
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
        }
    }

    @Test("Pipelined requests of many connections, in several TLS records, all get their answers")
    func pipelined() async throws {
        // Another thread answers each path that ends with 3. The connection's later requests wait for this answer.
        let handler = Handler { request in
            .accept(.none) { exchange in
                let response = Response(text: request.path)
                guard request.path.hasSuffix("3") else { return exchange.respond(response) }
                DispatchQueue.global().async { exchange.respond(response) }
            }
        }
        try await withDaemon(credentials, handler) { [authority] daemon in
            let connections = try (0..<4).map { _ in try RawConnection(port: daemon.port, authority: authority) }
            for connection in connections {
                try connection.send((0..<800).map { "GET /\($0) HTTP/1.1\r\nHost: test\r\n\r\n" }.joined())
            }
            for connection in connections {
                for index in 0..<800 { #expect(try connection.readReply().text == "/\(index)") }
            }
        }
    }

    @Test("An upload over TLS arrives whole, even if the body's sink is full after each write")
    func heldUp() async throws {
        let sink = PausingSink()
        let handler = Handler { _ in .accept(.sink(sink)) { $0.respond(Response(text: "taken")) } }
        try await withDaemon(credentials, handler) { [authority] daemon in
            let body = pattern(1 << 20)
            let connection = try RawConnection(port: daemon.port, authority: authority)
            try connection.sendRequest("PUT", "/", body: body)
            #expect(try connection.readReply().text == "taken")
            #expect(sink.received.withLock { $0 } == body)
        }
    }

    @Test(
        "A TLS client detects that an answer breaks off, whether chunked or with a length",
        arguments: [nil, 1_000_000] as [Int64?])
    func broken(length: Int64?) async throws {
        let handler = Handler.answering { _ in
            let stream = ResponseStream()
            stream.write(pattern(100_000))
            stream.fail()
            return Response(body: .stream(stream, length: length))
        }
        try await withDaemon(credentials, handler) { [authority] daemon in
            let connection = try RawConnection(port: daemon.port, authority: authority)
            try connection.sendRequest("GET", "/")
            #expect(throws: (any Error).self) { try connection.readReply() }
        }
    }

    @Test("If a request head is too large, the TLS client gets the answer that the handler chose")
    func largeHead() async throws {
        let handler = Handler { request in
            guard let defect = request.defect else { return .accept(.none) { $0.respond(Response()) } }
            return .refuse(Response(status: defect.status, text: "too large"))
        }
        try await withDaemon(credentials, handler) { [authority] daemon in
            let connection = try RawConnection(port: daemon.port, authority: authority)
            try connection.sendRequest("GET", "/")
            #expect(try connection.readReply().status == 200)
            let value = String(repeating: "x", count: 20_000)
            try connection.sendRequest("GET", "/", fields: [HTTPField.Name("X-Large")!: value])
            let reply = try connection.readReply()
            #expect(reply.status == 431 && reply.text == "too large")
            #expect(try connection.readToEnd() == [])
        }
    }

    @Test("If a request is refused, the TLS client gets the answer, even if it goes on sending the body")
    func refusedUpload() async throws {
        let handler = Handler { _ in .refuse(Response(status: 413, text: "refused")) }
        try await withDaemon(credentials, handler) { [authority] daemon in
            let connection = try RawConnection(port: daemon.port, authority: authority)
            // The connection may close before the whole body is sent.
            try? connection.sendRequest("PUT", "/", body: [UInt8](repeating: 0x78, count: 8 << 20))
            let reply = try connection.readReply()
            #expect(reply.status == 413 && reply.text == "refused")
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
        }
    }

    @Test("A waiting exchange is notified when its TLS client leaves")
    func hangUp() async throws {
        let (waiting, left) = (Mailbox<Exchange>(), Mailbox<Void>())
        let handler = Handler { _ in
            .accept(.none) { exchange in
                exchange.onHangUp { left.put(()) }
                waiting.put(exchange)
            }
        }
        try await withDaemon(credentials, handler) { [authority] daemon in
            for count in 1...5 {
                let connection = try RawConnection(port: daemon.port, authority: authority)
                try connection.sendRequest("GET", "/")
                _ = try waiting.wait(for: count)
                connection.close()
                _ = try left.wait(for: count)
            }
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
        }
    }

    @Test("A new certificate applies to new connections; open connections are still served")
    func newCertificate() async throws {
        let next = try await blocking { [authority] in try authority.issue("next", for: .server) }
        let other = try TLSCredentials(next)
        try await withDaemon(credentials, Self.echo) { [authority, credentials] daemon in
            let open = try RawConnection(port: daemon.port, authority: authority)
            try open.sendRequest("GET", "/before")
            #expect(try open.readReply().text == "/before")
            #expect(try RawConnection.certificateSerialNumber(port: daemon.port) == credentials.serialNumber)
            daemon.use(other)
            #expect(other.serialNumber != credentials.serialNumber)
            #expect(try RawConnection.certificateSerialNumber(port: daemon.port) == other.serialNumber)
            try open.sendRequest("GET", "/after")
            #expect(try open.readReply().text == "/after")
        }
    }

    @Test("A certificate that is replaced before the daemon starts is never presented")
    func newCertificateBeforeStart() async throws {
        let other = try TLSCredentials(try await blocking { [authority] in try authority.issue("next", for: .server) })
        var configuration = DaemonConfiguration()
        configuration.tls = credentials
        let daemon = Daemon(configuration: configuration, handler: Self.echo)
        daemon.use(other)
        try daemon.start()
        let shown = try await blocking { try RawConnection.certificateSerialNumber(port: daemon.port) }
        #expect(shown == other.serialNumber)
        await daemon.stop(deadline: .zero)
    }
}
