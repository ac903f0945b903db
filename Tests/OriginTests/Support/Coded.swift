import CCompression

/// Test bodies in content codings, including bodies that no proper server sends.
enum Coded {
    /// One gzip member (RFC 1952).
    static func gzip(_ bytes: [UInt8]) -> [UInt8] {
        let check = UInt32(truncatingIfNeeded: crc32(0, bytes, UInt32(bytes.count)))
        return [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3] + bareDeflate(bytes) + little(check) + little(UInt32(bytes.count))
    }

    /// The zlib format (RFC 1950).
    static func zlib(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(compressBound(UInt(bytes.count)))) { buffer, count in
            var size = UInt(buffer.count)
            precondition(compress2(buffer.baseAddress, &size, bytes, UInt(bytes.count), 9) == Z_OK)
            count = Int(size)
        }
    }

    /// Deflate without the header and the checksum of the zlib format (RFC 1951).
    static func bareDeflate(_ bytes: [UInt8]) -> [UInt8] {
        Array(zlib(bytes).dropFirst(2).dropLast(4))
    }

    /// One zstd frame with a checksum (RFC 8878).
    static func zstd(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: ZSTD_compressBound(bytes.count)) { buffer, count in
            let context = ZSTD_createCCtx()
            defer { ZSTD_freeCCtx(context) }
            ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
            count = ZSTD_compress2(context, buffer.baseAddress, buffer.count, bytes, bytes.count)
            precondition(ZSTD_isError(count) == 0)
        }
    }

    /// A zstd frame that expands 32,768-fold: blocks of 128 KiB of the same byte, four bytes each (RFC 8878 §3.1.1.2).
    static func zstdBomb(blockCount: Int) -> [UInt8] {
        let window: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3]
        return (1...blockCount).reduce(into: window) { frame, number in
            let header = UInt32(128 << 10) << 3 | 1 << 1 | (number == blockCount ? 1 : 0)
            frame += little(header).prefix(3) + [0x78]
        }
    }

    /// The br streams of ``hello`` and ``long`` (RFC 7932), made by the program `brotli` because the tests have no br
    /// encoder.
    static let brotli: [[UInt8]: [UInt8]] = [
        hello: [0x0b, 0x02, 0x80] + hello + [0x03],
        long: [0x5b, 0x3f, 0x0d, 0x83, 0x5f, 0x02, 0x2f, 0x1e, 0x0b, 0x04, 0xf2, 0x09, 0x06, 0x00],
    ]

    /// A short text.
    static let hello = Array("hello".utf8)
    /// A text that decodes to more than one piece.
    static let long = [UInt8](repeating: 0x78, count: 200_000)

    private static func little(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
