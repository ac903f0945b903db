import CSQLite
import GRDBSQLite
import Glibc
import Primitives

/// An SQLite VFS for a database of a single process, as the lock of the cache's directory guarantees: `unix-excl`
/// (<https://sqlite.org/vfs.html#standard_unix_vfses>), which holds one lock while the file is open, instead of two at
/// each look-up, and keeps the index of the log in its own memory. Other processes, such as `sqlite3`, find it locked.
///
/// SQLite writes a header of 24 bytes before each page of the log, and each write costs as much as that of a page. The
/// VFS gathers headers and pages, and writes them at the latest with the last page of a commit (``GatheredWrites``). It
/// tells the disk early to write the log; otherwise a checkpoint, and every store, would wait for the disk. A large
/// commit and a checkpoint take milliseconds, so a thread that may yield offers the processor between two pages.
enum ProcessVFS {
    /// Applies to all connections that are opened from now on.
    static func use() { _ = vfs }

    private struct Tail {
        var methods: sqlite3_io_methods
        /// The unchanged methods of the standard VFS.
        let standard: UnsafePointer<sqlite3_io_methods>
        /// SQLite keeps the name for as long as the file is open.
        let name: UnsafePointer<CChar>
        var writes = GatheredWrites()
        /// The bytes written since the disk was last told to begin writing.
        var waitingBytes = 0
        /// The log, opened when the kernel is first told to start writing it. To close it drops the process's locks on
        /// the log, which is harmless because SQLite takes none.
        var log: FileDescriptor?
    }

    private static let vfs: DerivedVFS<Tail> = {
        // Turns off SQLite's count of its memory. Has no effect, and does no harm, after another SQLite call.
        _ = csqlite_count_no_memory()
        // A system that is not Unix has no `unix-excl`. The default VFS is slower there but as correct.
        let standard = sqlite3_vfs_find("unix-excl") ?? sqlite3_vfs_find(nil)!
        return DerivedVFS(of: standard, name: "larder", isDefault: true) { _, name, file, flags, outFlags in
            ProcessVFS.open(name, file, flags, outFlags)
        }
    }()

    private static func open(
        _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let file else { return SQLITE_CANTOPEN }
        let result = vfs.standard.pointee.xOpen(vfs.standard, name, file, flags, outFlags)
        guard result == SQLITE_OK, flags & SQLITE_OPEN_WAL != 0, let name, let methods = file.pointee.pMethods else {
            return result
        }
        let tail = vfs.tail(of: file)
        tail.initialize(to: Tail(methods: methods.pointee, standard: methods, name: name))
        tail.pointee.methods.xWrite = { ProcessVFS.write($0, $1, $2, $3) }
        tail.pointee.methods.xRead = { file, target, count, offset in
            // Yields only if the connection has written, because most of its reads then belong to a checkpoint. A
            // connection that only reads serves requests.
            if let file, ProcessVFS.vfs.tail(of: file).pointee.writes.hasGathered { Processor.offer() }
            return ProcessVFS.flushed(file) { $0.xRead(file, target, count, offset) }
        }
        tail.pointee.methods.xSync = { file, flags in ProcessVFS.flushed(file) { $0.xSync(file, flags) } }
        tail.pointee.methods.xTruncate = { file, size in ProcessVFS.flushed(file) { $0.xTruncate(file, size) } }
        tail.pointee.methods.xFileSize = { file, size in ProcessVFS.flushed(file) { $0.xFileSize(file, size) } }
        tail.pointee.methods.xClose = { file in
            guard let file else { return SQLITE_IOERR }
            let tail = ProcessVFS.vfs.tail(of: file)
            let standard = tail.pointee.standard
            // Bytes that are still gathered were not committed.
            tail.deinitialize(count: 1)
            return standard.pointee.xClose(file)
        }
        file.pointee.pMethods = UnsafePointer(tail.pointer(to: \.methods)!)
        return result
    }

    private static func write(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        guard let file else { return SQLITE_IOERR }
        Processor.offer()
        let tail = vfs.tail(of: file)
        let standard = tail.pointee.standard
        let result = tail.pointee.writes.append(UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: offset) {
            standard.pointee.xWrite(file, $0.baseAddress, Int32($0.count), $1)
        }
        tail.pointee.waitingBytes += Int(count)
        if tail.pointee.waitingBytes >= 1 << 20, tail.pointee.writes.isEmpty {
            tail.pointee.waitingBytes = 0
            let log = tail.pointee.log ?? (try? FileDescriptor(opening: String(cString: tail.pointee.name), O_WRONLY))
            if let log { WriteBack.begin(log.number) }
            tail.pointee.log = log
        }
        return result
    }

    private static func flushed(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ body: (sqlite3_io_methods) -> Int32
    ) -> Int32 {
        guard let file else { return SQLITE_IOERR }
        let tail = vfs.tail(of: file)
        let standard = tail.pointee.standard.pointee
        let result = tail.pointee.writes.flush { standard.xWrite(file, $0.baseAddress, Int32($0.count), $1) }
        return result == SQLITE_OK ? body(standard) : result
    }
}

/// Gathers the writes to an SQLite log until they form a commit, without I/O of its own. SQLite writes each page, and
/// before it each frame header, with a call of its own; the header of a commit's last page marks the commit
/// (<https://sqlite.org/fileformat2.html#walformat>). By default SQLite writes no padding after this page, because it
/// assumes that no disk damages the bytes around a write (`psow`, <https://sqlite.org/uri.html>).
///
/// Invariants: the gathered bytes are contiguous, and continue the last written bytes. No part of a finished commit
/// stays gathered.
struct GatheredWrites {
    /// SQLite's own `seekAndWriteFd` takes less than 128 KiB at once.
    static let limit = 120 << 10
    /// In a header, the bytes with the size of the database are other than 0 only for a commit's last page.
    private static let (headLength, commitOffset) = (24, 4..<8)

    /// Allocated by the first gathered write, so a connection that only reads takes no memory.
    private var gathered: [UInt8] = []
    /// Only a write that begins at this offset is gathered.
    private var end: Int64 = 0
    private var isCommit = false
    var isEmpty: Bool { gathered.isEmpty }
    var hasGathered: Bool { gathered.capacity > 0 }

    /// Gathers the bytes, or writes them with `write`, which returns 0 on success. Returns the result of the last call
    /// of `write`, or 0 if it did not call `write`.
    mutating func append(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64, _ write: (UnsafeRawBufferPointer, Int64) -> Int32
    ) -> Int32 {
        let isHead = bytes.count == Self.headLength
        if isHead { isCommit = bytes[Self.commitOffset].contains { $0 != 0 } }
        let isNext = offset == end
        if !isNext || gathered.count + bytes.count > Self.limit {
            let result = flush(write)
            guard result == 0 else { return result }
        }
        end = offset + Int64(bytes.count)
        // A write at another place replaces older bytes, and is no part of the contiguous range.
        guard isNext, bytes.count <= Self.limit else { return write(bytes, offset) }
        if !hasGathered { gathered.reserveCapacity(Self.limit) }
        gathered.append(contentsOf: bytes)
        return isCommit && !isHead ? flush(write) : 0
    }

    /// The bytes are dropped even when the write fails, because SQLite then rolls the transaction back.
    mutating func flush(_ write: (UnsafeRawBufferPointer, Int64) -> Int32) -> Int32 {
        if isEmpty { return 0 }
        let start = end - Int64(gathered.count)
        let result = gathered.withUnsafeBytes { write($0, start) }
        gathered.removeAll(keepingCapacity: true)
        // After a failure the content of the file is unknown.
        if result != 0 { end = -1 }
        return result
    }
}
