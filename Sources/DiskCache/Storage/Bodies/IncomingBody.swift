import Crypto
import Primitives

/// The receiving side of a body: in memory up to a limit, then in `incoming/<n>.part`. Computes the digest and checks
/// for JSON as bytes arrive. `@unchecked Sendable` because ``Reservation`` lends the body to one thread at a time,
/// under a lock, and no other thread uses the body before that thread returns it.
final class IncomingBody: @unchecked Sendable {
    private let bodies: BodyStore
    private let memoryLimit: Int64
    let growing: GrowingBody
    private var hasher = SHA256()
    private var validator = JSONValidator()

    /// A body longer than `memoryLimit` moves to a file. A negative limit moves every body, even an empty one.
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
    /// If the body is a file, it is still at its path in `incoming/`.
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

/// A body that is being received. Any thread can read the received bytes, repeatedly, while a reference exists, even
/// when the body is published, abandoned or removed. Invariants: a single thread receives. It first adds bytes to the
/// content and then, under the lock, increases ``length``, so bytes before `length` never change. Of a body in a file,
/// the bytes before `written` are in the file, the bytes from there to `length` in `buffer`.
package final class GrowingBody: Sendable {
    private struct State {
        /// Empty for a body in a file.
        var memory: [UInt8] = []
        /// `nil` while the body is in memory.
        var file: FileDescriptor?
        var length: Int64 = 0
        var written: Int64 = 0
        var buffer: WriteBuffer?
        var takesBuffer = false
    }

    private let state = Locked(State())
    private let buffers: WriteBuffers
    /// The path of the file to which the body may move.
    let path: String

    init(buffers: WriteBuffers, path: String) {
        self.buffers = buffers
        self.path = path
    }

    package var length: Int64 { state.withLock { $0.length } }

    /// Returns at most `count` bytes: at least one if the body has bytes at `offset`, and none at or beyond ``length``.
    package func read(at offset: Int64, upTo count: Int) throws(DiskCacheError) -> SharedBytes {
        let (bytes, file, count) = state.withLock { state -> (SharedBytes?, FileDescriptor?, Int) in
            let count = Int(max(0, min(Int64(count), state.length - offset)))
            func copied(_ bytes: UnsafeRawBufferPointer, from start: Int64) -> (SharedBytes?, FileDescriptor?, Int) {
                (SharedBytes(copying: .init(rebasing: bytes[Int(start)..<Int(start) + count])), nil, count)
            }
            guard let file = state.file else { return state.memory.withUnsafeBytes { copied($0, from: offset) } }
            guard offset >= state.written, let buffer = state.buffer else {
                return (nil, file, min(count, Int(max(0, state.written - offset))))
            }
            return copied(buffer.bytes, from: offset - state.written)
        }
        if let bytes { return bytes }
        return try file?.read(count, at: offset, path: path) ?? SharedBytes([])
    }

    /// `nil` while the body is in memory.
    var file: FileDescriptor? { state.withLock { $0.file } }

    /// Empty for a body in a file.
    var bytes: SharedBytes { state.withLock { SharedBytes($0.memory) } }

    /// After a write error, the body may hold a part of `bytes`, and the caller must not append again.
    func append(_ bytes: UnsafeRawBufferPointer) throws(DiskCacheError) {
        if let file { return try append(bytes, to: file) }
        state.withLock { state in
            state.memory.append(contentsOf: bytes)
            state.length += Int64(bytes.count)
        }
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to file: FileDescriptor) throws(DiskCacheError) {
        guard let buffer = buffer() else {
            // Outside the lock, so that readers do not wait for the disk; safe because a single thread appends.
            try file.write(bytes, path: path)
            return state.withLock { state in
                state.length += Int64(bytes.count)
                state.written = state.length
            }
        }
        var rest = bytes
        while !rest.isEmpty {
            if buffer.isFull { try flush(buffer, to: file) }
            let taken = state.withLock { state in
                let taken = buffer.fill(rest)
                state.length += Int64(taken)
                return taken
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
        }
    }

    /// `nil`: the next bytes go straight to the file. The first call after ``move(to:)`` takes a buffer if the body has
    /// none. (``move(to:)`` takes no buffer for an empty body, because the first bytes may be slow to arrive.)
    private func buffer() -> WriteBuffer? {
        let (held, takesOne) = state.withLock { state in
            defer { state.takesBuffer = false }
            return (state.buffer, state.takesBuffer)
        }
        guard takesOne, let new = buffers.take() else { return held }
        state.withLock { $0.buffer = new }
        return new
    }

    private func flush(_ buffer: WriteBuffer, to file: FileDescriptor) throws(DiskCacheError) {
        try file.write(buffer.bytes, path: path)
        state.withLock { state in
            state.written += Int64(buffer.count)
            buffer.empty()
        }
    }

    /// Moves a body that is in memory. Later bytes go to the file, too.
    func move(to file: FileDescriptor) throws(DiskCacheError) {
        let bytes = bytes
        let buffer = (1..<WriteBuffers.capacity).contains(bytes.count) ? buffers.take() : nil
        try bytes.withUnsafeBytes { bytes throws(DiskCacheError) in
            if let buffer { _ = buffer.fill(bytes) } else { try file.write(bytes, path: path) }
        }
        state.withLock { state in
            (state.memory, state.file) = ([], file)
            state.written = buffer == nil ? state.length : 0
            (state.buffer, state.takesBuffer) = (buffer, buffer == nil)
        }
    }

    /// Writes buffered bytes to the file, if the body has one. The caller must not append afterwards.
    func seal() throws(DiskCacheError) {
        let buffer = state.withLock { $0.buffer }
        guard let buffer, let file else { return }
        try flush(buffer, to: file)
        state.withLock { $0.buffer = nil }
    }
}
