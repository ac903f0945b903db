/// Bytes that wait to be sent, in the pieces in which they arrived. The type has no lock and no limit.
package struct ChunkQueue: Sendable {
    /// The pieces. A used piece becomes `nil`, which releases its bytes at once; its place is removed later.
    private var chunks: [SharedBytes?] = []
    /// The index of the first unused piece, and the number of its bytes that are already taken.
    private var first = 0
    private var offset = 0

    /// The number of waiting bytes.
    package private(set) var count = 0

    package init() {}

    /// Appends bytes, without a copy.
    package mutating func append(_ bytes: SharedBytes) {
        guard bytes.count > 0 else { return }
        chunks.append(bytes)
        count += bytes.count
    }

    /// Moves as many bytes as are waiting and fit from the front of the queue into `target`; returns their number.
    package mutating func take(into target: UnsafeMutableRawBufferPointer) -> Int {
        var taken = 0
        while taken < target.count, first < chunks.count, let chunk = chunks[first] {
            let rest = UnsafeRawBufferPointer(rebasing: chunk.bytes[offset...])
            let length = min(rest.count, target.count - taken)
            UnsafeMutableRawBufferPointer(rebasing: target[taken..<taken + length])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<length]))
            taken += length
            offset += length
            if length == rest.count {
                chunks[first] = nil
                first += 1
                offset = 0
            }
        }
        count -= taken
        // Places are removed in batches, because removing each on its own would move a long queue every time.
        if first == chunks.count || first > 64 {
            chunks.removeFirst(first)
            first = 0
        }
        return taken
    }
}
