import CSQLite
import GRDBSQLite
import Glibc
import Primitives

/// SQLite's way to the file system for a database that one process has to itself, as the lock of a cache's directory
/// says that it has: `unix-excl`, which is part of SQLite on every Unix, but that writes to the log are gathered.
///
/// SQLite holds one lock on the file for as long as it is open, instead of asking the kernel for two at each look-up,
/// and keeps the index of its log in memory of its own. Another process, `sqlite3` among them, finds the file locked.
///
/// A transaction goes to the log page by page, each after a head of 24 bytes. The kernel has as much work with such a
/// head as with a page; so all of them are written at once, at the latest with the last one of a commit, which says of
/// itself that it is (<https://sqlite.org/fileformat2.html#walformat>). What is not committed nobody else looks for.
///
/// And the disk begins with the log at once, which nobody waits for: else a checkpoint would, and all who store with
/// it.
///
/// A large commit and a checkpoint go from page to page for milliseconds, and offer their processor between two, where
/// the thread shares it.
///
/// See <https://sqlite.org/vfs.html#standard_unix_vfses>.
enum ProcessVFS {
    private static let standardName = "unix-excl"
    private static let name = "larder"

    /// Makes it the default of all connections that are opened from now on.
    static func use() {
        _ = registration
    }

    /// What stands behind the standard's own part of an open log.
    private struct Tail {
        /// Those of the standard VFS, with ours in the place of some.
        var methods: sqlite3_io_methods
        /// The standard's own.
        let standard: UnsafePointer<sqlite3_io_methods>
        /// The file's name, which SQLite keeps for as long as it is open.
        let name: UnsafePointer<CChar>
        var writes = GatheredWrites()
        /// How many bytes were written since the disk was told to begin.
        var waitingBytes = 0
        /// Ours, to tell it by; -1 until then. SQLite has no lock on a log that would go with it.
        var descriptor: Int32 = -1
    }

    /// The disk is told of so many bytes at a time.
    private static let writeBackBytes = 1 << 20

    /// SQLite never frees it; `nil`: then the default stays what it was, slower, and as right. No Unix lacks it.
    ///
    /// `nonisolated(unsafe)` is safe here: nobody changes it, and its functions may be called on any thread.
    private nonisolated(unsafe) static let standard: UnsafeMutablePointer<sqlite3_vfs>? = {
        // The first that is asked of SQLite in this process. Where it is not, memory is counted, and all is as right.
        _ = csqlite_count_no_memory()
        return sqlite3_vfs_find(standardName)
    }()

    /// Where the tail starts in an open file.
    private static let tailOffset: Int = {
        let alignment = MemoryLayout<Tail>.alignment
        return (Int(standard?.pointee.szOsFile ?? 0) + alignment - 1) / alignment * alignment
    }()

    private static let registration: Void = {
        guard let standard else { return }
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: standard.pointee)
        vfs.pointee.pNext = nil
        // For good: SQLite keeps both pointers.
        vfs.pointee.zName = UnsafePointer(strdup(name))
        vfs.pointee.szOsFile = Int32(tailOffset + MemoryLayout<Tail>.size)
        vfs.pointee.xOpen = { _, name, file, flags, outFlags in ProcessVFS.open(name, file, flags, outFlags) }
        sqlite3_vfs_register(vfs, 1)
    }()

    private static func open(
        _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let file, let standard, let standardOpen = standard.pointee.xOpen else { return SQLITE_CANTOPEN }
        let result = standardOpen(standard, name, file, flags, outFlags)
        guard result == SQLITE_OK, flags & SQLITE_OPEN_WAL != 0, let name, let methods = file.pointee.pMethods else {
            return result
        }
        let tail = tail(of: file)
        tail.initialize(to: Tail(methods: methods.pointee, standard: methods, name: name))
        tail.pointee.methods.xWrite = { ProcessVFS.write($0, $1, $2, $3) }
        tail.pointee.methods.xRead = { ProcessVFS.read($0, $1, $2, $3) }
        tail.pointee.methods.xSync = { file, flags in ProcessVFS.flushed(file) { $0.xSync(file, flags) } }
        tail.pointee.methods.xTruncate = { file, size in ProcessVFS.flushed(file) { $0.xTruncate(file, size) } }
        tail.pointee.methods.xFileSize = { file, size in ProcessVFS.flushed(file) { $0.xFileSize(file, size) } }
        tail.pointee.methods.xClose = { ProcessVFS.close($0) }
        file.pointee.pMethods = UnsafePointer(tail.pointer(to: \.methods)!)
        return result
    }

    private static func read(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ target: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        // Mostly a checkpoint, page by page. Who only reads serves somebody, and does so at once.
        if let file, tail(of: file).pointee.writes.hasGathered { Processor.offer() }
        return flushed(file) { $0.xRead(file, target, count, offset) }
    }

    private static func write(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        guard let file else { return SQLITE_IOERR }
        Processor.offer()
        let tail = tail(of: file)
        let standard = tail.pointee.standard
        let result = tail.pointee.writes.append(UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: offset) {
            standard.pointee.xWrite(file, $0.baseAddress, Int32($0.count), $1)
        }
        tail.pointee.waitingBytes += Int(count)
        if tail.pointee.waitingBytes >= writeBackBytes, tail.pointee.writes.isEmpty { beginWritingBack(file) }
        return result
    }

    private static func beginWritingBack(_ file: UnsafeMutablePointer<sqlite3_file>) {
        let tail = tail(of: file)
        tail.pointee.waitingBytes = 0
        if tail.pointee.descriptor < 0 { tail.pointee.descriptor = Glibc.open(tail.pointee.name, O_WRONLY | O_CLOEXEC) }
        if tail.pointee.descriptor >= 0 { WriteBack.begin(tail.pointee.descriptor) }
    }

    private static func flush(_ file: UnsafeMutablePointer<sqlite3_file>) -> Int32 {
        let tail = tail(of: file)
        let standard = tail.pointee.standard
        return tail.pointee.writes.flush { standard.pointee.xWrite(file, $0.baseAddress, Int32($0.count), $1) }
    }

    /// What the standard does when everything is written.
    private static func flushed(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ body: (sqlite3_io_methods) -> Int32
    ) -> Int32 {
        guard let file else { return SQLITE_IOERR }
        let result = flush(file)
        return result == SQLITE_OK ? body(tail(of: file).pointee.standard.pointee) : result
    }

    private static func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
        guard let file else { return SQLITE_IOERR }
        // What is left was not committed.
        let tail = tail(of: file)
        tail.pointee.writes.release()
        if tail.pointee.descriptor >= 0 { Glibc.close(tail.pointee.descriptor) }
        return tail.pointee.standard.pointee.xClose(file)
    }

    private static func tail(of file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<Tail> {
        (UnsafeMutableRawPointer(file) + tailOffset).assumingMemoryBound(to: Tail.self)
    }
}
