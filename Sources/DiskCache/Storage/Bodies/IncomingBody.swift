import Crypto
import Primitives

/// The receiving side of a body: in memory up to a limit, then in `incoming/<n>.part`. Computes the digest and checks
/// for JSON as bytes arrive. `@unchecked Sendable` because ``Reservation`` hands it to one thread at a time under its
/// lock, and no other thread touches it until it is handed back.
final class IncomingBody: @unchecked Sendable {
    private let bodies: BodyStore
    private let memoryLimit: Int64
    let growing: GrowingBody
    private var hasher = SHA256()
    private var validator = JSONValidator()

    /// A body longer than `memoryLimit` moves to a file; with a negative limit, at its first byte or in ``seal()``.
    init(in bodies: BodyStore, memoryLimit: Int64) {
        self.bodies = bodies
        growing = GrowingBody(buffers: bodies.writeBuffers, path: bodies.newPartPath())
        self.memoryLimit = memoryLimit
    }

    var length: Int64 { growing.length }
    var isFile: Bool { growing.file != nil }

    /// A body with an announced length that is too long for memory goes to its file from the first byte.
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
        let file = growing.file.map { StoredBody.file(BodyFile($0, length: length, path: growing.path)) }
        return SealedBody(
            stored: file ?? .bytes(growing.bytes), digest: hasher.finalize().bytes,
            isJSON: validator.finish(), isASCIIJSON: validator.finish() && validator.isASCII)
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
        if isFile { FileSystem.unlink(growing.path) }
    }

    private func spill() throws(DiskCacheError) {
        let file = try bodies.createPart(growing.path)
        do {
            try growing.move(to: file)
        } catch {
            FileSystem.unlink(growing.path)
            throw error
        }
    }
}

struct SealedBody: Sendable {
    /// A file is still at its path in `incoming/`.
    var stored: StoredBody
    /// SHA-256, 32 bytes.
    var digest: [UInt8]
    var isJSON: Bool
    /// JSON without a byte above 0x7F.
    var isASCIIJSON: Bool

    var length: Int64 { stored.length }
    var isFile: Bool { if case .file = stored { true } else { false } }
    var slabBytes: Int64 { isFile ? 0 : length }

    /// Removes the unpublished file, if there is one. The open body stays readable.
    func removePart() {
        if case .file(let file) = stored { FileSystem.unlink(file.path) }
    }
}
