import CCompression

/// Decodes gzip (RFC 1952, also with several members) and deflate with zlib. Confined to one thread at a time.
final class InflateDecoder: ContentDecoder {
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

    /// The window of 32 KiB, and the further memory that zlib.h documents.
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

    /// The first byte distinguishes the zlib format from bare deflate. Its low four bits are 8 in the zlib format; in
    /// bare deflate such a byte would begin a stored block with padding that no encoder writes.
    private func open(_ first: UInt8) {
        let windowBits: Int32 =
            switch coding {
            case .gzip: 16 + MAX_WBITS
            default: first & 0x0f == 8 ? MAX_WBITS : -MAX_WBITS
            }
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
