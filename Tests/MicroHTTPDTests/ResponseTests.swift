import Foundation
import HTTPTypes
import MicroHTTPD
import Primitives
import TestSupport
import Testing

@Suite("Responses")
struct ResponseTests {
    /// Sends `requests` over one connection and returns the answers. Each answer is the same response.
    private func answers(
        _ response: Response, to requests: [String] = ["GET"]
    ) async throws -> [RawClient.Answer] {
        let answers = Locked<[RawClient.Answer]>([])
        try await withDaemon(Handler.answering { _ in response }) { daemon in
            let client = try RawClient(port: daemon.port)
            for method in requests {
                try client.request(method, "/")
                let answer = try client.answer(toHead: method == "HEAD")
                answers.withLock { $0.append(answer) }
            }
        }
        return answers.withLock { $0 }
    }

    @Test("Bytes and slices of bytes are sent unchanged, and a HEAD request gets only their length")
    func bytes() async throws {
        let bytes = SharedBytes(pattern(1000))
        let whole = try await answers(Response(body: .bytes(bytes)), to: ["GET", "HEAD", "GET"])
        #expect(whole.map(\.body) == [pattern(1000), [], pattern(1000)])
        #expect(whole.map { $0["Content-Length"] } == ["1000", "1000", "1000"])
        let slice = try await answers(Response(status: 206, body: .slice(bytes, 10..<20)), to: ["GET", "HEAD", "GET"])
        #expect(slice.map(\.body) == [Array(pattern(1000)[10..<20]), [], Array(pattern(1000)[10..<20])])
        let empty = try await answers(Response(), to: ["GET", "HEAD", "GET"])
        #expect(empty.map { $0["Content-Length"] } == ["0", "0", "0"])
        let nothing = try await answers(Response(body: .slice(bytes, 5..<5)), to: ["GET", "GET"])
        #expect(nothing.map(\.body) == [[], []])
    }

    @Test("Answers with 204 and 304 have no body, and the next answer is whole")
    func bodiless() async throws {
        let bytes = Response.Body.bytes(SharedBytes(pattern(100)))
        let stream = ResponseStream()
        let responses = [
            Response(status: 304, body: bytes), Response(status: 204, body: bytes), Response(status: 304),
            Response(status: 304, body: .withheld(length: 12345)),
            Response(status: 204, body: .stream(stream, length: nil)),
            Response(status: 200, body: bytes),
        ]
        let handler = Handler.answering { responses[Int($0.request.path.dropFirst())!] }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            var lengths: [String?] = []
            for index in responses.indices {
                try client.request("GET", "/\(index)")
                let answer = try client.answer()
                #expect(answer.status == responses[index].status)
                #expect(answer["Transfer-Encoding"] == nil)
                lengths.append(answer["Content-Length"])
                if index == 5 { #expect(answer.body == pattern(100)) }
            }
            #expect(lengths == ["100", nil, "0", "12345", nil, "100"])
        }
    }

    @Test("If a response has a length but no body, the answer to HEAD is complete, and the answer to GET breaks off")
    func withheld() async throws {
        try await withDaemon(Handler.answering { _ in Response(body: .withheld(length: 10)) }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("HEAD", "/")
            #expect(try client.answer(toHead: true)["Content-Length"] == "10")
            try client.request("GET", "/")
            #expect(throws: RawClient.Failure.self) { try client.answer() }
        }
    }

    @Test("The daemon sends fields in order, and each repeated field on its own line")
    func fields() async throws {
        var fields = HTTPFields()
        let one = try #require(HTTPField.Name("X-One"))
        let two = try #require(HTTPField.Name("X-Two"))
        for (name, value) in [
            (one, "a"), (two, "b"), (one, "c"), (.setCookie, "d=e"), (.setCookie, "f=g"), (one, "ü\th"),
        ] {
            fields.append(HTTPField(name: name, value: value))
        }
        let answer = try await answers(Response(fields: fields))[0]
        #expect(answer.values("x-one") == ["a", "c", "ü\th"])
        #expect(answer.values("set-cookie") == ["d=e", "f=g"])
        let own = answer.fields.map(\.name).filter { $0.hasPrefix("X-") || $0 == "Set-Cookie" }
        #expect(own == ["X-One", "X-Two", "X-One", "Set-Cookie", "Set-Cookie", "X-One"])
    }

    @Test("The daemon leaves out control characters of values, and fields that it sends itself")
    func unsafeFields() async throws {
        var fields = HTTPFields()
        let odd = try #require(HTTPField.Name("X-Odd"))
        fields.append(HTTPField(name: odd, value: "a\r\nX-Injected: b"))
        fields.append(HTTPField(name: odd, lenientValue: [0x61, 0x01, 0x62]))
        fields.append(HTTPField(name: odd, value: ""))
        fields[.contentLength] = "99"
        fields[.transferEncoding] = "chunked"
        fields[.connection] = "keep-alive, X-Odd"
        fields[.date] = "Sat, 31 Jan 2026 08:05:09 GMT"
        let all = try await answers(
            Response(fields: fields, body: .bytes(SharedBytes("body".utf8))), to: ["GET", "GET"])
        let answer = all[1]
        #expect(answer.text == "body")
        #expect(answer["X-Injected"] == nil)
        // `HTTPField` has replaced the line end with spaces, so the first field is harmless.
        #expect(answer.values("X-Odd").allSatisfy { ($0.hasPrefix("a") || $0.isEmpty) && !$0.contains("\u{1}") })
        #expect(answer.values("Content-Length") == ["4"])
        #expect(answer["Transfer-Encoding"] == nil)
        #expect(answer["Connection"] == nil)
        #expect(answer.values("Date") == ["Sat, 31 Jan 2026 08:05:09 GMT"])
    }

