/// Splits pieces of a stream into lines that end in LF.
struct LineSplitter {
    private var rest: [UInt8] = []

    /// The number of bytes kept of an incomplete line.
    var pendingBytes: Int { rest.count }

    /// Returns the lines that the piece completes. Empty lines are left out.
    mutating func append(_ piece: [UInt8]) -> [[UInt8]] {
        guard let end = piece.lastIndex(of: UInt8(ascii: "\n")) else {
            rest += piece
            return []
        }
        let whole = rest + piece[..<end]
        rest = Array(piece[(end + 1)...])
        return whole.split(separator: UInt8(ascii: "\n")).map(Array.init)
    }
}
