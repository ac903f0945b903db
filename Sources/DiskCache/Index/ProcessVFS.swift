import GRDBSQLite

/// SQLite's way to the file system for a database that one process has to itself, as the lock of a cache's directory
/// says that it has: `unix-excl`, which is part of SQLite on every Unix.
///
/// SQLite holds one lock on the file for as long as it is open, instead of asking the kernel for two at each look-up,
/// and keeps the index of its log in memory of its own. Another process, `sqlite3` among them, finds the file locked.
///
/// See <https://sqlite.org/vfs.html#standard_unix_vfses>.
enum ProcessVFS {
    private static let name = "unix-excl"

    /// Makes it the default of all connections that are opened from now on.
    static func use() {
        _ = registration
    }

    private static let registration: Void = {
        // Without it (no Unix lacks it) the default stays what it was: slower, and as right.
        guard let vfs = sqlite3_vfs_find(name) else { return }
        sqlite3_vfs_register(vfs, 1)
    }()
}
