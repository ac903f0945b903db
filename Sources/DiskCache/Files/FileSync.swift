import Foundation

/// How the disk is made to keep what was written, for ``Durability/power``. Tests watch it, and have it fail.
struct FileSync: Sendable {
    /// Has the disk keep a body. 0, or the error number.
    var file: @Sendable (BodyFile) -> Int32
    /// Has it keep the names in the directory at a path. 0, or the error number.
    var directory: @Sendable (String) -> Int32

    /// The system calls.
    static let system = FileSync(
        file: { body in
            retryingInterrupts { fsync(body.descriptor) } == 0 ? 0 : errno
        },
        directory: { path in
            let file: FileDescriptor
            do throws(DiskCacheError) {
                file = try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY)
            } catch {
                if case .fileSystem(_, _, let code) = error { return code }
                return ENOSPC
            }
            if retryingInterrupts({ fsync(file.number) }) == 0 { return 0 }
            // A file system that has nothing to do for a directory.
            return errno == EINVAL ? 0 : errno
        })

    /// Has the disk keep the names of a directory and of all above it: it, or some of them, may be new.
    func path(to directory: String) throws(DiskCacheError) {
        var path = directory[...]
        while true {
            let name = path.isEmpty ? "/" : String(path)
            let code = self.directory(name)
            // What may not be read or written was not made here.
            if code != 0, code != EACCES, code != EROFS { throw .system("fsync", name, code) }
            guard let slash = path.lastSlash else { return }
            path = path[..<slash]
        }
    }
}
