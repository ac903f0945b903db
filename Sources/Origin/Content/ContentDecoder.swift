import CCompression
import Glibc
import HTTPTypes

/// Decodes one content coding. libcurl's own decoding is not used, because libcurl takes a coded stream that ends too
/// early for complete, if the body is correctly framed. One thread at a time uses a decoder.
protocol ContentDecoder: AnyObject {
    /// Passes all decoded bytes to `output`, in pieces of at most ``contentPieceSize`` bytes, never empty and valid
    /// during the call only. Throws ``ContentCodingError`` and errors of `output`; no call may follow then.
    func decode(_ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Void) throws

    /// The approximate memory of the decoder, in bytes.
    var memorySize: Int { get }

    /// Throws when the coded stream is incomplete.
    func finish() throws(ContentCodingError)
}

let contentPieceSize = 65_536

/// The reason why a body cannot be decoded, in words in which "it" is the body.
package struct ContentCodingError: Error, Equatable {
    package let reason: String
    /// Whether the body is a decompression bomb, and not damaged.
    package var isBomb: Bool { self == .bomb(limit: ContentDecoding.ratioLimit) }

    static func unknown(_ name: String) -> Self {
        Self(reason: "its content coding \"\(name.prefix(64))\" is not supported")
    }

    static func tooMany(limit: Int) -> Self { Self(reason: "it has more than \(limit) content codings") }

    static func bomb(limit: Int64) -> Self {
        Self(reason: "it becomes more than \(limit) times as long when decoded")
    }

    static let noMemory = Self(reason: "the memory for decoding is used up; retry when fewer bodies are in transfer")

    static func corrupt(_ coding: ContentCoding, _ words: String) -> Self {
        Self(reason: "it is not valid \(coding.rawValue): \(words)")
    }

    static func trailing(_ coding: ContentCoding) -> Self {
        Self(reason: "it goes on after the end of its \(coding.rawValue) stream")
    }

    static func truncated(_ coding: ContentCoding) -> Self {
        Self(reason: "it ends before its \(coding.rawValue) stream does")
    }
}

/// A content coding that the client can decode (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
enum ContentCoding: String, CaseIterable {
    case gzip
    /// The zlib format, as RFC 9110 defines it. The decoder also accepts bare deflate, which some servers send.
    case deflate
    case brotli = "br"
    case zstd

    /// The codings for `Accept-Encoding`. Not deflate, because gzip compresses as well and has a better checksum.
    static let accepted = "gzip, br, zstd"

    /// `name` is in lower case; `x-gzip` is gzip (RFC 9110 §8.4.1.3). `nil` when the client cannot decode the coding.
    init?(name: String) {
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// The other codings registered by IANA, and some that servers use. The client cannot decode them.
    private static let others: Set<String> = [
        "aes128gcm", "compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "bzip2", "x-bzip2", "lz4", "lzma",
        "x-lzma", "sdch", "snappy", "xz", "x-xz", "peerdist",
    ]

    /// The names of the codings in `Content-Encoding`, in lower case and in the order in which the codings were
    /// applied. Names that are not codings are left out, because they do not change the bytes: `identity`, and labels
    /// that servers add by mistake, such as `aws-chunked`, `UTF-8`, `none` and `binary`.
    static func names(in fields: HTTPFields) -> [String] {
        fields[values: .contentEncoding]
            .flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            .filter { ContentCoding(name: $0) != nil || others.contains($0) }
    }

    func makeDecoder() -> any ContentDecoder {
        switch self {
        case .gzip, .deflate: InflateDecoder(self)
        case .brotli: BrotliDecoder()
        case .zstd: ZstdDecoder()
        }
    }
}

/// Decodes gzip (RFC 1952, also with several members) and deflate with zlib.
private final class InflateDecoder: ContentDecoder {
    private let coding: ContentCoding
    /// The stream must not move in memory, because zlib's state points back to it.
    private let stream: UnsafeMutablePointer<z_stream>
    private var isOpen = false
    private var isAtEnd = false

    init(_ coding: ContentCoding) {
        self.coding = coding
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if isOpen { inflateEnd(stream) }
        stream.deallocate()
    }

    /// The documented size of zlib's memory (zlib.h), which includes the window of 32 KiB.
    var memorySize: Int { isOpen ? 39 << 10 : 0 }

