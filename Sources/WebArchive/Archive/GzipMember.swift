import CCompression

/// Compresses a text as one gzip member (RFC 1952). A file of several members is a valid gzip file, and a reader can
/// begin at each member. A class, because zlib keeps pointers to its stream.
package final class GzipMember {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var block = [UInt8](repeating: 0, count: 32 << 10)

    package init() {
        stream.initialize(to: z_stream())
        // deflateInit2 fails only when it has no memory. 15 bits of window, and 16 for the header of gzip.
        precondition(larder_deflateInit2(stream, 15 + 16) == Z_OK, "deflateInit2 failed")
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Appends compressed bytes to `output`; zlib keeps some bytes until later calls.
    package func compress(_ bytes: UnsafeRawBufferPointer, into output: inout [UInt8]) {
        run(bytes, Z_NO_FLUSH, into: &output)
    }

    /// Ends the member. Later calls begin a new one.
    package func finish(into output: inout [UInt8]) {
        run(UnsafeRawBufferPointer(start: nil, count: 0), Z_FINISH, into: &output)
        deflateReset(stream)
    }

    private func run(_ bytes: UnsafeRawBufferPointer, _ flush: Int32, into output: inout [UInt8]) {
        // zlib only reads the input.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
        repeat {
            let written = block.withUnsafeMutableBufferPointer { block in
                stream.pointee.next_out = block.baseAddress
                stream.pointee.avail_out = UInt32(block.count)
                deflate(stream, flush)
                return block.count - Int(stream.pointee.avail_out)
            }
            output += block[..<written]
        } while stream.pointee.avail_out == 0
        stream.pointee.next_in = nil
    }
}

/// Decompresses a file of gzip members, or passes on a file that is not compressed. The first two bytes decide.
package final class GzipReader {
    /// The reason for which the rest of the file cannot be read.
    package enum Problem: Error, Equatable {
        case malformed
        /// The decompressed bytes exceed the limit.
        case tooLarge
    }

    private enum Form { case unknown, plain, gzip }

    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var block = [UInt8](repeating: 0, count: 64 << 10)
    private var form = Form.unknown
    private var beginning: [UInt8] = []
    private var isWithinMember = false
    /// The decompressed bytes so far.
    package private(set) var length: Int64 = 0
    private let limit: Int64

    /// `limit`: the most decompressed bytes.
    package init(limit: Int64) {
        self.limit = limit
        stream.initialize(to: z_stream())
        precondition(larder_inflateInit2(stream, 15 + 16) == Z_OK, "inflateInit2 failed")
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Passes the decompressed bytes to `use`, in pieces of at most 64 KiB for a compressed file.
    package func read<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ problem: (Problem) -> Failure,
        _ use: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        guard form != .unknown else {
            beginning += bytes
            guard beginning.count >= 2 else { return }
            form = beginning.starts(with: [0x1f, 0x8b]) ? .gzip : .plain
            let whole = beginning
            beginning = []
            let result = whole.withUnsafeBytes { whole in
                Result { () throws(Failure) in try read(whole, problem, use) }
            }
            return try result.get()
        }
        guard form == .gzip else { return try pass(bytes, problem, use) }
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.assumingMemoryBound(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
        defer { stream.pointee.next_in = nil }
        while stream.pointee.avail_in > 0 {
            isWithinMember = true
            var code = Z_OK
            let written = block.withUnsafeMutableBufferPointer { block in
                stream.pointee.next_out = block.baseAddress
                stream.pointee.avail_out = UInt32(block.count)
                code = inflate(stream, Z_NO_FLUSH)
                return block.count - Int(stream.pointee.avail_out)
            }
            guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw problem(.malformed) }
            let result = block.withUnsafeBytes { block in
                Result { () throws(Failure) in
                    try pass(UnsafeRawBufferPointer(rebasing: block[..<written]), problem, use)
                }
            }
            try result.get()
            if code == Z_STREAM_END {
                isWithinMember = false
                inflateReset(stream)
            } else if written == 0, code == Z_BUF_ERROR {
                return
            }
        }
    }

    /// Whether the file may end here: not within a member.
    package var isComplete: Bool { !isWithinMember && form != .unknown }

    private func pass<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ problem: (Problem) -> Failure,
        _ use: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        length += Int64(bytes.count)
        guard length <= limit else { throw problem(.tooLarge) }
        if !bytes.isEmpty { try use(bytes) }
    }
}
