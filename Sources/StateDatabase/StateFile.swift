import Foundation

/// The place of a database: a directory with mode 0700, and a file with mode 0600 in it.
enum StateFile {
    /// Creates the directory and an empty file unless they exist, and returns the path of the file and whether the file
    /// is new. An existing directory keeps its mode, because other programs may use it; the file itself is for its
    /// owner only.
    ///
    /// The file exists before SQLite opens it, because SQLite would create it with the process's umask. SQLite gives
    /// its log the mode of the file.
    static func prepare(_ name: String, in directory: String) throws(StateError) -> (path: String, isNew: Bool) {
        try makeDirectory(directory)
        let path = directory + "/" + name
        // SQLite deletes the log of an empty file, and with it the changes that are only in the log.
        if size(path) == 0, size(path + "-wal") > 0 {
            throw .damaged(path: path, reason: "the file is missing or empty, but its log is not")
        }
        // An existing file is never opened here, because closing any descriptor of a file drops the locks that this
        // process has on it (fcntl), also those of another database object.
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            close(descriptor)
            try sync(directory)
        } else if errno != EEXIST {
            throw failure("open", path)
        }
        for file in [path, path + "-wal"] where chmod(file, 0o600) != 0 && errno != ENOENT {
            throw failure("chmod", file)
        }
        return (path, descriptor >= 0)
    }

    /// Whether there is the file, or its log alone, which is the sign of a loss. An empty file without a log counts as
    /// missing: it was made on a full disk, and no row has been in it. A place that cannot be reached counts as a file,
    /// so that its opening tells the reason, and an unreadable directory does not count as an empty one.
    static func exists(_ name: String, in directory: String) -> Bool {
        [name, name + "-wal"].contains { file in
            var status = stat()
            guard lstat(directory + "/" + file, &status) == 0 else { return errno != ENOENT }
            return status.st_size > 0
        }
    }

    /// Removes a new file without content after a failure to fill it, so that later calls find no database.
    static func remove(_ path: String) {
        for suffix in ["", "-wal", "-journal"] { unlink(path + suffix) }
    }

    /// The device and the inode of a file.
    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    /// `nil` if there is no file.
    static func identity(_ path: String) -> Identity? {
        var status = stat()
        return lstat(path, &status) == 0 ? Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) : nil
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

    private static func size(_ path: String) -> Int {
        var status = stat()
        return lstat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    private static func failure(_ operation: String, _ path: String) -> StateError {
        errno == ENOSPC ? .noSpace : .fileSystem(operation: operation, path: path, errno: errno)
    }
}
