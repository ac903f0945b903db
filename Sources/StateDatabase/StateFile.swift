import Foundation

/// The place of a database: a directory with mode 0700, and a file with mode 0600 in it.
enum StateFile {
    /// Creates the directory and the file unless they exist, and returns the path of the file. An existing directory
    /// keeps its mode, because other programs may use it; the file itself is for its owner only. A symbolic link in
    /// place of the file is followed, and the path is that of its target.
    ///
    /// `fill` gets the path of an empty file and makes a database of it. The file gets its own name after that, so a
    /// file that is empty has lost its rows.
    ///
    /// - Throws: ``StateError/damaged(path:reason:)`` for an empty file, for a log without a file, and for a symbolic
    ///   link without a target, because the target may be on a disk that is not mounted; the errors of `fill`, as they
    ///   are.
    static func prepare(_ name: String, in directory: String, fill: (String) throws -> Void) throws -> String {
        try makeDirectory(directory)
        let path = try target(of: directory + "/" + name)
        let size = size(path)
        // SQLite deletes the log of an empty file, and with it the changes that are only in the log.
        guard size != 0 else { throw StateError.damaged(path: path, reason: "the file is empty") }
        if size == nil {
            guard self.size(path + "-wal") ?? 0 == 0 else {
                throw StateError.damaged(path: path, reason: "the file is missing, but its log is not")
            }
            try create(path, in: directory, fill)
        }
        for file in [path, path + "-wal"] where chmod(file, 0o600) != 0 && errno != ENOENT {
            throw failure("chmod", file)
        }
        return path
    }

    /// The new file exists before SQLite opens it, because SQLite would create it with the process's umask. SQLite
    /// gives its log the mode of the file.
    private static func create(_ path: String, in directory: String, _ fill: (String) throws -> Void) throws {
        let new = path + "-new"
        remove(new)
        defer { remove(new) }
        let descriptor = open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("open", new) }
        close(descriptor)
        try fill(new)
        // Another process may have made the file meanwhile. A link does not replace it, as a new name would. Some file
        // systems have no links.
        if link(new, path) != 0, errno != EEXIST {
            guard [EPERM, ENOTSUP, ENOSYS].contains(errno), rename(new, path) == 0 else { throw failure("link", path) }
        }
        try sync(directory)
    }

    /// Whether there is the file, or its log alone, which is the sign of a loss. A place that cannot be reached counts
    /// as a file, so that its opening tells the reason, and an unreadable directory does not count as an empty one. An
    /// empty file counts, too, for the same reason.
    static func exists(_ name: String, in directory: String) -> Bool {
        for (file, counts) in [(name, true), (name + "-wal", false)] {
            var status = stat()
            guard lstat(directory + "/" + file, &status) == 0 else {
                if errno == ENOENT { continue }
                return true
            }
            // The log of a file that was created but never used is empty.
            if counts || status.st_size > 0 { return true }
        }
        return false
    }

    /// Removes a file, its log and its journal, if they exist.
    private static func remove(_ path: String) {
        for suffix in ["", "-wal", "-journal"] { unlink(path + suffix) }
    }

    /// The device and the inode of a file.
    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    /// The identity of a symbolic link is that of its target. `nil` if there is no file.
    static func identity(_ path: String) -> Identity? {
        var status = stat()
        return stat(path, &status) == 0 ? Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) : nil
    }

    /// Follows a symbolic link to its end, because SQLite keeps the log beside the target. Any other path, also of a
    /// missing file, is returned as it is.
    private static func target(of path: String) throws(StateError) -> String {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
        guard let target = realpath(path, nil) else {
            guard errno == ENOENT else { throw failure("realpath", path) }
            throw .damaged(path: path, reason: "the symbolic link leads to no file")
        }
        defer { free(target) }
        return String(cString: target)
    }

    private static func makeDirectory(_ path: String) throws(StateError) {
        guard mkdir(path, 0o700) != 0 else { return try sync(parent(of: path)) }
        switch errno {
        case EEXIST: return
        case ENOENT where path.count > 1:
            try makeDirectory(parent(of: path))
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("mkdir", path) }
            try sync(parent(of: path))
        default: throw failure("mkdir", path)
        }
    }

    private static func parent(of path: String) -> String {
        let parent = (path as NSString).deletingLastPathComponent
        return parent.isEmpty ? "." : parent
    }

    /// Makes the names in a directory durable. Without this, a power cut can take a file with durable content.
    private static func sync(_ directory: String) throws(StateError) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // Durability of names is up to the file system when the parent may not be read.
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure("fsync", directory) }
    }

    /// `nil` if there is no file.
    private static func size(_ path: String) -> Int? {
        var status = stat()
        return lstat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    private static func failure(_ operation: String, _ path: String) -> StateError {
        errno == ENOSPC ? .noSpace : .fileSystem(operation: operation, path: path, errno: errno)
    }
}
