/// Bytes that wait to be sent, in the pieces in which they came. No lock, no limit of its own.
public struct ChunkQueue: Sendable {
    /// `nil`: used up. Its bytes are let go of at once, its place later.
    private var chunks: [SharedBytes?] = []
    /// The first chunk that is not used up, and how much of it is.
    private var first = 0
    private var offset = 0

    /// How many bytes wait.
    public private(set) var count = 0

    /// An empty queue.
    public init() {}

    /// Adds bytes at the end; they are not copied.
    public mutating func append(_ bytes: SharedBytes) {
        guard bytes.count > 0 else { return }
        chunks.append(bytes)
        count += bytes.count
    }

    /// Moves as much as there is, and as fits, from the front into `target`; returns how much.
    public mutating func take(into target: UnsafeMutableRawBufferPointer) -> Int {
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
        // Places go in batches, so that a long queue is not moved for each of them.
        if first == chunks.count || first > 64 {
            chunks.removeFirst(first)
            first = 0
        }
        return taken
    }
}
