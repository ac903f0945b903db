/// Cuts what comes in pieces into lines that end in LF.
struct LineSplitter {
    private var rest: [UInt8] = []

    /// How many bytes it keeps of a line whose end has not come.
    var pendingBytes: Int { rest.count }

    /// Takes a piece and returns the lines that it completes, without their ends; empty ones are left out.
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
