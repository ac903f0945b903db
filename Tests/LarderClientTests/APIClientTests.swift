import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import LarderClient

@Suite("The calls of the API client")
struct APIClientTests {
    @Test("Every call sends the token and the namespace, and a redirect to another server is not followed")
    func credentials() async throws {
        let elsewhere = try ScriptedOrigin { _, connection in try connection.respond(body: "x") }
        defer { elsewhere.stop() }
        let server = try ScriptedOrigin { request, connection in
            guard request.target != "/moved" else {
                return try connection.respond(307, fields: [.location: elsewhere.url("/stolen")])
            }
            try connection.respond(json: ["seen": .string(request["Authorization"] ?? "none")])
        }
        defer { server.stop() }
        let client = try APIClient.of(server) {
            $0.token = BearerToken("larder_me_x")
            $0.namespace = "staging"
        }
        #expect(try await client.send(APICall(["stats"])).json()["seen"] == "Bearer larder_me_x")
        #expect(server.requests[0]["Larder-Namespace"] == "staging")
        await #expect(throws: ClientError.self) { try await client.send(APICall(["moved"])) }
        #expect(elsewhere.requestCount == 0)
    }

    @Test("Connections are reused, and JSON is sent with its type and length")
    func reuse() async throws {
        let server = try ScriptedOrigin { request, connection in
            try connection.respond(json: ["length": .number(request.body.count)])
        }
        defer { server.stop() }
        let client = try APIClient.of(server)
        for _ in 0..<3 { _ = try await client.send(APICall(["stats"])) }
        #expect(server.connectionCount == 1)
        let reply = try await client.send(.post(["a": 1], to: ["download"]))
        #expect(try reply.json()["length"] == 7)
        let request = try #require(server.requests.last)
        #expect(request.method == "POST" && request["Content-Type"] == "application/json")
        #expect(request["Content-Length"] == "7")
    }

    @Test("A problem is thrown unchanged, and the error of an unreachable server names its address")
    func failures() async throws {
        let server = try ScriptedOrigin { _, connection in
            try connection.respond(
                404, json: ["type": "about:blank", "title": "x", "status": 404, "detail": "no entry"])
        }
        defer { server.stop() }
        let client = try APIClient.of(server)
        let error = await #expect(throws: ClientError.self) { try await client.send(APICall(["entries", "a"])) }
        #expect(error?.problem?.status == 404 && error?.problem?.detail == "no entry")

        let port = try RefusingPort()
        let lonely = APIClient(APIClient.Configuration(server: try ServerAddress(port.url("/"))))
        let none = await #expect(throws: ClientError.self) { try await lonely.send(APICall(["stats"])) }
        guard case .unreachable(let words)? = none else {
            Issue.record("\(String(describing: none))")
            return
        }
        #expect(words.contains("http://127.0.0.1:\(port.number)"))
    }

    @Test("A truncated body is an error, and the client gives up a silent server after a time limit")
    func broken() async throws {
        let gate = Gate("the rest")
        let server = try ScriptedOrigin { request, connection in
            try connection.sendHead(fields: [.contentLength: "10"])
            try connection.send("12345")
            if request.target == "/silent" { try gate.waitBlocking() }
            connection.close()
        }
        defer {
            gate.open()
            server.stop()
        }
        let client = try APIClient.of(server) { $0.silenceLimit = .seconds(1) }
        for target in ["cut", "silent"] {
            let error = await #expect(throws: ClientError.self) { try await client.send(APICall([target])) }
            let isBroken = if case .broken? = error { true } else { false }
            #expect(isBroken, "\(String(describing: error))")
        }
    }

    @Test("A large body is complete, even if it arrives faster than the caller reads")
    func largeBody() async throws {
        let content = (0..<(2 << 20)).map { UInt8(truncatingIfNeeded: $0 >> 3) }
        let server = try ScriptedOrigin { _, connection in try connection.respond(body: content) }
        defer { server.stop() }
        let body = try await APIClient.of(server).withResponse(to: APICall(["large"])) { response in
            var body: [UInt8] = []
            while let piece = try await response.nextPiece() {
                // Yields to other tasks, so that the arriving bytes get ahead of the reader.
                await Task.yield()
                body += piece
            }
            return body
        }
        #expect(body == content)
    }

    @Test("A cancelled task ends its call, and the server sees the connection close")
    func cancelling() async throws {
        let hungUp = Gate("the client's end of the connection")
        let server = try ScriptedOrigin { _, connection in
            connection.waitForHangUp()
            hungUp.open()
        }
        defer { server.stop() }
        let client = try APIClient.of(server)
        let task = Task { try await client.send(APICall(["slow"])) }
        try await server.waitForRequests(1)
        task.cancel()
        await #expect(throws: ClientError.self) { try await task.value }
        try await hungUp.wait()
    }

    @Test("Content from a file is sent with its length, content from a pipe in chunks", arguments: [true, false])
    func upload(isFile: Bool) async throws {
        let directory = try TemporaryDirectory()
        let content = [UInt8](repeating: 0x61, count: 1_000_000)
        let path = try directory.write(content, to: "content")
        let server = try ScriptedOrigin { request, connection in
            try connection.respond(json: ["received": .number(request.body.count)])
        }
        defer { server.stop() }
        var descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if !isFile {
            close(descriptor)
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0)
            // A child process of another test must not hold the pipe open.
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            descriptor = ends[0]
            startThread { [end = ends[1]] in
                var rest = content[...]
                while !rest.isEmpty {
                    let count = rest.withUnsafeBytes { write(end, $0.baseAddress, $0.count) }
                    guard count > 0 else { break }
                    rest = rest.dropFirst(count)
                }
                close(end)
            }
        }
        defer { close(descriptor) }
        let body = APICall.Body.descriptor(
            descriptor, length: isFile ? Int64(content.count) : nil, type: "text/plain")
        let reply = try await APIClient.of(server).send(APICall(.put, ["entries", "a", "content"], body: body))
        #expect(try reply.json()["received"] == .number(content.count))
        let request = try #require(server.requests.last)
        #expect(request["Content-Length"] == (isFile ? "\(content.count)" : nil))
        #expect(request["Transfer-Encoding"] == (isFile ? nil : "chunked"))
        #expect(request["Content-Type"] == "text/plain")
    }
}
