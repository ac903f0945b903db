import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Origin

/// Tests whether a connection or a libcurl handle may serve another request after an answer (RFC 9112 §6.3).
@Suite struct ReuseTests {
    private static let wrong = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong"
    private let client = OriginClient(configuration: .local { $0.threads = 1 })

    /// An origin that answers `/good` with `right`. It answers any other path with `answer`, and then with `late` once
    /// the gate is open.
    private func origin(_ answer: String, late: String = "", after gate: Gate? = nil) throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            if request.target == "/good" { return try connection.respond(body: "right") }
            try connection.send(answer)
            if let gate {
                try gate.waitBlocking()
                try connection.send(late)
            }
        }
    }

    @Test("A folded first field line on a reused connection is refused, and no field of the earlier answer is read")
    func foldedFirstLine() async throws {
        let origin = try ScriptedOrigin { request, connection in
            switch request.target {
            case "/good":
                try connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Last: \(String(repeating: "v", count: 40))\r\n\r\ngood")
            case "/interim": try connection.send("HTTP/1.1 103 Early Hints\r\n folded: first\r\n\r\n")
            default: try connection.send("HTTP/1.1 200 OK\r\n folded: first\r\nContent-Length: 3\r\n\r\nbad")
            }
        }
        for _ in 0..<30 {
            for path in ["/bad", "/interim"] {
                #expect(try await client.get(origin.url("/good")).text == "good")
                let error = try await client.failure(origin.url(path))
                guard case .malformedResponse = error.kind else {
                    Issue.record("\(error.kind)")
                    return
                }
            }
        }
    }

    @Test("The client reuses no handle of a libcurl version that keeps pointers into an earlier answer's fields")
    func versions() {
        // curl issue 11101 affects the versions from 7.83.0, which introduced curl_easy_header, to 8.1.0.
        for version in [0x075300, 0x075801, 0x080000, 0x080100] as [UInt32] {
            #expect(!LibcurlVersion.canReuseHandles(version: version, keepsFields: true))
            #expect(LibcurlVersion.canReuseHandles(version: version, keepsFields: false))
        }
        for version in [0x075200, 0x075202, 0x080101, 0x080e00] as [UInt32] {
            #expect(LibcurlVersion.canReuseHandles(version: version, keepsFields: true))
        }
    }

    @Test(
        "The client never reads bytes behind an answer as the next answer, and closes the connection",
        arguments: [
            "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "HTTP/1.1 302 Found\r\nLocation: /good\r\nContent-Length: 0\r\n\r\n",
        ])
    func excess(answer: String) async throws {
        let origin = try origin(answer + Self.wrong)
        for _ in 0..<3 {
            let collector = try await client.get(origin.url("/x"))
            #expect(["", "ok", "right"].contains(collector.text))
            #expect(try await client.get(origin.url("/good")).text == "right")
        }
        let connections = origin.requests.filter { $0.target == "/x" }.map(\.connection)
        #expect(Set(connections).count == connections.count)
    }

    @Test(
        "Bytes that arrive on an idle connection close it",
        arguments: [
            "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        ], [Self.wrong, "\r\n", "x"])
    func lateBytes(answer: String, late: String) async throws {
        let (gate, sent) = (Gate("late bytes"), Gate("late bytes are sent"))
        let origin = try ScriptedOrigin { request, connection in
            if request.target == "/good" { return try connection.respond(body: "right") }
            try connection.send(answer)
            try gate.waitBlocking()
            try connection.send(late)
            sent.open()
        }
        try await client.get(origin.url("/x"))
        gate.open()
        try await sent.wait()
        #expect(try await client.get(origin.url("/good")).text == "right")
        #expect(origin.connectionCount == 2)
    }

    @Test(
        "After an answer without a status line on a reused connection, the request is sent on a new connection",
        arguments: ["<html>what HEAD should not have</html>", "\r\n", "\u{0}", "HTTP/1.1 2xx\r\n\r\n"])
    func noStatusLine(tail: String) async throws {
        // The origin sends the tail only after the next request, so the client cannot see the tail before it sends this
        // request.
        let origin = try ScriptedOrigin { request, connection in
            if request.connection == 0, request.target == "/good" { try connection.send(tail) }
            try connection.respond(body: request.target)
        }
        try await client.get(origin.url("/first"))
        #expect(try await client.get(origin.url("/good")).text == "/good")
        #expect(origin.requests.map(\.connection) == [0, 0, 1])
    }

    @Test("An answer without a status line on a new connection is an error, and the request is not sent again")
    func freshWithoutStatusLine() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.send("<html>no HTTP</html>")
            connection.close()
        }
        guard case .malformedResponse = try await client.failure(origin.url("/x")).kind else {
            Issue.record("it is no malformed response")
            return
        }
        #expect(origin.requestCount == 1)
    }

    @Test("A connection that has carried credentials serves only requests with the same credentials")
    func credentials() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "right") }
        let callers: [HTTPFields] = [
            [:], [:], [.authorization: "Basic YTph"], [.authorization: "Basic YTph"], [.authorization: "Basic YTpi"],
            [.cookie: "a=1"], [.cookie: "a=1"], [HTTPField.Name("X-Api-Key")!: "k"], [.userAgent: "u"],
            [.accept: "*/*"],
        ]
        for fields in callers { try await client.get(origin.url("/good")) { $0.fields = fields } }
        #expect(origin.requests.map(\.connection) == [0, 0, 1, 1, 2, 3, 3, 4, 5, 5])
    }

    @Test("An answer that arrives late on a reused connection does not reach a caller with other credentials")
    func lateAnswer() async throws {
        // On the first connection, each later request gets the answer to the request before it, as if that answer had
        // arrived twice.
        let last = Locked<String?>(nil)
        let origin = try ScriptedOrigin { request, connection in
            let text = request["Authorization"] ?? "nobody"
            if request.connection == 0, let late = last.withLock({ $0 }) {
                try connection.respond(body: late)
            } else {
                try connection.respond(body: text)
            }
            last.withLock { $0 = text }
        }
        for caller in ["Basic YTph", "Basic YTpi", "Basic YTph", "Basic YTpi"] {
            #expect(try await client.get(origin.url("/x")) { $0.fields[.authorization] = caller }.text == caller)
        }
    }

    @Test("The client closes a connection after HEAD, but reuses it after GET")
    func head() async throws {
        let origin = try origin("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        try await client.get(origin.url("/x")) { $0.method = .head }
        for _ in 0..<3 { try await client.get(origin.url("/good")) }
        #expect(origin.requests.map(\.connection) == [0, 1, 1, 1])
    }

    @Test("After a complete answer without excess bytes, with or without a body, the connection is reused")
    func clean() async throws {
        let answers = [
            "/204": "HTTP/1.1 204 No Content\r\n\r\n", "/304": "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n",
            "/empty": "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "/chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX: y\r\n\r\n",
            "/interim": "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
            "/redirect": "HTTP/1.1 302 Found\r\nLocation: /204\r\nContent-Length: 3\r\n\r\nabc",
        ]
        let origin = try ScriptedOrigin { request, connection in try connection.send(answers[request.target]!) }
        for path in answers.keys.sorted() + answers.keys.sorted() { try await client.get(origin.url(path)) }
        #expect(origin.connectionCount == 1)
    }

    @Test("Over TLS, the client closes an HTTP/1.1 connection after an answer without a body, but not after a body")
    func secure() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(request.target == "/204" ? 204 : 200, body: request.target)
        }
        let front = try await TLSFront(originPort: origin.port, http2: false)
        let client = OriginClient(
            configuration: .local {
                $0.threads = 1
                $0.certificateAuthorityFile = front.authority.certificateFile
                $0.addressPolicy = AddressPolicy(allowing: [try! AddressRule("localhost")])
            })
        for path in ["/a", "/b", "/204", "/c", "/d"] {
            #expect(try await client.get(front.url(path)).head?.version == "1.1")
        }
        let connections = origin.requests.map { $0["X-Front-Connection"] }
        #expect(connections[0] == connections[1] && connections[1] == connections[2])
        #expect(connections[2] != connections[3] && connections[3] == connections[4])
    }

    @Test(
        "A connection that NTLM or Negotiate authenticates carries no other request",
        arguments: ["NTLM TYPE3", "Negotiate YII=", "negotiate x", "Kerberos x"])
    func connectionCredentials(credentials: String) async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(body: request["Authorization"] ?? "nobody")
        }
        for _ in 0..<2 {
            try await client.get(origin.url("/good"))
            try await client.get(origin.url("/x")) { $0.fields[.authorization] = credentials }
        }
        let own = origin.requests.filter { $0["Authorization"] != nil }.map(\.connection)
        #expect(Set(own).count == 2)
        #expect(Set(origin.requests.filter { $0["Authorization"] == nil }.map(\.connection)).isDisjoint(with: own))
    }

    @Test(
        "The client closes a connection after an answer that offers to authenticate the connection",
        arguments: ["NTLM", "Negotiate", "Basic realm=\"a\", NTLM", "NTLM TlRMTVNTUAACAAAA"])
    func connectionChallenge(challenge: String) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(401, fields: [.wwwAuthenticate: challenge])
        }
        for _ in 0..<2 { try await client.get(origin.url("/x")) }
        #expect(origin.connectionCount == 2)
    }
}
