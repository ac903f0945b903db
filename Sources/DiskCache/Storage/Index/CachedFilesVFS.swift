import Foundation
import GRDBSQLite
import Primitives

/// An SQLite VFS that reads only data that the kernel has in memory (`RWF_NOWAIT`,
/// <https://man7.org/linux/man-pages/man2/preadv2.2.html>): a statement that would wait for a disk ends with
/// ``notCached``. It is the default VFS (<https://sqlite.org/vfs.html>) with another `xRead`. SQLite's descriptors are
/// private, so this `xRead` uses the caller's descriptors from ``name(of:database:log:)``. The caller closes them after
/// all connections to the file, because closing a descriptor drops all locks of the process on the file.
enum CachedFilesVFS {
    /// An I/O error that has no name in SQLite.
    static let notCached = SQLITE_IOERR | (0xFE << 8)

    /// The name that opens a file over this VFS, with descriptors of the file and of its log; needs `SQLITE_OPEN_URI`.
    static func name(of path: String, database: Int32, log: Int32) -> String {
        _ = vfs
        return name(of: path) + "?vfs=\(vfsName)&\(databaseParameter)=\(database)&\(logParameter)=\(log)"
    }

    /// The name that opens a file over the default VFS.
    static func name(of path: String) -> String {
        // Every byte is escaped, so that no character of the path can end the path: %2F%74%6D%70 is /tmp.
        "file:" + path.utf8.map { "%" + [$0].hex }.joined()
    }

    private static let vfsName = "larder-cached"
    private static let databaseParameter = "larder-database"
    private static let logParameter = "larder-log"

    /// The data that this VFS keeps for an open file, behind the data of the default VFS.
    private struct Tail {
        var methods: sqlite3_io_methods
        var descriptor: Int32
    }

    private static let vfs: DerivedVFS<Tail> = {
        ProcessVFS.use()
        return DerivedVFS(of: sqlite3_vfs_find(nil)!, name: vfsName) { _, name, file, flags, outFlags in
            CachedFilesVFS.open(name, file, flags, outFlags)
        }
    }()

    private static func open(
        _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let file else { return SQLITE_CANTOPEN }
        let result = vfs.standard.pointee.xOpen(vfs.standard, name, file, flags, outFlags)
        guard result == SQLITE_OK, let methods = file.pointee.pMethods else { return result }
        let parameter =
            flags & SQLITE_OPEN_MAIN_DB != 0
            ? databaseParameter : flags & SQLITE_OPEN_WAL != 0 ? logParameter : nil
        guard let parameter else { return result }
        let tail = vfs.tail(of: file)
        tail.initialize(to: Tail(methods: methods.pointee, descriptor: Int32(sqlite3_uri_int64(name, parameter, -1))))
        // With methods of a version above 2, SQLite can map the file and read without this `xRead`.
        tail.pointee.methods.iVersion = min(tail.pointee.methods.iVersion, 2)
        tail.pointee.methods.xRead = { file, target, count, offset in
            guard let file else { return SQLITE_IOERR }
            let target = UnsafeMutableRawBufferPointer(start: target, count: Int(count))
            let found = CachedFile.read(CachedFilesVFS.vfs.tail(of: file).pointee.descriptor, into: target, at: offset)
            // Fewer bytes were in memory, or the file ends. In both cases, a connection that may wait reads again.
            return found == Int(count) ? SQLITE_OK : CachedFilesVFS.notCached
        }
        file.pointee.pMethods = UnsafePointer(tail.pointer(to: \.methods)!)
        return result
    }
}

/// An SQLite VFS that differs from `standard` in `xOpen`, and keeps a `Tail` behind the data of `standard` for each
/// file. `@unchecked Sendable` is safe because neither VFS is ever changed, and any thread may call their functions.
struct DerivedVFS<Tail>: @unchecked Sendable {
    let standard: UnsafeMutablePointer<sqlite3_vfs>
    private let tailOffset: Int

    /// Registers the VFS for the rest of the process.
    init(
        of standard: UnsafeMutablePointer<sqlite3_vfs>, name: String, isDefault: Bool = false,
        open:
            @escaping @convention(c) (
                UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, UnsafeMutablePointer<sqlite3_file>?, Int32,
                UnsafeMutablePointer<Int32>?
            ) -> Int32
    ) {
        self.standard = standard
        let alignment = MemoryLayout<Tail>.alignment
        tailOffset = (Int(standard.pointee.szOsFile) + alignment - 1) / alignment * alignment
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: standard.pointee)
        vfs.pointee.pNext = nil
        // Never freed, because SQLite keeps both pointers.
        vfs.pointee.zName = UnsafePointer(strdup(name))
        vfs.pointee.szOsFile = Int32(tailOffset + MemoryLayout<Tail>.size)
        vfs.pointee.xOpen = open
        sqlite3_vfs_register(vfs, isDefault ? 1 : 0)
    }

    func tail(of file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<Tail> {
        (UnsafeMutableRawPointer(file) + tailOffset).assumingMemoryBound(to: Tail.self)
    }
}
