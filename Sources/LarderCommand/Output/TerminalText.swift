/// Passes only plain text to a terminal: UTF-8 without control characters other than tab, CR and LF, and without
/// characters that change the direction of text. A pure state machine: pieces in, pieces out.
struct TerminalText {
    private static let failure = CommandFailure(
        .usage,
        "the body is not plain text and is not printed to a terminal; use --output FILE, or --output - to print it "
            + "anyway"
    )

    /// The bytes of an incomplete character.
    private var rest: [UInt8] = []

    /// Returns complete characters. Throws when a character is no plain text; the caller must then drop the piece.
    mutating func take(_ bytes: [UInt8]) throws(CommandFailure) -> [UInt8] {
        var whole = rest + bytes
        let openCount = Self.openCount(of: whole)
        rest = Array(whole.suffix(openCount))
        whole.removeLast(openCount)
        guard let text = String(validating: whole, as: UTF8.self), text.unicodeScalars.allSatisfy(Self.isText) else {
            throw Self.failure
        }
        return whole
    }

    /// Throws when the last character is incomplete.
    func finish() throws(CommandFailure) {
        guard rest.isEmpty else { throw Self.failure }
    }

    /// The number of bytes at the end that form an incomplete character.
    private static func openCount(of bytes: [UInt8]) -> Int {
        for (count, byte) in zip(1..., bytes.suffix(3).reversed()) {
            // Leading 1 bits (RFC 3629 §3): 0 in ASCII, 1 in a continuation byte, else the length of the character.
            let ones = (~byte).leadingZeroBitCount
            if ones != 1 { return ones > count && ones <= 4 ? count : 0 }
        }
        return 0
    }

    private static func isText(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0a, 0x0d: true
        case 0x00...0x1f, 0x7f...0x9f: false
        // Embeddings, overrides and isolates (UAX #9 §2).
        case 0x202a...0x202e, 0x2066...0x2069: false
        default: true
        }
    }
}
