/// Searches for tokens in texts that leave this server: URL and fields of a request to an origin, and lines of the log.
/// Finds a token that is plain, percent-escaped (RFC 3986 §2.1), in Base64 (RFC 4648 §4 and §5, beginning at any
/// character, also without padding), or in several layers of these encodings. The number of layers is limited, so that
/// the time is linear. A server without tokens searches, too, because clients may send tokens of another server.
extension TokenCredentials {
    /// The most layers of percent-escapes that the search decodes. It does not find a token below more layers.
    private static let escapeLayers = 4
    private static let base64Layers = 2
    /// The length of the shortest token in bytes: the prefix, a name of one byte, `_`, and 256 bits in Base64.
    private static let shortestLength = TokenSecret.prefix.utf8.count + 2 + secretLength
    private static let secretLength = 43
    /// The length of the shortest token in characters of Base64.
    private static let shortestRun = (shortestLength * 4 + 2) / 3

    /// Whether the text has a token, valid or not. A text with a token must reach neither an origin nor the log. Reads
    /// the text in place. Allocates memory only to decode long runs of Base64 and percent-escapes.
    package static func areIn(_ text: some StringProtocol) -> Bool {
        guard text.utf8.count >= shortestLength else { return false }
        let found = text.utf8.withContiguousStorageIfAvailable {
            finds(in: UnsafeRawBufferPointer($0), escapes: escapeLayers, base64: base64Layers)
        }
        return found ?? finds(in: Array(text.utf8), escapes: escapeLayers, base64: base64Layers)
    }

    private static func finds(in bytes: [UInt8], escapes: Int, base64: Int) -> Bool {
        bytes.withUnsafeBytes { finds(in: $0, escapes: escapes, base64: base64) }
    }

    private static func finds(in bytes: UnsafeRawBufferPointer, escapes: Int, base64: Int) -> Bool {
        guard bytes.count >= shortestLength else { return false }
        if hasToken(bytes) { return true }
        if base64 > 0, findsInBase64(bytes, escapes: escapes, base64: base64 - 1) { return true }
        guard escapes > 0, bytes.contains(UInt8(ascii: "%")) else { return false }
        let decoded = decodingEscapes(bytes)
        return decoded.count < bytes.count && finds(in: decoded, escapes: escapes - 1, base64: base64)
    }

    private static func hasToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let first = TokenSecret.prefix.utf8.first
        var rest = bytes[...]
        while rest.count >= shortestLength, let start = rest.firstIndex(where: { $0 == first }) {
            rest = rest[start...]
            if rest.starts(with: TokenSecret.prefix.utf8) {
                let name = rest.dropFirst(TokenSecret.prefix.utf8.count).drop { $0 == UInt8(ascii: "_") }
                let secret = name.drop { $0 != UInt8(ascii: "_") }.dropFirst().prefix(secretLength)
                if secret.count == secretLength, secret.allSatisfy(\.isBase64URL) { return true }
            }
            rest = rest.dropFirst()
        }
        return false
    }

    /// Decodes and searches each long run of Base64. Skips spaces and tabs in it, because tools break long lines.
    private static func findsInBase64(_ bytes: UnsafeRawBufferPointer, escapes: Int, base64: Int) -> Bool {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var rest = bytes[...]
        while rest.count >= shortestRun {
            let run = rest.prefix { sextet($0) != nil || isSpace($0) }
            rest = rest[run.endIndex...].dropFirst()
            guard run.count >= shortestRun else { continue }
            let sextets = run.compactMap { sextet($0) }
            guard sextets.count >= shortestRun else { continue }
            // Tries each start, because a word before the encoded text shifts the groups of four characters.
            for start in 0..<4
            where finds(in: decodingBase64(sextets[start...]), escapes: escapes, base64: base64) { return true }
        }
        return false
    }

    /// Returns the six bits of a character in the alphabets of RFC 4648; `nil` when neither alphabet has the character.
    private static func sextet(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }

    private static func decodingBase64(_ sextets: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(sextets.count * 3 / 4)
        var (bits, count) = (0 as UInt32, 0)
        for sextet in sextets {
            bits = bits << 6 | UInt32(sextet)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return bytes
    }

    /// Leaves incomplete percent-escapes as they are.
    private static func decodingEscapes(_ text: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let high = digits.first?.hexDigitValue,
                let low = digits.last?.hexDigitValue
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}

extension UInt8 {
    /// Whether the byte is in the alphabet of RFC 4648 §5.
    var isBase64URL: Bool {
        isAlphanumeric || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }
}
