import Foundation

/// System calls on paths, with this module's errors. All paths are absolute.
enum FileSystem {
    /// Returns the status of a path, without following a symbolic link; `nil` when the path does not exist or cannot be
    /// examined.
    static func status(of path: String) -> FileStatus? {
        var raw = stat()
        return lstat(path, &raw) == 0 ? FileStatus(raw) : nil
    }

    /// Renames `source`, replacing a file at `target`. Returns 0, or the error number.
    static func rename(_ source: String, to target: String) -> Int32 {
        Foundation.rename(source, target) == 0 ? 0 : errno
    }

    /// Makes `target` a second name of `source`. Returns 0, or the error number.
    static func link(_ source: String, to target: String) -> Int32 {
        Foundation.link(source, target) == 0 ? 0 : errno
    }

    /// Removes a name. Returns 0, also when the name does not exist, or the error number.
    @discardableResult
    static func unlink(_ path: String) -> Int32 {
        Foundation.unlink(path) == 0 || errno == ENOENT ? 0 : errno
    }

    /// Removes a file, or a directory with all its content. For a symbolic link, removes the link and not its target.
    /// Skips files and directories that cannot be removed.
    ///
    /// - Parameter mayGoOn: called before each file and directory; when it returns `false`, the rest stays.
    /// - Returns: `false` when `mayGoOn` stopped the removal.
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

    /// Whether a file in `directory` can grow. Returns `false` only when the disk or a quota is full, not when the disk
    /// cannot be written for another reason.
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

    /// The path of the file with which ``hasRoom(in:)`` probes the disk. If the process is killed during the probe, the
    /// next start removes the file, as it removes every `.part`.
    static func roomProbe(in directory: String) -> String { directory + "/room.part" }

    /// The number of bytes on the volume of `path` that this process may still use; 0 when the volume cannot be
    /// queried.
    static func freeBytes(at path: String) -> Int64 { space(at: path)?.free ?? 0 }

    /// The size of the volume of `path`, and the bytes on it that this process may still use; `nil` when the volume
    /// cannot be queried.
    static func space(at path: String) -> (size: Int64, free: Int64)? {
        var volume = statvfs()
        guard statvfs(path, &volume) == 0 else { return nil }
        let blockSize = Int64(volume.f_frsize)
        return (Int64(volume.f_blocks) * blockSize, Int64(volume.f_bavail) * blockSize)
    }

    /// Removes a directory if it is empty. Returns whether the directory is gone; `true` also when it did not exist.
    @discardableResult
    static func removeDirectory(_ path: String) -> Bool {
        rmdir(path) == 0 || errno == ENOENT
    }

    /// Creates a directory with mode 0700. Returns 0, or the error number.
    static func makeDirectory(_ path: String) -> Int32 {
        mkdir(path, 0o700) == 0 ? 0 : errno
    }

    /// Creates a directory and its missing parents.
    static func makeDirectories(_ path: String) throws(DiskCacheError) {
        let code = makeDirectory(path)
        if code == 0 { return }
        if code == EEXIST {
            var raw = stat()
            if stat(path, &raw) == 0, FileStatus(raw).isDirectory { return }
            throw .system("mkdir", path, ENOTDIR)
        }
        guard code == ENOENT, let slash = path.lastSlash, slash != path.startIndex else {
            throw .system("mkdir", path, code)
        }
        try makeDirectories(String(path[..<slash]))
        let again = makeDirectory(path)
        if again != 0, again != EEXIST { throw .system("mkdir", path, again) }
    }

    /// Returns the names in a directory, without `.` and `..`, in no particular order; none when the directory is
    /// missing. Names that are not UTF-8 are left out, because Larder creates no such names.
    static func names(in path: String) throws(DiskCacheError) -> [String] {
        guard let directory = opendir(path) else {
            if errno == ENOENT || errno == ENOTDIR { return [] }
            throw .system("opendir", path, errno)
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let item = readdir(directory) {
            let capacity = MemoryLayout.size(ofValue: item.pointee.d_name)
            let name = withUnsafePointer(to: &item.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: capacity) { String(validatingCString: $0) }
            }
            if let name, name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
