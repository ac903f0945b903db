import Synchronization

/// What the decoders of all bodies hold together, against a limit: it is for the origins to say how large the windows
/// are, up to 16 MiB (RFC 7932 §9.1), and `brotli` does make such of large files.
///
/// It is counted when it has been taken, which the library does in one piece: so the limit is passed by at most one
/// window, and whoever passed it gives everything back.
final class DecoderMemory: Sendable {
    /// The process's own: 3 MiB for each of 512 bodies, which is more than they take as servers mostly send them.
    static let shared = DecoderMemory(limit: 512 * 3 << 20)

    private let limit: Int
    private let held = Atomic<Int>(0)

    /// - Parameter limit: in bytes.
    init(limit: Int) {
        self.limit = limit
    }

    /// How many bytes are held.
    var byteCount: Int { held.load(ordering: .relaxed) }

    /// Counts bytes more, or less. Whether the limit is kept.
    func add(_ byteCount: Int) -> Bool {
        held.add(byteCount, ordering: .relaxed).newValue <= limit
    }
}
