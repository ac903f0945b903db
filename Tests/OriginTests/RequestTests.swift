import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Origin

@Suite struct RequestTests {
    private let client = OriginClient(configuration: .local)

    @Test(
        "A method is sent as given, in its own case",
        arguments: ["GET", "DELETE", "OPTIONS", "POST", "PURGE", "get", "head", "M-SEARCH"])
    func methods(name: String) async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "answer") }
        let method = try #require(HTTPRequest.Method(name))
        let collector = try await client.get(origin.url("/x")) { $0.method = method }
        #expect(origin.requests[0].lines[0] == "\(name) /x HTTP/1.1")
        #expect(origin.requests[0].fields[.contentType] == nil)
        #expect(collector.text == "answer")
    }

    @Test("Fields are sent as given with only Host added: order, repeats, case and empty values are kept")
    func noDefaultFields() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        for (method, body) in [("GET", nil), ("POST", nil), ("PUT", OriginUpload(length: 0))] {
            body?.finish()
            try await client.get(origin.url("/x")) { request in
                request.method = HTTPRequest.Method(method)!
                request.body = body
                request.addsDefaultFields = false
                for (name, value) in [("b", "1"), ("A", ""), ("b", ""), ("TE", "trailers"), ("b", "2;"), ("Via", "x")] {
                    request.fields.append(HTTPField(name: HTTPField.Name(name)!, value: value))
                }
            }
            let framing = body == nil ? [] : ["Content-Length: 0"]
            #expect(
                origin.requests.last?.lines == [
                    "\(method) /x HTTP/1.1", "Host: 127.0.0.1:\(origin.port)", "b: 1", "A:", "b:", "TE: trailers",
                    "b: 2;", "Via: x",
                ] + framing)
        }
    }

    @Test("The Host field of a name keeps the final dot of its URL, which the origin may distinguish (RFC 9110 §7.2)")
    func finalDot() async throws {
        let origin = try ScriptedOrigin { request, connection in try connection.respond(body: request["Host"] ?? "") }
        let client = OriginClient(
            configuration: .local {
                $0.threads = 1
                $0.lookUps = ["a.test", "a.test."].map { "\($0):\(origin.port):127.0.0.1" }
            })
        // The names with and without the dot use the same connections. The requests alternate between the names, so
        // that the test detects a Host field that is kept from an earlier request.
        for host in ["a.test", "a.test.", "a.test", "a.test."] {
            #expect(try await client.get(origin.url("/x", host: host)).text == "\(host):\(origin.port)")
            let target = try await client.get(origin.url("/", host: host)) { $0.requestTarget = "/y" }
            #expect(target.text == "\(host):\(origin.port)")
        }
    }

    @Test("A reused libcurl handle sends no part of the earlier request")
    func usedAgain() async throws {
        let client = OriginClient(configuration: .local { $0.threads = 1 })
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "answer") }
        let plain = ["GET /x HTTP/1.1", "Host: 127.0.0.1:\(origin.port)"]
        for _ in 0..<2 {
            try await client.get(origin.url("/x")) { $0.addsDefaultFields = false }
            #expect(origin.requests.last?.lines == plain)
            try await client.get(origin.url("/")) { request in
                request.requestTarget = "/target?a=b"
                request.fields[.ifNoneMatch] = "\"tag\""
            }
            #expect(origin.requests.last?.lines.first == "GET /target?a=b HTTP/1.1")
            #expect(origin.requests.last?.fields[.userAgent] != nil)
            try await client.get(origin.url("/x")) { $0.addsDefaultFields = false }
            #expect(origin.requests.last?.lines == plain)
            // The handle of a `HEAD` request, or of a request with a body, is not reused.
            try await client.get(origin.url("/x")) { request in
                request.addsDefaultFields = false
                request.method = .head
            }
            try await client.get(origin.url("/x")) { request in
                request.addsDefaultFields = false
                request.method = .post
                request.body = OriginUpload(length: 0)
                request.body?.finish()
            }
        }
    }

    @Test("If a request sets Accept, User-Agent, Host or Expect, the client sends that value, even an empty value")
    func ownFields() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        let body = OriginUpload(length: nil)
        body.finish()
        try await client.get(origin.url("/x")) { request in
            request.method = .post
            request.body = body
            request.addsDefaultFields = false
            request.fields = [.userAgent: "agent", .accept: "", .expect: "100-continue"]
            request.fields[HTTPField.Name("Host")!] = "elsewhere"
        }
        #expect(
            origin.requests[0].lines == [
                "POST /x HTTP/1.1", "Host: elsewhere", "User-Agent: agent", "Accept:", "Expect: 100-continue",
                "Transfer-Encoding: chunked",
            ])
    }

    @Test("The client sends the bytes of a field value that are not UTF-8 unchanged (obs-text, RFC 9110 §5.5)")
    func obsText() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        let field = HTTPField(name: HTTPField.Name("X-Text")!, value: [0x61, 0xe9, 0xff] as [UInt8])
        try await client.get(origin.url()) { $0.fields.append(field) }
        let sent = try #require(origin.requests[0].fields.first { $0.name == field.name })
        #expect(sent.withUnsafeBytesOfValue(Array.init) == [0x61, 0xe9, 0xff])
    }

    @Test("A request without content has no framing fields, which would make the origin wait for a body")
    func noFalseFraming() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        for fields: HTTPFields in [[.contentLength: "5"], [.transferEncoding: "chunked"]] {
            try await client.get(origin.url()) { $0.fields = fields }
        }
        #expect(origin.requests.allSatisfy { $0.fields[.contentLength] == nil && $0.fields[.transferEncoding] == nil })
    }

    @Test(
        "The client sends the request target byte for byte",
        arguments: ["/a//b/%2F/../c?", "/x?", "/", "//x", "/?", "/a?b?c", "/ü", "/%zz", "/a\\b", "/#", "*"])
    func target(target: String) async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        let collector = try await client.get(origin.url("/unused")) { request in
            request.requestTarget = target
            if target == "*" { request.method = .options }
        }
        #expect(origin.requests[0].target == target)
        #expect(collector.head?.effectiveURL == origin.url("/unused"))
    }

    @Test("A request that cannot be sent unchanged is refused before any connection")
    func refused() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond() }
        let ftp = OriginClient(configuration: .local { $0.schemes = ["http", "ftp"] })
        func check(_ change: @escaping (inout OriginRequest) -> Void) async throws {
            let error = try await ftp.failure(origin.url(), change)
            guard case .requestInvalid = error.kind else {
                Issue.record("\(error.kind)")
                return
            }
            #expect(error.code == 43)
        }
        for target in ["", "x", "/a b", "/a\r\nX: y", "/a\0", "/\u{7f}", "http://h/", "**"] {
            try await check { $0.requestTarget = target }
        }
        try await check { $0.method = .connect }
        try await check {
            $0.method = .head
            $0.body = OriginUpload(length: 0)
        }
        try await check {
            $0.url = "ftp://127.0.0.1/x"
            $0.method = .delete
        }
        let body = OriginUpload(length: 1)
        try await check {
            $0.url = "ftp://127.0.0.1/x"
            $0.body = body
        }
        #expect(body.write(SharedBytes([1])) == .closed)
        #expect(origin.connectionCount == 0)
    }

    @Test("The client follows redirects of GET and HEAD; for any other method the redirect is the answer")
    func redirects() async throws {
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/from" { return try connection.respond(302, fields: [.location: "/to"]) }
            try connection.respond(body: "there")
        }
        for method: HTTPRequest.Method in [.get, .head] {
            let head = try #require(
                try await client.get(origin.url("/unused")) {
                    $0.method = method
                    $0.requestTarget = "/from"
                }.head)
            #expect(head.status == 200)
            #expect(head.effectiveURL == origin.url("/to"))
        }
        #expect(origin.requests.map(\.method) == ["GET", "GET", "HEAD", "HEAD"])
        for method: HTTPRequest.Method in [.post, .put, .delete, .options] {
            #expect(try await client.get(origin.url("/from")) { $0.method = method }.head?.status == 302)
        }
        let body = OriginUpload(length: 0)
        body.finish()
        #expect(try await client.get(origin.url("/from")) { $0.body = body }.head?.status == 302)
    }

    @Test("A HEAD request follows no redirect to FTP, because FTP would fetch the whole file")
    func redirectToFTP() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(302, fields: [.location: "ftp://127.0.0.1:1/x"])
        }
        let ftp = OriginClient(configuration: .local { $0.schemes = ["http", "ftp"] })
        guard case .requestInvalid = try await ftp.failure(origin.url(), { $0.method = .head }).kind else {
            Issue.record("it was followed")
            return
        }
    }

    @Test("After a failure, the client sends only idempotent requests again (RFC 9110 §9.2.2)")
    func retries() async throws {
        for (name, tries) in [
            ("POST", 1), ("PATCH", 1), ("PURGE", 1), ("get", 1), ("PUT", 3), ("DELETE", 3), ("HEAD", 3),
        ] {
            let origin = try ScriptedOrigin { _, connection in connection.close() }
            _ = try await client.failure(origin.url()) { $0.method = HTTPRequest.Method(name)! }
            #expect(origin.requestCount == tries, "\(name)")
        }
    }

    @Test("A request with any method is tried again if its connection could not be opened")
    func retriedConnecting() async throws {
        let port = try RefusingPort()
        let tries = Counter()
        let client = OriginClient(
            configuration: .local {
                $0.retry.random = {
                    tries.add()
                    return 0
                }
            })
        _ = try await client.failure(port.url()) { $0.method = .post }
        #expect(tries.value == 2)
    }

    @Test("A POST uses only a new connection: if a used connection has closed, libcurl would send the POST twice")
    func freshConnection() async throws {
        let origin = try ScriptedOrigin { request, connection in
            // The second request on the first connection gets no answer, as if the connection had been closed
            // meanwhile.
            if request.connection == 0 && request.index == 1 { return connection.close() }
            try connection.respond(body: request.method)
        }
        try await client.get(origin.url())
        #expect(try await client.get(origin.url()) { $0.method = .post }.text == "POST")
        #expect(origin.requests.map(\.method) == ["GET", "POST"])
        #expect(origin.connectionCount == 2)
    }
}