    @Test("A response can close its connection, and sends Connection: close once")
    func closing() async throws {
        var fields: HTTPFields = [.date: "Sat, 31 Jan 2026 08:05:09 GMT"]
        fields.append(HTTPField(name: .connection, value: "foo, Close"))
        try await withDaemon(Handler.answering { [fields] _ in Response(text: "x", fields: fields) }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            #expect(try client.answer().values("Connection") == ["close"])
            #expect(try client.isAtEnd())
        }
    }

    @Test("Unusual status codes pass through unchanged", arguments: [200, 299, 418, 499, 599, 999])
    func status(code: Int) async throws {
        #expect(try await answers(Response(status: code, text: "x"))[0].status == code)
    }

    @Test(
        "Files of every size are sent whole and in part, and HEAD gets their length",
        arguments: [0, 1, 256 * 1024, 256 * 1024 + 1, 3_000_001])
    func files(size: Int) async throws {
        let bytes = pattern(size)
        let file = try TemporaryFile(bytes)
        let whole = file.body()
        let part = whole.slice(Int64(size / 3)..<Int64(size)).slice(0..<Int64(size / 3))
        let expected = Array(bytes[size / 3..<size / 3 + size / 3])
        for (body, content) in [(whole, bytes), (part, expected)] {
            let answers = try await answers(Response(body: .file(body)), to: ["GET", "HEAD", "GET", "GET"])
            #expect(answers[0].body == content)
            #expect(answers.map { $0["Content-Length"] } == Array(repeating: String(content.count), count: 4))
            #expect(answers[3].body == content)
        }
    }

    @Test("If a file is shorter than declared, the answer breaks off", arguments: [1000, 300_000, 3_000_000])
    func truncatedFile(size: Int) async throws {
        let file = try TemporaryFile(pattern(size))
        truncate(file.path, off_t(size / 2))
        try await withDaemon(Handler.answering { _ in Response(body: .file(file.body())) }) { daemon in
            let client = try RawClient(port: daemon.port)
            try client.request("GET", "/")
            #expect(throws: RawClient.Failure.self) { try client.answer() }
            try pollBlocking("no connection") { daemon.connectionCount == 0 }
        }
    }

    @Test("When a file is truncated while the daemon sends it, the answer breaks off")
    func fileCutWhileSending() async throws {
        let size = 32_000_000
        let file = try TemporaryFile([UInt8](repeating: 7, count: size))
        try await withDaemon(Handler.answering { _ in Response(body: .file(file.body())) }) { daemon in
            let client = try RawClient(port: daemon.port, receiveBuffer: 16 * 1024)
            try client.request("GET", "/")
            // The head has arrived, so the file is being sent. Most of the file does not fit into the sockets' buffers.
            let first = try client.receive()
            #expect(!first.isEmpty)
            truncate(file.path, 1000)
            var total = first.count
            while true {
                let bytes = try client.receive()
                if bytes.isEmpty { break }
                total += bytes.count
            }
            #expect(total < size)
        }
    }

    @Test("File descriptors are closed once their responses are released")
    func fileDescriptors() async throws {
        let file = try TemporaryFile(pattern(300_000))
        @Sendable func openCount() -> Int {
            let links = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            return links.count { link in
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + link)) == file.path
            }
        }
        let handler = Handler.answering { exchange in
            let body = file.body()
            #expect(openCount() > 0)
            return Response(body: .file(exchange.request.path == "/part" ? body.slice(0..<10) : body))
        }
        try await withDaemon(handler) { daemon in
            let client = try RawClient(port: daemon.port)
            for (method, path) in [("GET", "/"), ("HEAD", "/"), ("GET", "/part"), ("GET", "/")] {
                try client.request(method, path)
                #expect(try client.answer(toHead: method == "HEAD").status == 200)
            }
            try pollBlocking("all to be closed") { openCount() == 0 }
        }
    }

    @Test("The memory of a response with any kind of body can be prefetched into the processor's cache")
    func memory() throws {
        let file = try TemporaryFile(pattern(100))
        let bytes = SharedBytes(pattern(100))
        let bodies: [Response.Body] = [
            .empty, .bytes(bytes), .slice(bytes, 10..<20), .withheld(length: 7), .file(file.body()),
            .stream(ResponseStream(), length: nil),
        ]
        for body in bodies { Response(fields: [.contentType: "text/plain"], body: body).memory.prefetch() }
    }

    @Test("Many threads can send one shared response at the same time")
    func shared() async throws {
        let bytes = pattern(5000)
        let response = Response(fields: [.contentType: "text/plain"], body: .bytes(SharedBytes(bytes)))
        try await withDaemon(Handler.answering { _ in response }, configure: { $0.threads = 4 }) { daemon in
            let done = Mailbox<Int>()
            for _ in 0..<16 {
                Thread {
                    var whole = 0
                    if let client = try? RawClient(port: daemon.port) {
                        for _ in 0..<200 {
                            guard (try? client.request("GET", "/")) != nil, let answer = try? client.answer() else {
                                break
                            }
                            if answer.body == bytes, answer["Content-Type"] == "text/plain" { whole += 1 }
                        }
                    }
                    done.put(whole)
                }.start()
            }
            let whole = try done.wait(for: 16)
            #expect(whole == Array(repeating: 200, count: 16))
        }
    }
}
