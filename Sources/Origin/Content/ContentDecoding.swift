import HTTPTypes

/// Undoes all content codings of one body, the last one applied first (RFC 9110 §8.4). Confined to one of the client's
/// threads.
///
/// It is made for a body's first byte: an empty body is empty whatever its `Content-Encoding` says, as it is for other
/// clients, because servers put the field on answers without a body, too.
final class ContentDecoding {
    /// The body, as it comes, decoded or between two codings, is longer than the limit.
    struct TooLong: Error {}

    /// How many codings a body may have. Each takes a window of its own; more than one is a server's mistake already,
    /// and two of them have been seen (what is in gzip is put in gzip once more on its way).
    static let limit = 2

    /// How many times as long as it comes a body may become, once it is worth looking at. What is in gzip at its
    /// densest becomes 1,032 times as long, and no longer; a bomb of another coding a million times.
    static let ratioLimit: Int64 = 1100
    /// Shorter ones are not looked at.
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

    /// - Parameters:
    ///   - names: of the codings, as ``ContentCoding/names(in:)`` gives them.
    ///   - sizeLimit: how many bytes the body may have as it comes, and how many each coding may give.
    ///   - memory: what the decoders' memory counts against.
    ///
    /// Throws ``ContentCodingError`` when one is not known, or there are too many.
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

    /// Decodes the next bytes and hands on all that they give. Throws ``ContentCodingError``, ``TooLong``, and what
    /// `output` throws.
    func decode(_ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Void) throws {
        // What decodes to nothing, one empty gzip member after the other, could go on for ever.
        codedCount += Int64(bytes.count)
        guard codedCount <= sizeLimit else { throw TooLong() }
        try decode(bytes, from: 0, into: output)
        try countMemory()
    }

    /// There are no more bytes. Throws ``ContentCodingError`` when something is missing.
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
            // Between two codings as well: a bomb that bursts there gives work without end, and perhaps not one byte.
            steps[index].byteCount += Int64(piece.count)
            guard steps[index].byteCount <= sizeLimit else { throw TooLong() }
            guard steps[index].byteCount <= max(Self.ratioFloor, codedCount * Self.ratioLimit) else {
                throw ContentCodingError.bomb(limit: Self.ratioLimit)
            }
            try decode(piece, from: index + 1, into: output)
        }
    }
}
