import Foundation
import GRDBSQLite
import Primitives
import TestSupport

@testable import DiskCache

/// A file system for SQLite that fails on demand, for the databases below one directory.
///
/// This type replaces the function that opens files in `unix-excl`, the VFS below ``ProcessVFS``. So a simulated fault
/// takes the same path as a fault of the disk.
enum FailingVFS {
    /// A file operation that can fail.
    enum Operation: Sendable {
        case logWrite, logSync, databaseWrite, databaseRead
    }

    /// The faults below a directory.
    final class Faults: Sendable {
        /// The number of failed operations.
        let count = Counter("faults")
        private let codes = Locked<[Operation: Int32]>([:])

        /// Makes an operation fail with an error code of SQLite from now on; with `nil`, the operation works again.
        func set(_ operation: Operation, _ code: Int32?) {
            codes.withLock { $0[operation] = code }
        }

        fileprivate func code(of operation: Operation) -> Int32? {
            let code = codes.withLock { $0[operation] }
            if code != nil { count.add() }
            return code
        }
    }

    /// Returns the faults of a directory, initially none. Call this before any file is opened there.
    static func faults(below directory: String) -> Faults {
        _ = registration
        let faults = Faults()
        registered.withLock { $0[directory] = faults }
        return faults
    }

    private static let registered = Locked<[String: Faults]>([:])

    /// An open file that can fail.
    private struct Failing: Sendable {
        /// A copy of the methods in `standard`. Some methods of the copy can fail. ``close(_:)`` frees the copy.
        ///
        /// `nonisolated(unsafe)` is safe here, because no method changes after ``open(_:_:_:_:_:)`` has made the copy.
        nonisolated(unsafe) let methods: UnsafeMutablePointer<sqlite3_io_methods>
        // Safe for the same reason as `methods`.
        nonisolated(unsafe) let standard: UnsafePointer<sqlite3_io_methods>
        let faults: Faults
        let isLog: Bool
    }

    /// The open files, by the address of the `sqlite3_file`.
    private static let files = Locked<[UInt: Failing]>([:])

    private typealias Open =
        @convention(c) (
            UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, UnsafeMutablePointer<sqlite3_file>?, Int32,
            UnsafeMutablePointer<Int32>?
        ) -> Int32

    private static let standardOpen: Open = sqlite3_vfs_find("unix-excl")!.pointee.xOpen

    private static let registration: Void = {
        _ = standardOpen
        sqlite3_vfs_find("unix-excl")!.pointee.xOpen = { FailingVFS.open($0, $1, $2, $3, $4) }
    }()

    private static func open(
        _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?,
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        let result = standardOpen(vfs, name, file, flags, outFlags)
        let isLog = flags & SQLITE_OPEN_WAL != 0
        guard result == SQLITE_OK, isLog || flags & SQLITE_OPEN_MAIN_DB != 0, let file, let name,
            let standard = file.pointee.pMethods, let faults = faults(ofPath: String(cString: name))
        else { return result }
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: standard.pointee)
        methods.pointee.xRead = { file, target, count, offset in
            FailingVFS.run(file, { $0.isLog ? nil : .databaseRead }) { $0.xRead(file, target, count, offset) }
        }
        methods.pointee.xWrite = { file, source, count, offset in
            FailingVFS.run(file, { $0.isLog ? .logWrite : .databaseWrite }) { $0.xWrite(file, source, count, offset) }
        }
        methods.pointee.xSync = { file, flags in
            FailingVFS.run(file, { $0.isLog ? .logSync : nil }) { $0.xSync(file, flags) }
        }
        methods.pointee.xClose = { FailingVFS.close($0) }
        let failing = Failing(methods: methods, standard: standard, faults: faults, isLog: isLog)
        files.withLock { $0[UInt(bitPattern: file)] = failing }
        file.pointee.pMethods = UnsafePointer(methods)
        return result
    }

    private static func faults(ofPath path: String) -> Faults? {
        registered.withLock { all in all.first { path.hasPrefix($0.key + "/") }?.value }
    }

    private static func run(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ operation: (Failing) -> Operation?,
        _ body: (sqlite3_io_methods) -> Int32
    ) -> Int32 {
        guard let failing = files.withLock({ $0[UInt(bitPattern: file)] }) else { return SQLITE_IOERR }
        if let operation = operation(failing), let code = failing.faults.code(of: operation) { return code }
        return body(failing.standard.pointee)
    }

    private static func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
        guard let failing = files.withLock({ $0.removeValue(forKey: UInt(bitPattern: file)) }) else {
            return SQLITE_IOERR
        }
        let result = failing.standard.pointee.xClose(file)
        failing.methods.deallocate()
        return result
    }
}
