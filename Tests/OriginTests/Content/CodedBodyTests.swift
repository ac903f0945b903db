import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import Origin

@Suite struct CodedBodyTests {
    private func serving(_ body: [UInt8], coding: String?) throws -> ScriptedOrigin {
        try ScriptedOrigin { _, connection in
            try connection.respond(fields: coding.map { [.contentEncoding: $0] } ?? [:], body: body)
        }
    }

    private static let hello: [String: [UInt8]] = [
        "gzip": Coded.gzip(Coded.hello), "deflate": Coded.zlib(Coded.hello), "br": Coded.brotli[Coded.hello]!,
        "zstd": Coded.zstd(Coded.hello),
    ]

    @Test("A body in a content coding is decoded", arguments: ["gzip", "deflate", "br", "zstd"])
    func decoded(coding: String) async throws {
        let origin = try serving(Self.hello[coding]!, coding: coding)
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.text == "hello")
        #expect(collector.head?.declaredLength == nil)
        #expect(collector.head?.framing == .length)
        #expect(collector.head?.fields[.contentEncoding] == coding)
        #expect(try collector.results[0].get().byteCount == 5)
    }

    @Test("Several codings, over several lines and in any case, are decoded in reverse order")
    func severalCodings() async throws {
        let body = Coded.zstd(Coded.gzip(Coded.hello))
        let origin = try ScriptedOrigin { _, connection in
            var fields: HTTPFields = [.contentLength: String(body.count)]
            fields.append(HTTPField(name: .contentEncoding, value: "x-GZIP"))
            fields.append(HTTPField(name: .contentEncoding, value: "identity, Zstd"))
            try connection.sendHead(fields: fields)
            try connection.send(body)
        }
        #expect(try await OriginClient(configuration: .local).get(origin.url()).text == "hello")
    }

    @Test("A request asks for codings, unless it has its own Accept-Encoding or decodesContent = false")
    func asked() async throws {
        let gzip = Self.hello["gzip"]!
        let origin = try serving(gzip, coding: "gzip")
        let client = OriginClient(configuration: .local)
        try await client.get(origin.url())
        let own = try await client.get(origin.url()) { $0.fields[.acceptEncoding] = "identity" }
        #expect(own.text == "hello")
        let asSent = try await client.get(origin.url()) { $0.decodesContent = false }
        #expect(asSent.body == gzip)
        #expect(asSent.head?.declaredLength == Int64(gzip.count))
        #expect(origin.requests.map { $0["Accept-Encoding"] } == ["gzip, br, zstd", "identity", nil])
    }

    @Test("With decodesContent = false, a body in any coding arrives unchanged", arguments: ["gzip", "x-unknown"])
    func undecoded(coding: String) async throws {
        let origin = try serving([1, 2, 3], coding: coding)
        let collector = try await OriginClient(configuration: .local).get(origin.url()) { $0.decodesContent = false }
        #expect(collector.body == [1, 2, 3])
    }

    /// libcurl 7.88 decodes each of these bodies as if it were complete.
    @Test(
        "A body with a truncated content coding is an error, even if its framing is complete",
        arguments: ["gzip", "deflate", "br", "zstd"], ["length", "chunked", "close"])
    func truncated(coding: String, framing: String) async throws {
        let body = Array(Self.hello[coding]!.dropLast())
        let origin = try ScriptedOrigin { _, connection in
            let fields: HTTPFields = [.contentEncoding: coding]
            switch framing {
            case "length": try connection.respond(fields: fields, body: body)
            case "chunked":
                try connection.startChunks(fields: fields)
                try connection.sendChunk(body)
                try connection.endChunks()
            default:
                try connection.sendHead(fields: fields)
                try connection.send(body)
                connection.close()
            }
        }
        let error = try await OriginClient(configuration: .local).failure(origin.url())
        guard case .contentCoding = error.kind else {
            Issue.record("\(error.kind)")
            return
        }
        #expect(error.code == 61)
        #expect(error.message == "the body cannot be decoded: it ends before its \(coding) stream does")
        #expect(origin.requestCount == 1)
    }

    @Test(
        "A body that is damaged, has an unknown or a third coding, or goes on after its end fails with error 61",
        arguments: [
            ("gzip", Array("this is no gzip".utf8), "it is not valid gzip: incorrect header check"),
            ("xz", [1, 2, 3], "its content coding \"xz\" is not supported"),
            ("br, br, br", [1], "it has more than 2 content codings"),
            ("br", [0x3b, 0x3b], "it goes on after the end of its br stream"),
        ])
    func refused(coding: String, body: [UInt8], words: String) async throws {
        let origin = try serving(body, coding: coding)
        let error = try await OriginClient(configuration: .local).failure(origin.url())
        #expect(error.code == 61)
        #expect(error.message == "the body cannot be decoded: \(words)")
    }

    @Test(
        "An answer without body bytes has an empty body, even if Content-Encoding names a coding",
        arguments: [200, 204, 304], ["gzip", "x-unknown"])
    func empty(status: Int, coding: String) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(status, fields: [.contentEncoding: coding])
        }
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.head?.status == status)
        #expect(collector.body.isEmpty)
    }

    @Test("A decompression bomb is cut off at the size limit, which counts decoded bytes")
    func bomb() async throws {
        // 320 KiB that decode to 10 GiB.
        let origin = try serving(Coded.zstdBomb(blockCount: 81_920), coding: "zstd")
        let collector = OriginClient(configuration: .local).start(origin.url()) { $0.sizeLimit = 1_000_000 }
        guard case .tooLarge(limit: 1_000_000) = try await collector.error().kind else {
            Issue.record("\(collector.results)")
            return
        }
        #expect(collector.body.count <= 1_000_000)
    }

    @Test("An error that the receiver throws at a decoded piece ends the transfer with that error")
    func receiverThrows() async throws {
        let origin = try serving(Self.hello["br"]!, coding: "br")
        let collector = Collector(refusesBody: true)
        let client = OriginClient(configuration: .local)
        client.fetch(OriginRequest(url: origin.url()), receiver: collector)
        guard case .receiver(let thrown) = try await collector.error().kind else {
            Issue.record("\(collector.results)")
            return
        }
        #expect(thrown is Collector.Refusal)
    }

    @Test(
        "Names in Content-Encoding that name no content coding are ignored",
        arguments: [
            "identity", "aws-chunked", "UTF-8", "utf8", "none", "binary", "8bit", "text/html", "iso-8859-1", ",",
            "null",
        ])
    func noCoding(name: String) async throws {
        let origin = try serving(Array("hello".utf8), coding: name)
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.text == "hello")
        #expect(collector.head?.declaredLength == 5)
        let coded = try serving(Self.hello["gzip"]!, coding: "gzip, \(name)")
        #expect(try await OriginClient(configuration: .local).get(coded.url()).text == "hello")
    }

    /// The path of the file, its media type, the content coding that its server declares, and whether the body stays
    /// encoded.
    @Test(
        "The client decodes a content coding unless it is the compressed format of the file itself",
        arguments: [
            ("/a.tar.gz", "application/x-tar", "gzip", true), ("/a.tar.gz", "application/x-gzip", "x-gzip", true),
            ("/b.TGZ?x=y.html", "application/octet-stream", "gzip", true),
            ("/c.json.gz", "application/json", "gzip", true),
            ("/get?f=1", "application/gzip", "gzip", true), ("/get", "Application/X-GZIP; a=b", "gzip", true),
            ("/d.tar.zst", "application/octet-stream", "zstd", true), ("/e.js.br", "text/javascript", "br", true),
            ("/f", "application/zstd", "zstd", true), ("/g.tar", "application/x-tar", "gzip", false),
            ("/h.gz/page", "text/html", "gzip", false), ("/i?name=x.gz", "text/plain", "gzip", false),
            ("/j.svgz", "image/svg+xml", "gzip", false), ("/k.gz", "application/gzip", "br", false),
            ("/l.tar.gz/download", "application/octet-stream", "gzip", true), ("/m.tar.gz;v=1", "a/b", "gzip", true),
            ("/n", "application/x-tar+gzip", "gzip", true), ("/o.br/", "text/html", "br", false),
        ])
    func compressedFile(path: String, type: String, coding: String, stays: Bool) async throws {
        let body = Self.hello[coding == "x-gzip" ? "gzip" : coding]!
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(fields: [.contentType: type, .contentEncoding: coding], body: body)
        }
        let collector = try await OriginClient(configuration: .local).get(origin.url(path))
        #expect(collector.body == (stays ? body : Array("hello".utf8)))
        #expect(collector.head?.declaredLength == (stays ? Int64(body.count) : nil))
        let name = path.prefix { $0 != "?" && $0 != ";" }.lowercased().split(separator: "/download")[0]
        let isTold = [".gz", ".tgz", ".zst", ".br"].contains { name.hasSuffix($0) }
        #expect(origin.requests[0]["Accept-Encoding"] == (isTold ? "identity" : "gzip, br, zstd"))
    }

    @Test(
        "A compressed file is delivered unchanged, even in a format that Larder cannot decode",
        arguments: [
            ("/f.tar.bz2", "x-bzip2"), ("/f.tbz2", "bzip2"), ("/f.tar.xz", "xz"), ("/f.txz", "x-xz"),
            ("/f.tar.Z", "x-compress"), ("/f.Z", "compress"), ("/f.lzma", "lzma"), ("/f.tar.lz4", "lz4"),
            ("/f.pack.gz", "pack200-gzip"),
        ])
    func otherCompressedFile(path: String, coding: String) async throws {
        let origin = try serving([1, 2, 3], coding: coding)
        #expect(try await OriginClient(configuration: .local).get(origin.url(path)).body == [1, 2, 3])
        #expect(origin.requests[0]["Accept-Encoding"] == "identity")
        // The same coding is an error if the path does not name a compressed file.
        guard case .contentCoding = try await OriginClient(configuration: .local).failure(origin.url("/page")).kind
        else {
            Issue.record("\(coding) is taken for no coding")
            return
        }
    }

    @Test("After a redirect, the name in the requested URL still decides whether a file is a compressed file")
    func compressedBehindRedirect() async throws {
        let gzip = Self.hello["gzip"]!
        let origin = try ScriptedOrigin { request, connection in
            guard request.target == "/blob" else { return try connection.respond(302, fields: [.location: "/blob"]) }
            try connection.respond(fields: [.contentEncoding: "gzip"], body: gzip)
        }
        #expect(try await OriginClient(configuration: .local).get(origin.url("/r.tar.gz")).body == gzip)
        #expect(origin.requests.map { $0["Accept-Encoding"] } == ["identity", "identity"])
        #expect(try await OriginClient(configuration: .local).get(origin.url("/r")).text == "hello")
    }

    @Test(
        "If Content-Disposition names a compressed file, only a further coding is decoded, not the file's own")
    func compressedByName() async throws {
        let gzip = Self.hello["gzip"]!
        let origin = try ScriptedOrigin { request, connection in
            let isTwice = request.target == "/twice"
            try connection.respond(
                fields: [
                    .contentDisposition: "attachment; filename=\"a.tar.gz\"",
                    .contentEncoding: isTwice ? "gzip, zstd" : "gzip",
                ],
                body: isTwice ? Coded.zstd(gzip) : gzip)
        }
        let client = OriginClient(configuration: .local)
        #expect(try await client.get(origin.url("/once")).body == gzip)
        #expect(try await client.get(origin.url("/twice")).body == gzip)
    }
}
