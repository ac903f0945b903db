import Primitives

/// One request of a batch, as it came: it is read when its turn has come, so that a batch takes no more memory than its
/// own text.
enum BatchElement: Sendable {
    /// Of an array, which had to be read as a whole.
    case value(JSON)
    /// Of a text with one value a line.
    case line(ArraySlice<UInt8>)

    /// What it says. Throws when that is not JSON.
    func json() throws(Problem) -> JSON {
        switch self {
        case .value(let json): json
        case .line(let bytes): try BodyDecoding.parse(Array(bytes))
        }
    }
}
