import CCompression

/// Decompresses a gzip file (RFC 1952), which the first two bytes reveal.
enum GzipText {
    /// Returns the bytes of a file that may be compressed. Throws ``SourceFault`` for a damaged file, and for more than
    /// `limit` decompressed bytes. At most `limit` bytes and one block are in memory.
    static func decompressed(_ body: [UInt8], limit: Int) throws(SourceFault) -> [UInt8] {
        guard body.starts(with: [0x1f, 0x8b]) else { return body }
        var stream = z_stream()
        // 15 bits of window, and 16 for the header of gzip. Fails only when there is no memory.
        guard larder_inflateInit2(&stream, 15 + 16) == Z_OK else { throw SourceFault("zlib is out of memory") }
        defer { inflateEnd(&stream) }
        var output: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 64 << 10)
        var input = body
        let problem: String? = input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            while true {
                var code = Z_OK
                let written = block.withUnsafeMutableBufferPointer { block in
                    stream.next_out = block.baseAddress
                    stream.avail_out = UInt32(block.count)
                    code = inflate(&stream, Z_NO_FLUSH)
                    return block.count - Int(stream.avail_out)
                }
                guard output.count + written <= limit else { return "the decompressed answer is over \(limit) bytes" }
                output += block[..<written]
                switch code {
                case Z_STREAM_END:
                    // Another member may follow (RFC 1952 §2.2). Other bytes are padding.
                    guard stream.avail_in >= 2, stream.next_in[0] == 0x1f, stream.next_in[1] == 0x8b else { return nil }
                    inflateReset(&stream)
                case Z_OK: continue
                case Z_BUF_ERROR: return "the compressed answer is incomplete"
                default: return "the compressed answer is damaged"
                }
            }
        }
        if let problem { throw SourceFault(problem) }
        return output
    }
}
