import Primitives

/// A body that is being received, for those who read along: what has come so far can be read, from any thread, as often
/// as one likes.
///
/// It stays readable as long as somebody holds it, whether the body is published, abandoned or removed meanwhile.
///
/// Invariant: whoever receives appends to the content first and moves ``length`` on after it, under one lock; so what
/// lies before `length` never changes.
public final class GrowingBody: Sendable {
    private enum Content {
        case memory([UInt8])
        case file(FileDescriptor, path: String)
    }

    private struct State {
        var content = Content.memory([])
        var length: Int64 = 0
    }

    private let state = Locked(State())

    init() {}

    /// How many bytes have come.
    public var length: Int64 { state.withLock { $0.length } }

    /// The bytes from `offset` on: at most `count`, fewer at the end of what has come, none behind it.
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
                return .bytes(SharedBytes(buffer[Int(offset)..<Int(offset) + count]))
            case .file(let file, let path):
                return .file(file, path: path, count: count)
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

    /// Takes the next bytes. Throws what writing to the file threw; then they have not come.
    func append(_ bytes: UnsafeRawBufferPointer) throws(DiskCacheError) {
        if let file {
            // Not under the lock: readers need not wait for the disk, and there is one writer at a time.
            try file.write(bytes, path: path)
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

    /// Moves what has come to a file, where all that follows will go.
    func move(to file: FileDescriptor, path: String) throws(DiskCacheError) {
        if let bytes {
            try bytes.withUnsafeBytes { bytes throws(DiskCacheError) in try file.write(bytes, path: path) }
        }
        state.withLock { $0.content = .file(file, path: path) }
    }

    private var path: String {
        state.withLock { state in
            if case .file(_, let path) = state.content { path } else { "" }
        }
    }
}
