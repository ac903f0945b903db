/// Counts the bytes of a source's links. A short document may repeat a long base with each of its links, so the limit
/// of its own bytes bounds neither the memory of the links nor the time to resolve them.
struct LinkBudget: Sendable {
    /// The bytes that a kept link needs besides its text.
    static let overhead = 64

    private let limit: Int
    private var used = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// Throws ``SourceFault`` once all links together are over the limit. `owner` is the noun for the reason.
    mutating func spend(_ bytes: Int, of owner: StaticString = "answer") throws(SourceFault) {
        used += bytes
        guard used <= limit else {
            throw SourceFault("the links of the \(owner) have over \(limit) bytes when they are resolved")
        }
    }
}
