import Foundation

/// System calls on absolute paths. A result of type `Int32` is 0, or the error number.
enum FileSystem {
    /// Does not follow a symbolic link. `nil` when the path does not exist or cannot be examined.
    static func status(of path: String) -> FileStatus? {
        var raw = stat()
        return lstat(path, &raw) == 0 ? FileStatus(raw) : nil
    }

    static func rename(_ source: String, to target: String) -> Int32 {
        Foundation.rename(source, target) == 0 ? 0 : errno
    }

    static func link(_ source: String, to target: String) -> Int32 {
        Foundation.link(source, target) == 0 ? 0 : errno
    }

    /// Returns 0 also when the name does not exist.
    @discardableResult
    static func unlink(_ path: String) -> Int32 {
        Foundation.unlink(path) == 0 || errno == ENOENT ? 0 : errno
    }

    /// Removes a file, or a directory with its removable content. Stops, with `false`, when `mayGoOn()` is false.
    @discardableResult
    static func remove(_ path: String, while mayGoOn: () -> Bool = { true }) -> Bool {
        guard mayGoOn() else { return false }
        guard unlink(path) == EISDIR else { return true }
        // Larder creates no names that are not UTF-8. If such names exist, `removeItem` below removes them.
        for name in (try? names(in: path)) ?? [] {
            guard remove("\(path)/\(name)", while: mayGoOn) else { return false }
        }
        if !removeDirectory(path) { try? FileManager.default.removeItem(atPath: path) }
        return true
    }

    /// Whether a file in `directory` can grow: `false` only when the disk or a quota is full.
    static func hasRoom(in directory: String) -> Bool {
        let path = roomProbe(in: directory)
        let file: FileDescriptor
        do {
            file = try FileDescriptor(opening: path, O_RDWR | O_CREAT | O_TRUNC, mode: 0o600)
        } catch {
            return error != .noSpace
        }
        defer { unlink(path) }
        let code = posix_fallocate(file.number, 0, 64 << 10)
        return code != ENOSPC && code != EDQUOT
    }

    /// The path of the file of ``hasRoom(in:)``. After a kill, the next start removes it, as it removes every `.part`.
    static func roomProbe(in directory: String) -> String { directory + "/room.part" }

    /// The bytes on the volume that this process may still use; 0 when the volume cannot be queried.
    static func freeBytes(at path: String) -> Int64 { space(at: path)?.free ?? 0 }

    /// `nil` when the volume cannot be queried. `free` counts the bytes that this process may still use.
    static func space(at path: String) -> (size: Int64, free: Int64)? {
        var volume = statvfs()
        guard statvfs(path, &volume) == 0 else { return nil }
        let blockSize = Int64(volume.f_frsize)
        return (Int64(volume.f_blocks) * blockSize, Int64(volume.f_bavail) * blockSize)
    }

    /// Removes an empty directory. Returns `true` also when it did not exist.
    @discardableResult
    static func removeDirectory(_ path: String) -> Bool { rmdir(path) == 0 || errno == ENOENT }

    static func makeDirectory(_ path: String) -> Int32 { mkdir(path, 0o700) == 0 ? 0 : errno }

    static func makeDirectories(_ path: String) throws(DiskCacheError) {
        var code = makeDirectory(path)
        if code == EEXIST {
            var raw = stat()
            if stat(path, &raw) == 0, FileStatus(raw).isDirectory { return }
            throw .system("mkdir", path, ENOTDIR)
        }
        if code == ENOENT, let slash = path.lastSlash, slash != path.startIndex {
            try makeDirectories(String(path[..<slash]))
            code = makeDirectory(path)
            if code == EEXIST { return }
        }
        if code != 0 { throw .system("mkdir", path, code) }
    }

    /// Returns a directory's names that are valid UTF-8, unordered, without `.` and `..`; none when it is missing.
    static func names(in path: String) throws(DiskCacheError) -> [String] {
        guard let directory = opendir(path) else {
            if errno == ENOENT || errno == ENOTDIR { return [] }
            throw .system("opendir", path, errno)
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let item = readdir(directory) {
            let name = withUnsafeBytes(of: &item.pointee.d_name) { name in
                String(validating: name.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let name, name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}

/// The system calls that make data durable, for ``Durability/power``. They return 0 or the error number.
package struct FileSync: Sendable {
    var file: @Sendable (BodyFile) -> Int32
    var directory: @Sendable (String) -> Int32

    package static let system = FileSync(
        file: { body in retryingInterrupts { fsync(body.descriptor) } == 0 ? 0 : errno },
        directory: { path in
            let number = retryingInterrupts { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            if number < 0 { return errno }
            let file = FileDescriptor(owning: number)
            // Some file systems have no sync for directories, and need none.
            return retryingInterrupts { fsync(file.number) } == 0 || errno == EINVAL ? 0 : errno
        })

    /// Syncs the directory and all directories above it, because any of them may be new.
    func path(to directory: String) throws(DiskCacheError) {
        var path = directory[...]
        while true {
            let name = path.isEmpty ? "/" : String(path)
            let code = self.directory(name)
            // EACCES, EROFS: this process may not sync the directory, so another program has probably made its content.
            if code != 0, code != EACCES, code != EROFS { throw .system("fsync", name, code) }
            guard let slash = path.lastSlash else { return }
            path = path[..<slash]
        }
    }
}

extension Substring {
    /// Searches the bytes, because a slash with a combining accent behind it is another `Character`.
    var lastSlash: Index? { utf8.lastIndex(of: UInt8(ascii: "/")) }
}

extension String {
    var lastSlash: Index? { self[...].lastSlash }
}
