import HTTPTypes
import Testing

@testable import Origin

@Suite struct ContentDecodingTests {
    /// A body in its codings, and its plain content.
    struct Sample: Sendable, CustomTestStringConvertible {
        let name: String
        let codings: [String]
        let coded: [UInt8]
        let plain: [UInt8]
        var testDescription: String { "\(name), \(plain.count) bytes" }
    }

    /// Each sample is one stream, so a shorter prefix is never complete.
    private static let samples = [Coded.hello, Coded.long].flatMap { plain in
        [
            Sample(name: "gzip", codings: ["gzip"], coded: Coded.gzip(plain), plain: plain),
            Sample(name: "deflate", codings: ["deflate"], coded: Coded.zlib(plain), plain: plain),
            Sample(name: "bare deflate", codings: ["deflate"], coded: Coded.bareDeflate(plain), plain: plain),
            Sample(name: "br", codings: ["br"], coded: Coded.brotli[plain]!, plain: plain),
            Sample(name: "zstd", codings: ["zstd"], coded: Coded.zstd(plain), plain: plain),
            Sample(
                name: "gzip, zstd", codings: ["gzip", "zstd"], coded: Coded.zstd(Coded.gzip(plain)), plain: plain),
        ]
    }

    /// Decodes the pieces to the end.
    private func decode(
        _ pieces: [ArraySlice<UInt8>], _ codings: [String], limit: Int64 = .max
    ) throws -> [UInt8] {
        let decoding = try ContentDecoding(names: codings, sizeLimit: limit)
        var decoded: [UInt8] = []
        for piece in pieces {
            try piece.withUnsafeBytes {
                try decoding.decode($0) {
                    #expect(!$0.isEmpty && $0.count <= contentPieceSize)
                    decoded += $0
                }
            }
        }
        try decoding.finish()
        return decoded
    }

    @Test("A coded body is decoded whole, however it is cut into pieces", arguments: samples)
    func whole(sample: Sample) throws {
        let coded = sample.coded
        #expect(try decode([coded[...]], sample.codings) == sample.plain)
        #expect(try decode(coded.indices.map { coded[$0...$0] }, sample.codings) == sample.plain)
        for cut in coded.indices {
            #expect(try decode([coded[..<cut], coded[cut...]], sample.codings) == sample.plain, "at \(cut)")
        }
    }

