import HTTPTypes
import TestSupport
import Testing

@Suite struct TestSupportTests {
    @Test("A scripted origin keeps connections alive and records its requests")
    func keepAlive() async throws {
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.contentType: "text/plain"], body: "you asked for \(request.target)")
        }
        defer { origin.stop() }
        let texts = try await HTTPClient(port: origin.port).withConnection { connection in
            try connection.sendRequest("GET", "/a")
            try connection.sendRequest("GET", "/b")
            return [try connection.readReply().text, try connection.readReply().text]
        }
        #expect(texts == ["you asked for /a", "you asked for /b"])
        #expect(origin.connectionCount == 1)
        #expect(origin.requestCount(of: "/a") == 1)
    }

    @Test("The TLS front presents a certificate of the test authority")
    func tlsFront() async throws {
        let origin = try ScriptedOrigin { _, connection in try connection.respond(body: "through nginx") }
        defer { origin.stop() }
        let front = try await TLSFront(originPort: origin.port)
        let arguments = ["-sS", "-m", "5", "--http2", "-w", " %{http_version}"]
        let authority = front.authority.certificateFile
        let url = front.url()
        let output = try await blocking { try ChildProcess.run("curl", arguments + ["--cacert", authority, url]) }
        #expect(output.text == "through nginx 2")
    }

    @Test("The FTP origin serves a file to a real client")
    func ftp() async throws {
        let origin = try ScriptedFTPOrigin(files: ["/pub/a.txt": Array("file".utf8)])
        let url = origin.url("/pub/a.txt")
        let output = try await blocking { try ChildProcess.run("curl", ["-sS", url]) }
        #expect(output.text == "file")
        #expect(origin.commands.contains("RETR a.txt"))
    }
}
