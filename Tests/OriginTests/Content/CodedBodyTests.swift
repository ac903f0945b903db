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

    @Test("a body in a content coding is decoded", arguments: ["gzip", "deflate", "br", "zstd"])
    func decoded(coding: String) async throws {
        let origin = try serving(Self.hello[coding]!, coding: coding)
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.text == "hello")
        #expect(collector.head?.declaredLength == nil)
        #expect(collector.head?.framing == .length)
        #expect(collector.head?.fields[.contentEncoding] == coding)
        #expect(try collector.results[0].get().byteCount == 5)
    }

    @Test("several codings, over several lines and in any case, are undone in reverse")
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

    @Test("codings are asked for, unless the request asks itself or wants the body as it was sent")
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

    @Test("a body as it was sent may be in any coding, whole or not", arguments: ["gzip", "x-unknown"])
    func undecoded(coding: String) async throws {
        let origin = try serving([1, 2, 3], coding: coding)
        let collector = try await OriginClient(configuration: .local).get(origin.url()) { $0.decodesContent = false }
        #expect(collector.body == [1, 2, 3])
    }

    /// libcurl 7.88 takes each of these for complete when it decodes.
    @Test(
        "a body that is framed as whole and ends before its content coding does is not taken for complete",
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
        "a body whose coding is damaged, unknown, one of too many or followed by something is error 61",
        arguments: [
            ("gzip", Array("this is no gzip".utf8), "it is not valid gzip: incorrect header check"),
            ("x-unknown", [1, 2, 3], "its content coding \"x-unknown\" is not known"),
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
        "an answer without a byte of body is empty, whatever its Content-Encoding",
        arguments: [200, 204, 304], ["gzip", "x-unknown"])
    func empty(status: Int, coding: String) async throws {
        let origin = try ScriptedOrigin { _, connection in
            try connection.respond(status, fields: [.contentEncoding: coding])
        }
        let collector = try await OriginClient(configuration: .local).get(origin.url())
        #expect(collector.head?.status == status)
        #expect(collector.body.isEmpty)
    }

    @Test("a bomb is cut off at the limit, which counts decoded bytes")
    func bomb() async throws {
        // 10 GiB, in 320 KiB.
        let origin = try serving(Coded.zstdBomb(blockCount: 81_920), coding: "zstd")
        let collector = OriginClient(configuration: .local).start(origin.url()) { $0.sizeLimit = 1_000_000 }
        guard case .tooLarge(limit: 1_000_000) = try await collector.error().kind else {
            Issue.record("\(collector.results)")
            return
        }
        #expect(collector.body.count <= 1_000_000)
    }

    @Test("what the receiver throws about a decoded piece comes back")
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
}
