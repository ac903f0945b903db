/// Lets through to a terminal what is text, and nothing that tells the terminal what to do: UTF-8 without control
/// characters but tab, CR and LF, and without those that change the direction of what follows. A pure state machine:
/// pieces in, pieces out.
struct TerminalText {
    /// Why the rest is not shown.
    private static let failure = CommandFailure(
        .usage,
        "the body is no plain text, and is not printed to a terminal: use --output FILE, or --output - to print it "
            + "all the same")

    /// The beginning of a character whose end has not come.
    private var rest: [UInt8] = []

    /// Takes the next bytes and returns those that may be written now, whole characters. Throws ``CommandFailure`` when
    /// one of them is no text; then none of them may be written.
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

    /// Nothing more comes. Throws ``CommandFailure`` when a character has no end.
    func finish() throws(CommandFailure) {
        guard rest.isEmpty else { throw Self.failure }
    }

    /// How many bytes at the end are the beginning of a character, and not all of it.
    private static func openCount(of bytes: [UInt8]) -> Int {
        for (count, byte) in zip(1..., bytes.suffix(3).reversed()) {
            // Ones in front (RFC 3629 §3): none in ASCII, one in a byte that goes on with a character, and in one that
            // begins it as many as it has bytes.
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
