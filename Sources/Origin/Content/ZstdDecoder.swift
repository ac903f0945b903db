import CCompression

/// Decodes zstd (RFC 8878, also with several frames) with libzstd. Confined to one thread at a time.
final class ZstdDecoder: ContentDecoder {
    /// The largest window, as a power of two: 8 MiB, the maximum for a content coding (RFC 9659 §3). libzstd's own
    /// limit is 128 MiB.
    private static let windowLogLimit: Int32 = 23

    private let context: OpaquePointer
    private var isAtEnd = false

    init() {
        guard let context = ZSTD_createDCtx() else { fatalError("zstd is out of memory") }
        self.context = context
        ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLogLimit)
    }

    deinit {
        ZSTD_freeDCtx(context)
    }

    var memorySize: Int { ZSTD_sizeof_DCtx(context) }

    func decode(_ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard !bytes.isEmpty else { return }
        var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
        try withUnsafeTemporaryAllocation(byteCount: contentPieceSize, alignment: 1) { piece in
            var isFull = false
            repeat {
                var decoded = ZSTD_outBuffer(dst: piece.baseAddress, size: piece.count, pos: 0)
                let result = ZSTD_decompressStream(context, &decoded, &input)
                guard ZSTD_isError(result) == 0 else {
                    throw ContentCodingError.corrupt(.zstd, String(cString: ZSTD_getErrorName(result)))
                }
                // A result of 0 means that a whole frame is decoded and delivered. Another frame may follow (RFC 8878
                // §3).
                isAtEnd = result == 0
                isFull = decoded.pos == decoded.size
                if decoded.pos > 0 { try output(UnsafeRawBufferPointer(rebasing: piece[..<decoded.pos])) }
            } while input.pos < input.size || (isFull && !isAtEnd)
        }
    }

    func finish() throws(ContentCodingError) {
        guard isAtEnd else { throw .truncated(.zstd) }
    }
}
