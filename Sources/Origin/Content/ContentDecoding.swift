import Synchronization

/// Decodes all content codings of one body, starting with the coding that was applied last (RFC 9110 §8.4). Created at
/// a body's first byte, because servers set `Content-Encoding` also on responses without a body. Confined to a thread.
final class ContentDecoding {
    /// The received body, the decoded body or the bytes between two codings are too long.
    struct TooLong: Error {}

    /// The most codings of a body, each with its own window. Two occur, when a gzip file gets a second gzip on its way.
    static let limit = 2
    /// The maximum ratio of decoded to received bytes, for decoded bytes beyond ``ratioFloor``. gzip expands at most
    /// 1,032 times; a bomb in another coding expands a million times.
    static let ratioLimit: Int64 = 1100
    static let ratioFloor: Int64 = 16 << 20

    private struct Step {
        let decoder: any ContentDecoder
        var byteCount: Int64 = 0
    }

    private var steps: [Step]
    private let sizeLimit: Int64
    private var codedCount: Int64 = 0
    private let memory: DecoderMemory
    private var heldMemory = 0

    /// `names` come from ``ContentCoding/names(in:)``. `sizeLimit` also holds for the output of each coding.
    init(names: [String], sizeLimit: Int64, memory: DecoderMemory = .shared) throws(ContentCodingError) {
        guard names.count <= Self.limit else { throw .tooMany(limit: Self.limit) }
        self.sizeLimit = sizeLimit
        self.memory = memory
        steps = []
        for name in names.reversed() {
            guard let coding = ContentCoding(name: name) else { throw .unknown(name) }
            steps.append(Step(decoder: coding.makeDecoder()))
        }
    }

    deinit {
        _ = memory.add(-heldMemory)
    }

    /// Passes all decoded bytes to `output`. Throws ``ContentCodingError``, ``TooLong`` and the errors of `output`.
    func decode(_ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Void) throws {
        // Without this limit, an endless series of empty gzip members, for example, could continue for ever.
        codedCount += Int64(bytes.count)
        guard codedCount <= sizeLimit else { throw TooLong() }
        try decode(bytes, from: 0, into: output)
        try countMemory()
    }

    /// Throws when a coded stream is incomplete.
    func finish() throws(ContentCodingError) {
        for step in steps { try step.decoder.finish() }
    }

    private func countMemory() throws(ContentCodingError) {
        let more = steps.reduce(-heldMemory) { $0 + $1.decoder.memorySize }
        guard more != 0 else { return }
        heldMemory += more
        guard memory.add(more) || more < 0 else { throw .noMemory }
    }

    private func decode(
        _ bytes: UnsafeRawBufferPointer, from index: Int, into output: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        guard index < steps.count else { return try output(bytes) }
        try steps[index].decoder.decode(bytes) { piece in
            // Checked between two codings, too: a bomb that expands there causes endless work, perhaps without output.
            steps[index].byteCount += Int64(piece.count)
            guard steps[index].byteCount <= sizeLimit else { throw TooLong() }
            guard steps[index].byteCount <= max(Self.ratioFloor, codedCount * Self.ratioLimit) else {
                throw ContentCodingError.bomb(limit: Self.ratioLimit)
            }
            try decode(piece, from: index + 1, into: output)
        }
    }
}

/// Limits the memory of the decoders of all bodies together. Origins choose the size of the windows, up to 16 MiB (RFC
/// 7932 §9.1), and `brotli` does use such windows for large files. Memory is counted after its allocation, so the total
/// exceeds the limit by at most one window, and the decoder that exceeds it releases all its memory.
final class DecoderMemory: Sendable {
    /// The budget of the process: 3 MiB for each of 512 bodies, which is more than usual responses need.
    static let shared = DecoderMemory(limit: 512 * 3 << 20)
    private let limit: Int
    private let held = Atomic<Int>(0)

    /// In bytes.
    init(limit: Int) {
        self.limit = limit
    }

    var byteCount: Int { held.load(ordering: .relaxed) }

    /// Adds to the number of bytes in use, or subtracts from it; returns whether the total is within the limit.
    func add(_ byteCount: Int) -> Bool {
        held.add(byteCount, ordering: .relaxed).newValue <= limit
    }
}
