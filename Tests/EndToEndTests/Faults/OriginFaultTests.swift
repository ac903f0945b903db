import Foundation
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Failing origins")
struct OriginFaultTests {
    /// The failure of the origin.
    enum Fault: CaseIterable, Sendable {
        case resetAtOnce, resetInTheMiddle, endlessHead, hundredRedirects, tooShort, brokenChunk, noTLS, bomb

        /// The status of `/fetch`, which follows no redirect and decodes no bomb. `nil` when the response breaks off,
        /// and the client notices.
        var fetchStatus: Int? {
            switch self {
            case .hundredRedirects: 302
            case .bomb: 200
            case .resetInTheMiddle, .tooShort, .brokenChunk: nil
            case .resetAtOnce, .endlessHead, .noTLS: 502
            }
        }
    }

    private static let good = "good, and whole"

    /// A hundred megabytes of zeros, compressed by gzip.
    private static let bomb = Result { () throws -> [UInt8] in
        let directory = try TemporaryDirectory()
        let script = "head -c 100000000 /dev/zero | gzip -9 > \"$0\""
        _ = try ChildProcess.run("sh", ["-c", script, directory.path("bomb")])
        return try directory.read("bomb")
    }

    /// An origin that answers properly until `isFailing` returns `true`.
    private static func origin(_ fault: Fault, isFailing: @escaping @Sendable () -> Bool) throws -> ScriptedOrigin {
        // The origin answers a TLS client before any request, because the client first waits for a handshake.
        let greet: @Sendable (ScriptedOrigin.Connection) throws -> Void = { connection in
            guard fault == .noTLS, isFailing() else { return }
            try connection.respond(400, fields: [.connection: "close"], body: "no TLS here")
            connection.close()
        }
        return try ScriptedOrigin(accepting: greet) { request, connection in
            guard isFailing() else {
                return try connection.respond(fields: [.cacheControl: "max-age=60"], body: good)
            }
            switch fault {
            case .resetAtOnce, .noTLS: connection.reset()
            case .resetInTheMiddle:
                try connection.sendHead(fields: [.contentLength: "1000"])
                try connection.send("half of it")
                connection.reset()
            case .tooShort:
                try connection.sendHead(fields: [.contentLength: "1000"])
                try connection.send("half of it")
                connection.close()
            case .brokenChunk:
                try connection.startChunks()
                try connection.sendChunk("half of it")
                try connection.send("and no chunk\r\n")
                connection.close()
            case .endlessHead:
                try connection.send("HTTP/1.1 200 OK\r\n")
                while true { try connection.send("X-More: \(String(repeating: "a", count: 1000))\r\n") }
            case .hundredRedirects:
                let number = Int(request.target.split(separator: "/").last ?? "") ?? 0
                guard number < 100 else { return try connection.respond(body: "the end") }
                try connection.respond(302, fields: [.location: "/r/\(number + 1)"])
            case .bomb:
                try connection.respond(fields: [.contentEncoding: "gzip"], body: try bomb.get())
            }
        }
    }

    @Test(
        "While the origin fails, downloads get 502 with a detail, and no entry changes; later downloads succeed",
        arguments: Fault.allCases)
    func fails(_ fault: Fault) async throws {
        let isFailing = Locked(false)
        let origin = try Self.origin(fault) { isFailing.withLock(\.self) }
        defer { origin.stop() }
        let directory = try TemporaryDirectory()
        try await TestServer.with(directory: directory, configure: { $0.entryLimit = 1 << 20 }) {
            (server) async throws in
            let held: JSON = ["url": .string(origin.url("/held")), "ttl": 60, "refresh": true]
            #expect(try await server.download(held).status == 200)
            isFailing.withLock { $0 = true }
            // For `noTLS`, the URL has the scheme https, but the origin speaks no TLS.
            let plain = origin.url("/new")
            let new = fault == .noTLS ? plain.replacing("http:", with: "https:") : plain
            let calls: [JSON] = [held, ["url": .string(new), "ttl": 60]]
            for call in calls {
                let reply = try await server.download(call)
                #expect(reply.status == 502, "\(reply.text)")
                #expect(try reply.member("detail")?.stringValue?.isEmpty == false)
            }
            let fetched = try? await HTTPClient(port: server.api.port).request("GET", "/fetch/" + new)
            #expect(fetched?.status == fault.fetchStatus)
            #expect(try await server.content(of: origin.url("/held")) == Self.good)
            #expect(try await server.get("/entries").member("entries")?.arrayValue?.count == 1)

            isFailing.withLock { $0 = false }
            #expect(try await server.download(held).member("outcome") == "downloaded")
            let again = try await HTTPClient(port: server.api.port).request("GET", "/fetch/" + origin.url("/new"))
            #expect(again.text == Self.good)
        }
        let verified = try await LarderProcess.verify(directory.path("cache"))
        #expect(verified.exit == .status(0), "\(verified.text)")
    }

    @Test("Bytes that an origin sends behind a complete response are never taken for the response to the next request")
    func tooLong() async throws {
        let leftovers = Counter("leftovers that were sent")
        let origin = try ScriptedOrigin { request, connection in
            guard request.target == "/long" else { return try connection.respond(body: "right") }
            defer { leftovers.add() }
            try connection.respond(fields: [.contentLength: "4"], body: "this")
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
        }
        defer { origin.stop() }
        try await TestServer.with { (server) async throws in
            for round in 1...5 {
                let long: JSON = ["url": .string(origin.url("/long")), "ttl": 60, "refresh": true]
                #expect([200, 502].contains(try await server.download(long).status))
                // Bytes that arrive after the next request look like the response to this request, so the test waits
                // here until the origin has sent them.
                try await leftovers.wait(for: round)
                let next: JSON = ["url": .string(origin.url("/next")), "ttl": 60, "refresh": true]
                #expect(try await server.download(next).status == 200)
                #expect(try await server.content(of: origin.url("/next")) == "right")
                let fetched = try await HTTPClient(port: server.api.port).request(
                    "GET", "/fetch/" + origin.url("/next"), fields: [.cacheControl: "no-cache"])
                #expect(fetched.text == "right")
            }
        }
    }
}
