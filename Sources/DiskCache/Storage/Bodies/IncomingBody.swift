import Crypto
import Primitives

/// The receiving side of a body: in memory up to a limit, then in `incoming/<n>.part`. Computes the digest, and checks
/// for JSON, while the bytes arrive.
///
/// `@unchecked Sendable` because it has one owner at a time: ``Reservation`` hands it to one thread under its lock, and
/// no other thread touches it until that thread hands it back.
final class IncomingBody: @unchecked Sendable {
    private let bodies: BodyStore
    private let partPath: String
    private let memoryLimit: Int64
    let growing: GrowingBody
    private var hasher = SHA256()
    private var validator = JSONValidator()

    /// A body longer than `memoryLimit` moves to a file; with a negative limit at its first byte, or in ``seal()``.
    init(in bodies: BodyStore, memoryLimit: Int64) {
        self.bodies = bodies
        partPath = bodies.newPartPath()
        growing = GrowingBody(buffers: bodies.writeBuffers)
        self.memoryLimit = memoryLimit
    }

    var length: Int64 { growing.length }
    var isFile: Bool { growing.file != nil }

    /// A body that is announced as too long for memory goes to its file from the first byte.
    func expect(length: Int64) throws(DiskCacheError) {
        if length > memoryLimit, !isFile { try spill() }
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(DiskCacheError) {
        if bytes.isEmpty { return }
        if !isFile, length + Int64(bytes.count) > memoryLimit { try spill() }
        try growing.append(bytes)
        hasher.update(bufferPointer: bytes)
        if !validator.isFailed { validator.feed(bytes) }
    }

    func seal() throws(DiskCacheError) -> SealedBody {
        if !isFile, length > memoryLimit { try spill() }
        try growing.seal()
        let content: SealedBody.Content =
            if let bytes = growing.bytes {
                .bytes(bytes)
            } else if let file = growing.file {
                .file(BodyFile(file, length: length, path: partPath), part: partPath)
            } else {
                preconditionFailure("a body is in memory or in a file")
            }
        return SealedBody(
            content: content, length: length, digest: hasher.finalize().bytes, isJSON: validator.finish(),
            isASCIIJSON: validator.finish() && validator.isASCII)
    }

    /// An entry that a caller stores must not be empty; an entry of kind `json` must be valid JSON in UTF-8.
    func check(as kind: Entry.Kind) throws(DiskCacheError) {
        guard kind == .json || kind == .data else { return }
        if length == 0 { throw .emptyBody }
        guard kind == .json else { return }
        guard validator.finish() else { throw validator.encodingFault.map { .notUTF8($0) } ?? .invalidJSON }
        if validator.isEmpty { throw .emptyJSON }
    }

    /// Removes the body's file. Readers that follow the body can still read the received bytes.
    func discard() {
        if isFile { FileSystem.unlink(partPath) }
    }

    private func spill() throws(DiskCacheError) {
        let file = try bodies.createPart(partPath)
        do {
            try growing.move(to: file, path: partPath)
        } catch {
            FileSystem.unlink(partPath)
            throw error
        }
    }
}

struct SealedBody: Sendable {
    enum Content: Sendable {
        case bytes(SharedBytes)
        case file(BodyFile, part: String)
    }

    var content: Content
    var length: Int64
    /// SHA-256, 32 bytes.
    var digest: [UInt8]
    var isJSON: Bool
    /// JSON without a byte above 0x7F.
    var isASCIIJSON: Bool

    var stored: StoredBody {
        switch content {
        case .bytes(let bytes): .bytes(bytes)
        case .file(let file, _): .file(file)
        }
    }

    var isFile: Bool {
        if case .file = content { true } else { false }
    }

    var slabBytes: Int64 { isFile ? 0 : length }

    /// Removes the unpublished file, if there is one. The open body stays readable.
    func removePart() {
        if case .file(_, let part) = content { FileSystem.unlink(part) }
    }
}
