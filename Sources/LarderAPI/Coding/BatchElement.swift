import Primitives

/// One request of a batch, decoded when its turn comes, so that a batch takes no more memory than its text.
enum BatchElement: Sendable {
    static let limit = 10_000

    /// An element of a JSON array, which had to be parsed as a whole.
    case value(JSON)
    case line(ArraySlice<UInt8>)

    func json() throws(Problem) -> JSON {
        switch self {
        case .value(let json): json
        case .line(let bytes): try BodyDecoding.parse(Array(bytes))
        }
    }
}
