import Primitives

/// A body that is being received, for those who read along: what has come so far can be read, from any thread, as often
/// as one likes.
///
/// It stays readable as long as somebody holds it, whether the body is published, abandoned or removed meanwhile.
///
/// Invariants: whoever receives appends to the content first and moves ``length`` on after it, under one lock; so what
/// lies before `length` never changes. Of a body in a file, what lies before `written` is there, and the rest up to
/// `length` in `buffer`.
public final class GrowingBody: Sendable {
    private enum Content {
        case memory([UInt8])
        case file(FileDescriptor, path: String)
    }

    private struct State {
        var content = Content.memory([])
        var length: Int64 = 0
        var written: Int64 = 0
        var buffer: WriteBuffer?
        /// Whether there may be a buffer for what comes.
        var takesBuffer = false
    }

    private let state = Locked(State())
    private let buffers: WriteBuffers

    /// An empty body, in memory.
    init(buffers: WriteBuffers) {
        self.buffers = buffers
    }

    /// How many bytes have come.
    public var length: Int64 { state.withLock { $0.length } }

    /// The bytes from `offset` on: at most `count`, at least one of those that have come, none behind them.
    ///
    /// Throws ``DiskCacheError/fileSystem(operation:path:errno:)``.
    public func read(at offset: Int64, upTo count: Int) throws(DiskCacheError) -> SharedBytes {
        enum Source {
            case bytes(SharedBytes)
            case file(FileDescriptor, path: String, count: Int)
        }
        let source: Source = state.withLock { state in
            let count = Int(max(0, min(Int64(count), state.length - offset)))
            switch state.content {
            case .memory(let buffer):
                return buffer.withUnsafeBytes { bytes in
                    let part = UnsafeRawBufferPointer(rebasing: bytes[Int(offset)..<Int(offset) + count])
                    return .bytes(SharedBytes(copying: part))
                }
            case .file(let file, let path):
                guard offset >= state.written, let buffer = state.buffer else {
                    return .file(file, path: path, count: min(count, Int(max(0, state.written - offset))))
                }
                let start = Int(offset - state.written)
                let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes[start..<start + count])
                return .bytes(SharedBytes(copying: bytes))
            }
        }
        switch source {
        case .bytes(let bytes): return bytes
        case .file(let file, let path, let count):
            return try SharedBytes(count: count) { target throws(DiskCacheError) in
                guard try file.read(into: target, at: offset, path: path) == count else {
                    throw .fileSystem(operation: "read", path: path, errno: 5)
                }
            }
        }
    }

    // MARK: - For the one who receives

    /// Whether it is in its file by now.
    var file: FileDescriptor? {
        state.withLock { state in
            if case .file(let file, _) = state.content { file } else { nil }
        }
    }

    /// All of a body that is in memory; `nil` of one in a file.
    var bytes: SharedBytes? {
        state.withLock { state in
            guard case .memory(let buffer) = state.content else { return nil }
            return buffer.withUnsafeBytes { SharedBytes(copying: $0) }
        }
    }

    /// Takes the next bytes. Throws what writing to the file threw; then only some of them may have come, and none may
    /// be appended any more.
    func append(_ bytes: UnsafeRawBufferPointer) throws(DiskCacheError) {
        if let file {
            return try append(bytes, to: file)
        } else {
            state.withLock { state in
                guard case .memory(var buffer) = state.content else { return }
                // Taken out of the state while it grows, so that it is not copied.
                state.content = .memory([])
                buffer.append(contentsOf: bytes)
                state.content = .memory(buffer)
            }
        }
        let count = Int64(bytes.count)
        state.withLock { $0.length += count }
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to file: FileDescriptor) throws(DiskCacheError) {
        guard let buffer = buffer() else {
            // Not under the lock: readers need not wait for the disk, and there is one writer at a time.
            try file.write(bytes, path: path)
            let count = Int64(bytes.count)
            return state.withLock { state in
                state.length += count
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

    /// Not before there is something to be put in: a body may be long in coming.
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

    /// Moves what has come to a file, where all that follows will go.
    func move(to file: FileDescriptor, path: String) throws(DiskCacheError) {
        let bytes = bytes
        let buffer = (1..<WriteBuffers.capacity).contains(bytes?.count ?? 0) ? buffers.take() : nil
        try bytes?.withUnsafeBytes { bytes throws(DiskCacheError) in
            if let buffer { _ = buffer.fill(bytes) } else { try file.write(bytes, path: path) }
        }
        state.withLock { state in
            state.content = .file(file, path: path)
            state.written = buffer == nil ? state.length : 0
            (state.buffer, state.takesBuffer) = (buffer, buffer == nil)
        }
    }

    /// Has all that has come be in the file, if there is one. Nothing may be appended after it.
    func seal() throws(DiskCacheError) {
        let buffer = state.withLock { $0.buffer }
        guard let buffer, let file else { return }
        try flush(buffer, to: file)
        state.withLock { $0.buffer = nil }
    }

    private var path: String {
        state.withLock { state in
            if case .file(_, let path) = state.content { path } else { "" }
        }
    }
}