    @Test("A body that is truncated at any byte is refused as truncated", arguments: samples)
    func truncated(sample: Sample) {
        for cut in 0..<sample.coded.count {
            let error = #expect(throws: ContentCodingError.self, "at \(cut)") {
                try decode([sample.coded[..<cut]], sample.codings)
            }
            #expect(error?.reason.contains("it ends before its") == true, "\(String(describing: error))")
        }
    }

    @Test("Bytes after the end of a coded body are refused, in the same piece and in the next", arguments: samples)
    func trailing(sample: Sample) {
        for garbage: [UInt8] in [[0], [0x1f], Array("garbage".utf8)] {
            #expect(throws: ContentCodingError.self) { try decode([(sample.coded + garbage)[...]], sample.codings) }
            #expect(throws: ContentCodingError.self) { try decode([sample.coded[...], garbage[...]], sample.codings) }
        }
    }

    @Test(
        "A damaged body in a coding with a checksum either fails or is decoded to the right content",
        arguments: ["gzip", "deflate", "zstd"])
    func damaged(coding: String) throws {
        for sample in Self.samples where sample.name == coding && sample.plain == Coded.hello {
            for index in sample.coded.indices {
                for bit in 0..<8 {
                    var coded = sample.coded
                    coded[index] ^= 1 << bit
                    let decoded = try? decode([coded[...]], sample.codings)
                    // Some bits do not affect the content, for example the time in gzip's header.
                    #expect(decoded == nil || decoded == sample.plain, "bit \(bit) of \(index)")
                }
            }
        }
    }

    @Test(
        "A body that is not in its declared coding is refused with a reason",
        arguments: ["gzip", "deflate", "br", "zstd"])
    func corrupt(coding: String) {
        let error = #expect(throws: ContentCodingError.self) {
            try decode([Array("this is nothing of the kind".utf8)[...]], [coding])
        }
        #expect(error?.reason.hasPrefix("it is not valid \(coding): ") == true, "\(String(describing: error))")
    }

    @Test("Several gzip members or zstd frames in a row decode to one body (RFC 1952 §2.2, RFC 8878 §3)")
    func concatenated() throws {
        for (coding, coded) in [("gzip", Coded.gzip(Coded.hello)), ("zstd", Coded.zstd(Coded.hello))] {
            let three = coded + coded + coded
            #expect(try decode([three[...]], [coding]) == Coded.hello + Coded.hello + Coded.hello)
            #expect(try decode(three.indices.map { three[$0...$0] }, [coding]).count == 15)
            #expect(throws: ContentCodingError.self) { try decode([three.dropLast()], [coding]) }
        }
        // The decoder ignores a skippable frame, because its content is for other programs (RFC 8878 §3.1.2).
        let skipped: [UInt8] = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2]
        #expect(try decode([(skipped + Coded.zstd(Coded.hello) + skipped)[...]], ["zstd"]) == Coded.hello)
        for coded in [Coded.zlib(Coded.hello), Coded.bareDeflate(Coded.hello)] {
            #expect(throws: ContentCodingError.trailing(.deflate)) { try decode([(coded + coded)[...]], ["deflate"]) }
        }
        let brotli = Coded.brotli[Coded.hello]!
        #expect(throws: ContentCodingError.trailing(.brotli)) { try decode([(brotli + brotli)[...]], ["br"]) }
    }

    @Test("A coded body that decodes to no bytes is complete")
    func emptyStreams() throws {
        for (coding, coded) in [("gzip", Coded.gzip([])), ("deflate", Coded.zlib([])), ("zstd", Coded.zstd([]))] {
            #expect(try decode([coded[...]], [coding]) == [])
        }
        #expect(try decode([[0x3b]], ["br"]) == [])
    }

    @Test("A decompression bomb stops at the size limit, even if only the inner of two codings expands it")
    func bomb() throws {
        // 320 KiB that decode to 10 GiB.
        let bomb = Coded.zstdBomb(blockCount: 81_920)
        #expect(throws: ContentDecoding.TooLong.self) { try decode([bomb[...]], ["zstd"], limit: 1 << 20) }
        #expect(throws: ContentDecoding.TooLong.self) {
            try decode([Coded.zstd(Coded.gzip(Coded.long))[...]], ["gzip", "zstd"], limit: 100)
        }
        #expect(try decode([Coded.zstd(Coded.long)[...]], ["zstd"], limit: 200_000).count == 200_000)
    }

    @Test("An endless body that decodes to no bytes stops at the size limit, which then counts encoded bytes")
    func endlessNothing() throws {
        let member = Coded.gzip([])
        let skipped: [UInt8] = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]
        // In br, 0x0c is the window size with an empty metadata block, 0x06 such a block, 0x03 the end (RFC 7932 §9).
        let bodies = [
            ("gzip", [member], member, [member]), ("zstd", [skipped], skipped, [Coded.zstd([])]),
            ("br", [[0x0c]], [0x06], [[0x03]]),
        ]
        for (coding, first, next, last) in bodies {
            let pieces = (first + Array(repeating: next, count: 1000) + last).map { $0[...] }
            let byteCount = Int64(pieces.joined().count)
            #expect(try decode(pieces, [coding], limit: byteCount) == [], "\(coding)")
            #expect(throws: ContentDecoding.TooLong.self, "\(coding)") {
                try decode(pieces, [coding], limit: byteCount - 1)
            }
        }
    }

    @Test("All decoders share a memory limit, and a released decoder frees its share", arguments: ["zstd", "br"])
    func memory(coding: String) throws {
        var frame = Coded.zstdBomb(blockCount: 1)
        frame[5] = 13 << 3
        let (body, window) = coding == "br" ? (Coded.brotli[Coded.long]!, 256 << 10) : (frame, 8 << 20)
        func decoding(in memory: DecoderMemory) throws -> ContentDecoding {
            let decoding = try ContentDecoding(names: [coding], sizeLimit: .max, memory: memory)
            try body.dropLast().withUnsafeBytes { try decoding.decode($0) { _ in } }
            return decoding
        }
        // An allocator may return more memory than requested, and all of it counts.
        let alone = DecoderMemory(limit: .max)
        let size = try withExtendedLifetime(decoding(in: alone)) { alone.byteCount }
        #expect(size > window && size < window * 3 / 2)
        #expect(alone.byteCount == 0)

        let memory = DecoderMemory(limit: size * 5 / 2)
        let first = try decoding(in: memory)
        do {
            let second = try decoding(in: memory)
            #expect(memory.byteCount == 2 * size)
            #expect(throws: ContentCodingError.noMemory) { try decoding(in: memory) }
            // The first two decoders still work after the third was refused.
            for one in [first, second] { try body.suffix(1).withUnsafeBytes { try one.decode($0) { _ in } } }
        }
        #expect((size / 2...size).contains(memory.byteCount))
        _ = try decoding(in: memory)
        try first.finish()
    }

    @Test("A zstd window over 8 MiB is refused (RFC 9659 §3)")
    func window() throws {
        var frame = Coded.zstdBomb(blockCount: 1)
        // RFC 8878 §3.1.1.1.2: if the upper five bits of this byte are e, the window has 2^(10 + e) bytes.
        frame[5] = 13 << 3
        #expect(try decode([frame[...]], ["zstd"]).count == 128 << 10)
        frame[5] = 14 << 3
        #expect(throws: ContentCodingError.self) { try decode([frame[...]], ["zstd"]) }
    }

    @Test(
        "Content-Encoding is read as a list, over several lines, in any case",
        arguments: [
            ([], []), ([""], []), (["identity"], []), ([" , Identity ,"], []), (["GZip"], ["gzip"]),
            (["gzip, br"], ["gzip", "br"]), (["gzip", "identity, BR\t,x-gzip"], ["gzip", "br", "x-gzip"]),
        ])
    func names(lines: [String], expected: [String]) {
        var fields = HTTPFields()
        for line in lines { fields.append(HTTPField(name: .contentEncoding, value: line)) }
        #expect(ContentCoding.names(in: fields) == expected)
    }

    @Test("The error for an unknown coding has its name; the error for more than two codings has the limit")
    func refused() throws {
        #expect(throws: ContentCodingError.unknown("compress")) {
            try ContentDecoding(names: ["gzip", "compress"], sizeLimit: .max)
        }
        #expect(throws: ContentCodingError.tooMany(limit: 2)) {
            try ContentDecoding(names: ["br", "br", "br"], sizeLimit: .max)
        }
        let twice = Coded.gzip(Coded.gzip(Coded.hello))
        #expect(try decode([twice[...]], ["x-gzip", "gzip"]) == Coded.hello)
    }

    @Test("A body that expands over 1,100-fold is refused, but gzip at its highest density is accepted")
    func ratio() throws {
        // Each block decodes to 128 KiB.
        let bomb = Coded.zstdBomb(blockCount: 200)
        #expect(throws: ContentCodingError.bomb(limit: 1100)) { () throws in _ = try decode([bomb[...]], ["zstd"]) }
        let short = Coded.zstdBomb(blockCount: 100)
        #expect(try decode([short[...]], ["zstd"]).count == 100 * 128 << 10)
        let zeros = [UInt8](repeating: 0, count: 40 << 20)
        #expect(try decode([Coded.gzip(zeros)[...]], ["gzip"]).count == zeros.count)
    }
}
