import HTTPTypes

/// Decodes all content codings of one body, starting with the coding that was applied last (RFC 9110 §8.4). Confined to
/// a single thread of the client.
///
/// The decoding is created at a body's first byte. An empty body stays empty regardless of its `Content-Encoding`, as
/// in other clients, because servers also set the field on responses without a body.
final class ContentDecoding {
    /// The received body, the decoded body or the bytes between two codings exceed the limit.
    struct TooLong: Error {}

    /// The maximum number of codings of a body. Each coding takes its own window. More than one is already a server's
    /// mistake, and two have been seen (a gzip file that gets a second gzip on its way).
    static let limit = 2

    /// The maximum ratio of decoded to received bytes, for decoded bytes beyond ``ratioFloor``. gzip expands at most
    /// 1,032 times; a bomb in another coding expands a million times.
    static let ratioLimit: Int64 = 1100
    /// The number of decoded bytes up to which the ratio is not checked.
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

    /// Creates the decoders.
    ///
    /// - Parameters:
    ///   - names: the names of the codings, as ``ContentCoding/names(in:)`` returns them.
    ///   - sizeLimit: the limit, in bytes, for the received body and for the output of each coding.
    ///   - memory: the budget for the decoders' memory.
    ///
    /// Throws ``ContentCodingError`` when a coding is unknown, or the body has too many codings.
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

    /// Decodes the next bytes and passes all decoded bytes to `output`. Throws ``ContentCodingError`` and ``TooLong``,
    /// and rethrows the error of `output`.
    func decode(_ bytes: UnsafeRawBufferPointer, into output: (UnsafeRawBufferPointer) throws -> Void) throws {
        // Without this limit, bytes that decode to an empty body, such as an endless series of empty gzip members,
        // could continue for ever.
        codedCount += Int64(bytes.count)
        guard codedCount <= sizeLimit else { throw TooLong() }
        try decode(bytes, from: 0, into: output)
        try countMemory()
    }

    /// Ends the body. Throws ``ContentCodingError`` when a coded stream is incomplete.
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
            // The limits also apply between two codings, because a bomb that expands there causes endless work, perhaps
            // without a decoded byte.
            steps[index].byteCount += Int64(piece.count)
            guard steps[index].byteCount <= sizeLimit else { throw TooLong() }
            guard steps[index].byteCount <= max(Self.ratioFloor, codedCount * Self.ratioLimit) else {
                throw ContentCodingError.bomb(limit: Self.ratioLimit)
            }
            try decode(piece, from: index + 1, into: output)
        }
    }
}
