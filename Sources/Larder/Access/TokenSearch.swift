/// Searches for tokens in texts that leave this server: the URL and the fields of a request to an origin, and lines of
/// the log.
///
/// The search finds a plain token, a token behind percent-escapes (RFC 3986 §2.1) or in Base64 (RFC 4648 §4 and §5,
/// with or without padding, beginning at any character), and a token behind several of these layers. The time is at
/// most a constant multiple of the length of the text, because the search reads each layer once and the number of
/// layers is limited. Answers from memory are never searched.
enum TokenSearch {
    /// The number of percent-escape layers that the search removes. A text with more layers hides its content on
    /// purpose.
    private static let escapeLayers = 4
    /// The number of Base64 layers that the search removes.
    private static let base64Layers = 2
    /// The length of the shortest token in bytes: the prefix, a name of one byte, `_`, and 256 bits in Base64.
    private static let shortestLength = TokenSecret.prefix.utf8.count + 2 + secretLength
    private static let secretLength = 43
    /// The length of the shortest token in characters of Base64.
    private static let shortestRun = (shortestLength * 4 + 2) / 3

    /// Whether a text contains a token, valid or not.
    static func finds(in text: some StringProtocol) -> Bool {
        // Most values are shorter than a token.
        guard text.utf8.count >= shortestLength else { return false }
        return finds(in: Array(text.utf8), escapes: escapeLayers, base64: base64Layers)
    }

    private static func finds(in bytes: [UInt8], escapes: Int, base64: Int) -> Bool {
        guard bytes.count >= shortestLength else { return false }
        if hasToken(bytes) { return true }
        if base64 > 0, findsInBase64(bytes, escapes: escapes, base64: base64 - 1) { return true }
        guard escapes > 0, bytes.contains(UInt8(ascii: "%")) else { return false }
        let decoded = decodingEscapes(bytes)
        return decoded.count < bytes.count && finds(in: decoded, escapes: escapes - 1, base64: base64)
    }

    /// Whether the bytes contain a plain token.
    private static func hasToken(_ bytes: [UInt8]) -> Bool {
        let prefix = Array(TokenSecret.prefix.utf8)
        var rest = bytes[...]
        while rest.count >= shortestLength, let start = rest.firstIndex(of: prefix[0]) {
            rest = rest[start...]
            if rest.starts(with: prefix) {
                let parts = rest.dropFirst(prefix.count).split(separator: UInt8(ascii: "_"), maxSplits: 1)
                if parts.count == 2, parts[1].prefix(while: \.isBase64URL).count >= secretLength { return true }
            }
            rest = rest.dropFirst()
        }
        return false
    }

    /// Decodes each run of Base64 characters and searches the result. Ignores spaces and tabs inside a run, because
    /// tools break long lines.
    private static func findsInBase64(_ bytes: [UInt8], escapes: Int, base64: Int) -> Bool {
        var run: [UInt8] = []
        func isFound() -> Bool {
            guard run.count >= shortestRun else { return false }
            // A word before the encoded text shifts the groups of four characters.
            return (0..<4).contains { finds(in: decodingBase64(run[$0...]), escapes: escapes, base64: base64) }
        }
        for byte in bytes {
            if let sextet = sextet(byte) {
                run.append(sextet)
            } else if byte != UInt8(ascii: " "), byte != UInt8(ascii: "\t") {
                if isFound() { return true }
                run.removeAll(keepingCapacity: true)
            }
        }
        return isFound()
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

    /// Replaces each complete percent-escape by its byte.
    private static func decodingEscapes(_ text: [UInt8]) -> [UInt8] {
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
        (0x30...0x39).contains(self) || (0x41...0x5a).contains(self) || (0x61...0x7a).contains(self) || self == 0x2d
            || self == 0x5f
    }
}
