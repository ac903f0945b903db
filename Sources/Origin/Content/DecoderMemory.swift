import Synchronization

/// Limits the memory of the decoders of all bodies together. Origins choose the size of the windows, up to 16 MiB (RFC
/// 7932 §9.1), and `brotli` does use such windows for large files.
///
/// Memory is counted after the library has allocated it, in one piece. The total therefore exceeds the limit by at most
/// one window, and the decoder that exceeds it releases all its memory.
final class DecoderMemory: Sendable {
    /// The budget of the process: 3 MiB for each of 512 bodies, which is more than the decoders need for usual
    /// responses.
    static let shared = DecoderMemory(limit: 512 * 3 << 20)

    private let limit: Int
    private let held = Atomic<Int>(0)

    /// Creates a budget.
    ///
    /// - Parameter limit: the limit in bytes.
    init(limit: Int) {
        self.limit = limit
    }

    var byteCount: Int { held.load(ordering: .relaxed) }

    /// Adds to the number of bytes in use, or subtracts from it; returns whether the total is within the limit.
    func add(_ byteCount: Int) -> Bool {
        held.add(byteCount, ordering: .relaxed).newValue <= limit
    }
}
