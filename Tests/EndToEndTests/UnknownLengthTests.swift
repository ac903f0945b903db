import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Each way into the cache refuses a body that is longer than the disk limit, and evicts no entry that was read before.
@Suite("Bodies of unknown length, on every way into the cache")
struct UnknownLengthTests {
    private static let piece = [UInt8](repeating: 7, count: 1 << 18)
    /// The number of pieces of a body. Together the pieces are 16 MiB long, twice the disk limit.
    private static let pieceCount = 64

    /// An origin that answers every request with 16 MiB, and does not announce the length.
    private static func origin() throws -> ScriptedOrigin {
        try ScriptedOrigin { request, connection in
            let fields: HTTPFields = [.cacheControl: "max-age=60"]
            if request.target.hasPrefix("/closed") {
                try connection.sendHead(fields: fields)
                for _ in 0..<pieceCount { try connection.send(piece) }
                connection.close()
            } else if request.target.hasPrefix("/coded") {
                var fields = fields
                let coded = deflated((0..<pieceCount).flatMap { _ in piece })
                fields[.contentEncoding] = "deflate"
                fields[.contentLength] = "\(coded.count)"
                try connection.sendHead(fields: fields)
                try connection.send(coded)
            } else {
                try connection.startChunks(fields: fields)
                for _ in 0..<pieceCount { try connection.sendChunk(piece) }
                try connection.endChunks()
            }
        }
    }

    /// Encodes bytes in the zlib format (RFC 1950), in blocks without compression (RFC 1951 §3.2.4).
    private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        var (coded, a, b): ([UInt8], UInt32, UInt32) = ([0x78, 0x01], 1, 0)
        for start in stride(from: 0, to: bytes.count, by: 65_535) {
            let block = bytes[start..<min(start + 65_535, bytes.count)]
            let (low, high) = (UInt8(block.count & 0xff), UInt8(block.count >> 8))
            coded += [block.endIndex == bytes.count ? 1 : 0, low, high, ~low, ~high]
            coded += block
            for byte in block {
                a = (a + UInt32(byte)) % 65_521
                b = (b + a) % 65_521
            }
        }
        return coded + [UInt8(b >> 8), UInt8(b & 0xff), UInt8(a >> 8), UInt8(a & 0xff)]
    }

    /// Stores and requests 20 entries of 256 KiB under a limit of 8 MiB. Calls `way`, which sends a body over the limit
    /// to the server, and expects all 20 entries to stay.
    private func check(_ way: (TestServer) async throws -> Void) async throws {
        try await TestServer.with(configure: {
            ($0.diskLimit, $0.diskReserve, $0.schemes) = (8 << 20, .bytes(0), ["http", "ftp"])
        }) {
            (server) async throws in
            for number in 0..<20 {
                try await server.put("s\(number)", Self.piece)
                for _ in 0..<2 { #expect(try await server.get("/entries/s\(number)/content").status == 200) }
            }
            try await way(server)
            for number in 0..<20 { #expect(try await server.get("/entries/s\(number)").status == 200, "\(number)") }
            let kept = try await server.get("/entries?limit=100").member("entries")?.arrayValue?.count
            #expect(kept == 20)
        }
    }

    @Test(
        "A download of unknown length over the disk limit gets 507, and entries that were read before are not evicted",
        arguments: ["/chunked", "/closed", "/coded"])
    func download(path: String) async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        try await check { (server) async throws in
            let reply = try await server.download(["url": .string(origin.url(path))])
            #expect(reply.status == 507, "\(reply.text)")
        }
    }

    @Test("In a batch, each download over the disk limit gets 507, and entries that were read before are not evicted")
    func batch() async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        try await check { (server) async throws in
            let lines = (0..<4).map { "{\"url\": \"\(origin.url("/chunked/\($0)"))\"}\n" }.joined()
            let reply = try await server.client.request(
                "POST", "/downloads", fields: [.contentType: "application/x-ndjson"], body: Array(lines.utf8))
            let results = try reply.text.split(separator: "\n").map { try JSON(parsing: Array($0.utf8)) }
            #expect(results.map { $0["error"]?["status"] } == [507, 507, 507, 507])
        }
    }

    @Test("An FTP file of unknown size over the disk limit gets 507, and entries that were read before are not evicted")
    func ftp() async throws {
        var behaviour = ScriptedFTPOrigin.Behaviour()
        behaviour.tellsSize = false
        let file = (0..<Self.pieceCount).flatMap { _ in Self.piece }
        let origin = try ScriptedFTPOrigin(files: ["/file": file], behaviour: behaviour)
        defer { origin.stop() }
        try await check { (server) async throws in
            let reply = try await server.download(["url": .string(origin.url("/file"))])
            #expect(reply.status == 507, "\(reply.text)")
        }
    }

    @Test(
        "Larder passes on a /fetch body over the disk limit without storing it; entries read before are not evicted",
        arguments: ["/chunked", "/closed"])
    func fetch(path: String) async throws {
        let origin = try Self.origin()
        defer { origin.stop() }
        try await check { (server) async throws in
            let reply = try await server.get("/fetch/" + origin.url(path))
            #expect(reply.status == 200)
            #expect(reply.body.count == Self.pieceCount * Self.piece.count)
            #expect(try #require(reply["Cache-Status"]).contains("stored") == false)
        }
    }

    @Test("A chunked PUT over the disk limit gets 507, and entries that were read before are not evicted")
    func put() async throws {
        try await check { (server) async throws in
            let reply = try await server.client.withConnection { connection in
                try connection.send(
                    "PUT /entries/big/content HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in 0..<Self.pieceCount {
                    try connection.send("40000\r\n")
                    try connection.send(Self.piece)
                    try connection.send("\r\n")
                }
                try connection.send("0\r\n\r\n")
                return try connection.readReply()
            }
            #expect(reply.status == 507)
        }
    }

    @Test("A download and a /fetch with a chunked body that fits the disk limit are stored")
    func fits() async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.startChunks(fields: [.cacheControl: "max-age=60"])
            for _ in 0..<4 { try connection.sendChunk(Self.piece) }
            try connection.endChunks()
        }
        defer { origin.stop() }
        try await TestServer.with(configure: { $0.diskLimit = 8 << 20 }) { (server) async throws in
            let reply = try await server.download(["url": .string(origin.url("/a"))])
            #expect(reply.status == 200)
            #expect(try await server.content(of: origin.url("/a")).utf8.count == 1 << 20)
            let fetched = try await server.get("/fetch/" + origin.url("/a"))
            #expect(fetched.body.count == 1 << 20)
            #expect(try await server.get("/fetch/" + origin.url("/a"))["Cache-Status"]?.contains("hit") == true)
        }
    }
}
