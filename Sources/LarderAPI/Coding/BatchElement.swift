import Primitives

/// One request of a batch in its original form. It is decoded when its turn comes, so that a batch takes no more memory
/// than its text.
enum BatchElement: Sendable {
    /// The most elements of a batch.
    static let limit = 10_000

    /// An element of a JSON array, which had to be parsed as a whole.
    case value(JSON)
    /// A line of a text with one JSON value per line.
    case line(ArraySlice<UInt8>)

    /// Returns the request as JSON. Throws 400 if a line is not JSON.
    func json() throws(Problem) -> JSON {
        switch self {
        case .value(let json): json
        case .line(let bytes): try BodyDecoding.parse(Array(bytes))
        }
    }
}
