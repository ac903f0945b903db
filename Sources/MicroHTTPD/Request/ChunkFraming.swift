/// The framing of a body in chunks (RFC 9112 §7.1), read byte by byte: where the body ends, and whether every part of
/// the framing is well-formed.
///
/// libmicrohttpd 0.9.75 reads the framing itself, but takes a bare LF for the end of a line, also within an extension,
/// and answers 500 when a line does not fit into its memory. Another server on the way can read such a body
/// differently. This reader is strict, and has limits for everything that is not data.
///
/// Pure: no I/O, no clock.
struct ChunkFraming {
    /// What the bytes so far amount to.
    enum Step: Equatable {
        /// All bytes belong to the body, which goes on.
        case more
        /// The body ends behind so many of the bytes.
        case end(Int)
        /// The body must be refused.
        case refuse(Request.Defect)
    }

    private enum Place {
        /// Within the size, of so many digits.
        case size(digits: Int)
        /// Within the extensions of a size line.
        case extensions
        /// Behind the CR of a size line.
        case sizeEnd
        /// Within data, with so many bytes to come.
        case data(Int64)
        /// Behind data, before its CR.
        case dataEnd
        /// Behind the CR that follows data.
        case dataLF
        /// At the beginning of a line of the trailer section.
        case trailerStart
        /// Within a line of the trailer section.
        case trailer
        /// Behind the CR of a line of the trailer section.
        case trailerEnd
        /// Behind the CR of the empty line that ends the body.
        case lastLF
        /// Behind the body.
        case over
    }

    /// How many bytes the extensions of one chunk may have: far less than libmicrohttpd's memory has room for.
    static let lineLimit = 4096
    /// How many bytes the extensions of all chunks may have beyond the bytes of data that have come.
    static let extensionLimit: Int64 = 16 << 10
    /// How many bytes the trailer section may have.
    static let trailerLimit = 8192

    private var place = Place.size(digits: 0)
    private var size: Int64 = 0
    private var lineCount = 0
    /// Bytes of all extensions, less the bytes of data.
    private var excess: Int64 = 0
    private var trailerCount = 0

    /// Reads the next bytes. Nothing may follow ``Step/end(_:)`` or ``Step/refuse(_:)``.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> Step {
        var index = 0
        while index < bytes.count {
            if case .data(let rest) = place {
                let count = min(rest, Int64(bytes.count - index))
                index += Int(count)
                excess -= count
                place = count == rest ? .dataEnd : .data(rest - count)
                continue
            }
            if let defect = take(bytes[index]) { return .refuse(defect) }
            index += 1
            if case .over = place { return .end(index) }
        }
        return .more
    }

    /// Reads a byte that is not data; what is wrong with it, if anything.
    private mutating func take(_ byte: UInt8) -> Request.Defect? {
        switch place {
        case .size(let digits): return takeSize(byte, digits: digits)
        case .extensions:
            if byte == .carriageReturn {
                place = .sizeEnd
                return nil
            }
            guard byte == 0x09 || (byte >= 0x20 && byte != 0x7f) else { return .malformedChunks }
            (lineCount, excess) = (lineCount + 1, excess + 1)
            return lineCount > Self.lineLimit || excess > Self.extensionLimit ? .chunkExtensions : nil
        case .sizeEnd:
            place = size > 0 ? .data(size) : .trailerStart
            (size, lineCount) = (0, 0)
            return byte == .lineFeed ? nil : .malformedChunks
        case .dataEnd:
            place = .dataLF
            return byte == .carriageReturn ? nil : .malformedChunks
        case .dataLF:
            place = .size(digits: 0)
            return byte == .lineFeed ? nil : .malformedChunks
        case .trailerStart, .trailer: return takeTrailer(byte)
        case .trailerEnd:
            place = .trailerStart
            return byte == .lineFeed ? nil : .malformedChunks
        case .lastLF:
            place = .over
            return byte == .lineFeed ? nil : .malformedChunks
        case .data, .over: return .malformedChunks
        }
    }

    private mutating func takeSize(_ byte: UInt8, digits: Int) -> Request.Defect? {
        if let digit = byte.hexDigitValue {
            guard size <= Int64.max >> 4 else { return .chunkTooLarge }
            guard digits < 16 else { return .malformedChunks }
            size = size << 4 | Int64(digit)
            place = .size(digits: digits + 1)
            return nil
        }
        guard digits > 0 else { return .malformedChunks }
        switch byte {
        case .carriageReturn: place = .sizeEnd
        case UInt8(ascii: ";"): place = .extensions
        default: return .malformedChunks
        }
        return nil
    }

    private mutating func takeTrailer(_ byte: UInt8) -> Request.Defect? {
        trailerCount += 1
        guard trailerCount <= Self.trailerLimit else { return .trailersTooLarge }
        if byte == .carriageReturn {
            if case .trailerStart = place { place = .lastLF } else { place = .trailerEnd }
            return nil
        }
        place = .trailer
        return byte == 0 || byte == .lineFeed ? .malformedChunks : nil
    }
}