    func decode(_ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard let first = bytes.first else { return }
        if !isOpen { open(first) }
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
        try withUnsafeTemporaryAllocation(byteCount: contentPieceSize, alignment: 1) { piece in
            repeat {
                if isAtEnd { try beginMember() }
                stream.pointee.next_out = piece.assumingMemoryBound(to: UInt8.self).baseAddress
                stream.pointee.avail_out = UInt32(piece.count)
                let code = inflate(stream, Z_NO_FLUSH)
                isAtEnd = code == Z_STREAM_END
                // Z_BUF_ERROR means that all input is used up.
                guard isAtEnd || code == Z_OK || code == Z_BUF_ERROR else { throw corrupt(code) }
                let count = piece.count - Int(stream.pointee.avail_out)
                if count > 0 { try output(UnsafeRawBufferPointer(rebasing: piece[..<count])) }
            } while stream.pointee.avail_in > 0 || (stream.pointee.avail_out == 0 && !isAtEnd)
        }
    }

    func finish() throws(ContentCodingError) {
        guard isAtEnd else { throw .truncated(coding) }
    }

    /// The first byte distinguishes the zlib format from bare deflate. In the zlib format its low four bits are 8. In
    /// bare deflate such a byte would begin a stored block with padding that no encoder writes.
    private func open(_ first: UInt8) {
        let windowBits = coding == .gzip ? 16 + MAX_WBITS : first & 0x0f == 8 ? MAX_WBITS : -MAX_WBITS
        // inflateInit2 fails only when it has no memory.
        precondition(larder_inflateInit2(stream, windowBits) == Z_OK, "inflateInit2 failed")
        isOpen = true
    }

    /// Begins the next member of a gzip file (RFC 1952 §2.2); any other bytes behind the end are an error.
    private func beginMember() throws(ContentCodingError) {
        guard coding == .gzip, stream.pointee.next_in.pointee == 0x1f else { throw .trailing(coding) }
        inflateReset(stream)
        isAtEnd = false
    }

    private func corrupt(_ code: Int32) -> ContentCodingError {
        if code == Z_NEED_DICT { return .corrupt(coding, "it needs a dictionary") }
        return .corrupt(coding, stream.pointee.msg.map { String(cString: $0) } ?? "zlib's error \(code)")
    }
}

/// Decodes br (RFC 7932) with libbrotlidec.
private final class BrotliDecoder: ContentDecoder {
    private let state: OpaquePointer
    /// The number of allocated bytes. The allocation functions count them, because the library does not report it.
    private let held: UnsafeMutablePointer<Int>

    init() {
        held = .allocate(capacity: 1)
        held.initialize(to: 0)
        let allocate: brotli_alloc_func = { held, size in
            let memory = malloc(size)
            held?.assumingMemoryBound(to: Int.self).pointee += malloc_usable_size(memory)
            return memory
        }
        let release: brotli_free_func = { held, memory in
            held?.assumingMemoryBound(to: Int.self).pointee -= malloc_usable_size(memory)
            free(memory)
        }
        guard let state = BrotliDecoderCreateInstance(allocate, release, held) else {
            fatalError("brotli is out of memory")
        }
        self.state = state
    }

    deinit {
        BrotliDecoderDestroyInstance(state)
        held.deallocate()
    }

    var memorySize: Int { held.pointee }

    func decode(_ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard !bytes.isEmpty else { return }
        var input = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
        var inputLeft = bytes.count
        try withUnsafeTemporaryAllocation(byteCount: contentPieceSize, alignment: 1) { piece in
            var result = BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT
            while result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT {
                var next = piece.assumingMemoryBound(to: UInt8.self).baseAddress
                var left = piece.count
                result = BrotliDecoderDecompressStream(state, &inputLeft, &input, &left, &next, nil)
                guard result != BROTLI_DECODER_RESULT_ERROR else {
                    let words = BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state))
                    throw ContentCodingError.corrupt(.brotli, words.map { String(cString: $0) } ?? "")
                }
                if left < piece.count { try output(UnsafeRawBufferPointer(rebasing: piece[..<(piece.count - left)])) }
            }
        }
        // A decoder that needs more input has used all of `bytes`. So the bytes left are behind the end of the stream.
        guard inputLeft == 0 else { throw ContentCodingError.trailing(.brotli) }
    }

    func finish() throws(ContentCodingError) {
        guard BrotliDecoderIsFinished(state) != 0 else { throw .truncated(.brotli) }
    }
}

/// Decodes zstd (RFC 8878, also with several frames) with libzstd.
private final class ZstdDecoder: ContentDecoder {
    /// 8 MiB, as a power of two: the limit for a content coding (RFC 9659 §3). libzstd's own limit is 128 MiB.
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
            var isFull: Bool
            repeat {
                var decoded = ZSTD_outBuffer(dst: piece.baseAddress, size: piece.count, pos: 0)
                let result = ZSTD_decompressStream(context, &decoded, &input)
                guard ZSTD_isError(result) == 0 else {
                    throw ContentCodingError.corrupt(.zstd, String(cString: ZSTD_getErrorName(result)))
                }
                // 0 means that a whole frame has been decoded and delivered. Another frame may follow (RFC 8878 §3).
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
