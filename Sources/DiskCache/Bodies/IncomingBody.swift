import Crypto
import Foundation
import Primitives

/// A body while it is being received: in memory up to a limit, then in `incoming/<n>.part`; its digest and whether it
/// is JSON are worked out while it passes by.
///
/// `@unchecked Sendable` because it has one owner at a time: ``Reservation`` hands it out under its lock, to one
/// thread, and nobody else touches it until it is handed back.
final class IncomingBody: @unchecked Sendable {
    private let bodies: BodyStore
    private let partPath: String
    private let memoryLimit: Int64
    /// The bytes, for those who read along.
    let growing: GrowingBody
    private var hasher = SHA256()
    private var validator = JSONValidator()

    /// A body that becomes a file once it is longer than `memoryLimit`; negative: at its first byte, or when it is
    /// sealed.
    init(in bodies: BodyStore, memoryLimit: Int64) {
        self.bodies = bodies
        partPath = bodies.newPartPath()
        growing = GrowingBody(buffers: bodies.writeBuffers)
        self.memoryLimit = memoryLimit
    }

    /// How many bytes have come.
    var length: Int64 { growing.length }

    /// Whether it is in its file by now.
    var isFile: Bool { growing.file != nil }

    /// Says that the body will have that many bytes, so that one which will not stay in memory never enters it.
    func expect(length: Int64) throws(DiskCacheError) {
        if length > memoryLimit, !isFile { try spill() }
    }

    /// Takes the next bytes.
    func append(_ bytes: UnsafeRawBufferPointer) throws(DiskCacheError) {
        if bytes.isEmpty { return }
        if !isFile, length + Int64(bytes.count) > memoryLimit { try spill() }
        try growing.append(bytes)
        hasher.update(bufferPointer: bytes)
        if !validator.isFailed { validator.feed(bytes) }
    }

    /// The body, complete.
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
            content: content, length: length, digest: hasher.finalize().bytes, isJSON: validator.finish())
    }

    /// Whether what came may be stored as an entry of that kind: what a caller stores must be something.
    func check(as kind: Entry.Kind) throws(DiskCacheError) {
        guard kind == .json || kind == .data else { return }
        if length == 0 { throw .emptyBody }
        guard kind == .json else { return }
        guard validator.finish() else { throw validator.encodingFault.map { .notUTF8($0) } ?? .invalidJSON }
        if validator.isEmpty { throw .emptyJSON }
    }

    /// Removes the body's file. Who reads along keeps what has come.
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

/// A body that was received whole and is not published yet.
struct SealedBody: Sendable {
    enum Content: Sendable {
        /// Short enough for a slot of the slab.
        case bytes(SharedBytes)
        /// In its file in `incoming/`.
        case file(BodyFile, part: String)
    }

    var content: Content
    var length: Int64
    /// SHA-256, 32 bytes.
    var digest: [UInt8]
    var isJSON: Bool

    /// The body for whoever waited for it.
    var stored: StoredBody {
        switch content {
        case .bytes(let bytes): .bytes(bytes)
        case .file(let file, _): .file(file)
        }
    }

    /// How many bytes of the body go into the index.
    var indexBytes: Int64 {
        if case .bytes = content { length } else { 0 }
    }

    /// Removes the unpublished file, if there is one. An open body stays readable.
    func removePart() {
        if case .file(_, let part) = content { FileSystem.unlink(part) }
    }
}
