import Primitives

/// Reads a body in chunks from the bytes on the wire (RFC 9112 §7.1), as strictly as the RFC writes them.
///
/// libcurl 7.88 takes `5g`, `5,5` and a bare LF for the size of a chunk, and drops bytes behind the last chunk without
/// a word. A body whose end two readers find at different places must not enter a cache, so libcurl hands over the
/// bytes as they came (`CURLOPT_HTTP_TRANSFER_DECODING`), and its own reading only tells it when to stop.
///
/// A pure state machine: bytes in, the content out. Chunk extensions and trailers are checked and dropped (§7.1.1,
/// §7.1.2). White space behind a size is let pass, because old servers pad sizes with it.
struct ChunkedBody {
    /// The framing follows no grammar; the reason in words.
    struct Malformed: Error, Equatable {
        let reason: String
    }

    private enum State {
        case size, padding, extensions, sizeEnd
        case data, dataEnd, dataLineFeed
        case trailer, trailerName, trailerValue, trailerEnd, lastLineFeed
        case end
    }

    /// How many bytes the extensions of one chunk may have.
    private static let extensionLimit = 8 << 10
    /// How many bytes the trailers may have together.
    private static let trailerLimit = 64 << 10

    private var state = State.size
    /// The size of the current chunk; while its data comes, the bytes that are left of it.
    private var size: Int64 = 0
    private var digitCount = 0
    /// Bytes of the current chunk's extensions, or of all trailers.
    private var extraCount = 0

    /// Whether the last chunk and the trailers have come to their end.
    var isComplete: Bool { state == .end }

    /// Reads the next bytes and hands on the content among them.
    ///
    /// - Parameter output: takes a piece of content, and says whether it takes more.
    /// - Returns: how many bytes were read. The others come behind the end of the body, or behind the piece of content
    ///   after which `output` takes no more.
    ///
    /// Throws ``Malformed``, and the errors of `output`.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Int {
        var index = 0
        while index < bytes.count, state != .end {
            if state == .data {
                let count = Int(min(size, Int64(bytes.count - index)))
                let takesMore = try output(UnsafeRawBufferPointer(rebasing: bytes[index..<index + count]))
                index += count
                size -= Int64(count)
                if size == 0 { state = .dataEnd }
                if !takesMore { break }
            } else {
                state = try next(after: bytes[index])
                index += 1
            }
        }
        return index
    }

    /// Takes one byte that is not content.
    private mutating func next(after byte: UInt8) throws(Malformed) -> State {
        switch state {
        case .size: return try readSize(byte)
        case .padding:
            if byte == 0x20 || byte == 0x09 { return .padding }
            return try endSize(byte)
        case .extensions:
            if byte == Self.carriageReturn { return .sizeEnd }
            guard byte.isFieldContent else { throw Malformed(reason: "a chunk's extension has a control character") }
            try count(limit: Self.extensionLimit, "a chunk's extensions do not end")
            return .extensions
        case .sizeEnd:
            try expect(Self.lineFeed, byte, "the size of a chunk does not end with CRLF")
            extraCount = 0
            return size == 0 ? .trailer : .data
        case .dataEnd:
            try expect(Self.carriageReturn, byte, "a chunk is longer than its size says")
            return .dataLineFeed
        case .dataLineFeed:
            try expect(Self.lineFeed, byte, "a chunk does not end with CRLF")
            digitCount = 0
            return .size
        case .trailer where byte == Self.carriageReturn: return .lastLineFeed
        case .trailer, .trailerName: return try readTrailerName(byte)
        case .trailerValue:
            if byte == Self.carriageReturn { return .trailerEnd }
            guard byte.isFieldContent else { throw Malformed(reason: "a trailer has a control character") }
            try countTrailer()
            return .trailerValue
        case .trailerEnd:
            try expect(Self.lineFeed, byte, "a trailer does not end with CRLF")
            return .trailer
        case .lastLineFeed:
            try expect(Self.lineFeed, byte, "the body does not end with CRLF")
            return .end
        case .data, .end: preconditionFailure("content is not read byte by byte")
        }
    }

    private mutating func readSize(_ byte: UInt8) throws(Malformed) -> State {
        if let digit = byte.hexDigitValue {
            if digitCount == 0 { size = 0 }
            digitCount += 1
            // Fifteen digits are an exbibyte.
            guard digitCount <= 15 else { throw Malformed(reason: "the size of a chunk is too large") }
            size = size << 4 | Int64(digit)
            return .size
        }
        guard digitCount > 0 else { throw Malformed(reason: "a chunk has no size") }
        return byte == 0x20 || byte == 0x09 ? .padding : try endSize(byte)
    }

    private func endSize(_ byte: UInt8) throws(Malformed) -> State {
        switch byte {
        case Self.carriageReturn: return .sizeEnd
        case UInt8(ascii: ";"): return .extensions
        default: throw Malformed(reason: "the size of a chunk is no hexadecimal number")
        }
    }

    private mutating func readTrailerName(_ byte: UInt8) throws(Malformed) -> State {
        if byte == UInt8(ascii: ":"), state == .trailerName { return .trailerValue }
        guard byte.isTokenCharacter else { throw Malformed(reason: "a trailer is no field") }
        try countTrailer()
        return .trailerName
    }

    private mutating func countTrailer() throws(Malformed) {
        try count(limit: Self.trailerLimit, "the trailers do not end")
    }

    private mutating func count(limit: Int, _ reason: String) throws(Malformed) {
        extraCount += 1
        guard extraCount <= limit else { throw Malformed(reason: reason) }
    }

    private func expect(_ wanted: UInt8, _ byte: UInt8, _ reason: String) throws(Malformed) {
        guard byte == wanted else { throw Malformed(reason: reason) }
    }

    private static let carriageReturn: UInt8 = 0x0d
    private static let lineFeed: UInt8 = 0x0a
}
