import Foundation

/// System calls on names, with this module's errors. All paths are absolute.
enum FileSystem {
    /// What is there, without following a symbolic link; `nil` when nothing is (or it cannot be looked at).
    static func status(of path: String) -> FileStatus? {
        var raw = stat()
        return lstat(path, &raw) == 0 ? FileStatus(raw) : nil
    }

    /// Renames, replacing what is at `target`. 0, or the error number.
    static func rename(_ source: String, to target: String) -> Int32 {
        Foundation.rename(source, target) == 0 ? 0 : errno
    }

    /// Makes `target` a second name of `source`. 0, or the error number.
    static func link(_ source: String, to target: String) -> Int32 {
        Foundation.link(source, target) == 0 ? 0 : errno
    }

    /// Removes a name; one that is not there is as good. 0, or the error number.
    @discardableResult
    static func unlink(_ path: String) -> Int32 {
        Foundation.unlink(path) == 0 || errno == ENOENT ? 0 : errno
    }

    /// Removes whatever has that name; a directory with all that is in it. A symbolic link goes, not what it leads to.
    ///
    /// - Parameter mayGoOn: asked before each file and directory; when not, the rest stays.
    /// - Returns: whether it was let go on to the end; what cannot be removed is passed over.
    @discardableResult
    static func remove(_ path: String, while mayGoOn: () -> Bool = { true }) -> Bool {
        guard mayGoOn() else { return false }
        guard unlink(path) == EISDIR else { return true }
        // Names that are not UTF-8, which we make none of, are left to the last line.
        for name in (try? names(in: path)) ?? [] {
            guard remove("\(path)/\(name)", while: mayGoOn) else { return false }
        }
        if !removeDirectory(path) { try? FileManager.default.removeItem(atPath: path) }
        return true
    }

    /// Whether a file in that directory can grow, as far as the disk and quotas go: `false` only when one of them is
    /// full, not when the disk cannot be written for another reason.
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

    /// The file by which ``hasRoom(in:)`` finds out. Should the process be killed meanwhile, the next start removes it,
    /// as it does every `.part`.
    static func roomProbe(in directory: String) -> String { directory + "/room.part" }

    /// How many bytes the volume of `path` has left for us; 0 when it cannot be asked.
    static func freeBytes(at path: String) -> Int64 { space(at: path)?.free ?? 0 }

    /// How many bytes the volume of `path` has, and has left for us; `nil` when it cannot be asked.
    static func space(at path: String) -> (size: Int64, free: Int64)? {
        var volume = statvfs()
        guard statvfs(path, &volume) == 0 else { return nil }
        let blockSize = Int64(volume.f_frsize)
        return (Int64(volume.f_blocks) * blockSize, Int64(volume.f_bavail) * blockSize)
    }

    /// Removes a directory if it is empty; whether it is gone. One that is not there is as good.
    @discardableResult
    static func removeDirectory(_ path: String) -> Bool {
        rmdir(path) == 0 || errno == ENOENT
    }

    /// Creates one directory, mode 0700. 0, or the error number.
    static func makeDirectory(_ path: String) -> Int32 {
        mkdir(path, 0o700) == 0 ? 0 : errno
    }

    /// Creates a directory and those above it that are missing.
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

    /// The names in a directory, but for `.` and `..`, in no order; none when it is missing. Names that are not UTF-8
    /// are left out: none of ours is.
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
