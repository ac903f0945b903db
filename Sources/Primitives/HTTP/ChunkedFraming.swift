/// Reads the framing of a chunked body as strictly as RFC 9112 §7.1 defines it: a state machine that takes bytes and
/// returns the ranges of the content. It checks and drops chunk extensions and trailers (RFC 9112 §7.1.1, §7.1.2).
/// libcurl 7.88 accepts `5g`, `5,5` and a bare LF after the size of a chunk, and libmicrohttpd 0.9.75 a bare LF as a
/// line end. Two readers may then see the end of such a body at different places, so a cache must refuse it.
///
///     var framing = ChunkedFraming(rules)
///     var index = 0
///     while let content = try framing.next(in: bytes, from: &index) { use(bytes[content]) }
package struct ChunkedFraming: Sendable {
    package struct Rules: Sendable {
        /// The most bytes that the extensions of one chunk may have.
        package var extensionLimit: Int
        /// The most bytes by which the extensions of all chunks together may exceed the content; unlimited by default.
        package var excessLimit: Int64
        /// The most bytes that the whole trailer section may have.
        package var trailerLimit: Int

        package init(extensionLimit: Int, excessLimit: Int64 = .max, trailerLimit: Int) {
            self.extensionLimit = extensionLimit
            self.excessLimit = excessLimit
            self.trailerLimit = trailerLimit
        }
    }

    package enum Problem: Error, Equatable {
        /// The framing breaks the grammar; the text gives the reason.
        case malformed(String)
        /// A chunk has more than 2⁶³ - 1 bytes.
        case sizeTooLarge
        case extensionsTooLong
        case trailersTooLong

        package var reason: String {
            switch self {
            case .malformed(let reason): reason
            case .sizeTooLarge: "the size of a chunk is too large"
            case .extensionsTooLong: "the extensions of the chunks are too long"
            case .trailersTooLong: "the trailers are too long"
            }
        }
    }

    private enum State {
        case size, padding, extensions, sizeEnd
        case content, contentEnd, contentLineFeed
        case trailer, trailerName, trailerValue, trailerEnd, lastLineFeed
        case end
    }

    private let rules: Rules
    private var state = State.size
    /// The size of the current chunk. While its content is read: the number of bytes of it that are still missing.
    private var size: Int64 = 0
    private var digitCount = 0
    /// The bytes of the current chunk's extensions, or of all trailers.
    private var extraCount = 0
    /// The bytes of all extensions, minus the bytes of content.
    private var excess: Int64 = 0

    package init(_ rules: Rules) {
        self.rules = rules
    }

    /// Whether the last chunk and the trailers are complete.
    package var isComplete: Bool { state == .end }

    /// Moves `index` to the end of the next piece of content; without one, to the end of the body or of `bytes`.
    /// Returns the range of the piece, if any. Throws the ``Problem`` of the byte at `index`; no call may follow then.
    package mutating func next(
        in bytes: UnsafeRawBufferPointer, from index: inout Int
    ) throws(Problem) -> Range<Int>? {
        while index < bytes.count, state != .end {
            guard state == .content else {
                state = try next(after: bytes[index])
                index += 1
                continue
            }
            let piece = index..<index + Int(min(size, Int64(bytes.count - index)))
            index = piece.endIndex
            size -= Int64(piece.count)
            excess -= Int64(piece.count)
            if size == 0 { state = .contentEnd }
            return piece
        }
        return nil
    }

    private mutating func next(after byte: UInt8) throws(Problem) -> State {
        switch state {
        case .trailer, .trailerName, .trailerValue, .trailerEnd:
            extraCount += 1
            guard extraCount <= rules.trailerLimit else { throw .trailersTooLong }
        default: break
        }
        switch state {
        case .size: return try readSize(byte)
        case .padding:
            // After the size, white space is allowed only before an extension (RFC 9112 §7.1.1).
            if byte == UInt8(ascii: ";") { return .extensions }
            guard byte == 0x20 || byte == 0x09 else { throw .malformed("white space follows the size of a chunk") }
            try countExtension()
            return .padding
        case .extensions:
            if byte == .carriageReturn { return .sizeEnd }
            guard byte.isFieldContent else { throw .malformed("a chunk's extension has a control character") }
            try countExtension()
            return .extensions
        case .sizeEnd:
            try expect(.lineFeed, byte, "the size of a chunk does not end with CRLF")
            extraCount = 0
            return size == 0 ? .trailer : .content
        case .contentEnd:
            try expect(.carriageReturn, byte, "a chunk is longer than its size says")
            return .contentLineFeed
        case .contentLineFeed:
            try expect(.lineFeed, byte, "a chunk does not end with CRLF")
            digitCount = 0
            return .size
        case .trailer where byte == .carriageReturn: return .lastLineFeed
        case .trailer, .trailerName: return try readTrailerName(byte)
        case .trailerValue:
            if byte == .carriageReturn { return .trailerEnd }
            guard byte.isFieldContent else { throw .malformed("a trailer has a control character") }
            return .trailerValue
        case .trailerEnd:
            try expect(.lineFeed, byte, "a trailer does not end with CRLF")
            return .trailer
        case .lastLineFeed:
            try expect(.lineFeed, byte, "the body does not end with CRLF")
            return .end
        case .content, .end: preconditionFailure("content is not read byte by byte")
        }
    }

    private mutating func readSize(_ byte: UInt8) throws(Problem) -> State {
        if let digit = byte.hexDigitValue {
            if digitCount == 0 { size = 0 }
            digitCount += 1
            guard size <= Int64.max >> 4 else { throw .sizeTooLarge }
            guard digitCount <= 16 else { throw .malformed("the size of a chunk has too many digits") }
            size = size << 4 | Int64(digit)
            return .size
        }
        guard digitCount > 0 else { throw .malformed("a chunk has no size") }
        switch byte {
        case .carriageReturn: return .sizeEnd
        case UInt8(ascii: ";"): return .extensions
        case 0x20, 0x09:
            try countExtension()
            return .padding
        default: throw .malformed("the size of a chunk is not a hexadecimal number")
        }
    }

    private mutating func countExtension() throws(Problem) {
        extraCount += 1
        excess += 1
        guard extraCount <= rules.extensionLimit, excess <= rules.excessLimit else { throw .extensionsTooLong }
    }

    private func readTrailerName(_ byte: UInt8) throws(Problem) -> State {
        if byte == UInt8(ascii: ":"), state == .trailerName { return .trailerValue }
        guard byte.isTokenCharacter else { throw .malformed("a trailer is not a field") }
        return .trailerName
    }

    private func expect(_ wanted: UInt8, _ byte: UInt8, _ reason: String) throws(Problem) {
        guard byte == wanted else { throw .malformed(reason) }
    }
}
