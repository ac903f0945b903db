import Foundation

/// The system calls that make written data durable, for ``Durability/power``; they return 0 or the error number. Tests
/// replace them to observe calls and to simulate failures.
package struct FileSync: Sendable {
    var file: @Sendable (BodyFile) -> Int32
    var directory: @Sendable (String) -> Int32

    package static let system = FileSync(
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
            // Some file systems have no sync for directories, and need none.
            return errno == EINVAL ? 0 : errno
        })

    /// Syncs the directory and all directories above it, because any of them may be new.
    func path(to directory: String) throws(DiskCacheError) {
        var path = directory[...]
        while true {
            let name = path.isEmpty ? "/" : String(path)
            let code = self.directory(name)
            // Ignored for directories that this process may not read or write, because it did not create their content.
            if code != 0, code != EACCES, code != EROFS { throw .system("fsync", name, code) }
            guard let slash = path.lastSlash else { return }
            path = path[..<slash]
        }
    }
}
