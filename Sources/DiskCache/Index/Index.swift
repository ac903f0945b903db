import Foundation
import GRDB
import GRDBSQLite
import Primitives

/// The connections to `index.sqlite`: one that writes, used by the writer's thread alone, and some that only read.
/// Those that look entries up are SQLite's own, and some of them never wait for the disk (``CachedFilesVFS``).
///
/// Only the writing connection ever makes a checkpoint: before 3.51.3 SQLite can corrupt a WAL that two connections
/// reset at once.
final class Index: Sendable {
    /// The connection that writes.
    let writing: DatabaseQueue
    /// Look-ups that find what is in memory.
    private let cached: LookupPool
    /// Look-ups that wait for the disk.
    private let waiting: LookupPool
    private let listing: DatabaseQueue
    /// What `cached` asks the kernel through; see there when they may be closed.
    private let descriptors: Locked<[FileDescriptor?]>
    private let path: String
    /// The files that what is committed is in, and which they were when they were opened.
    private let files: [(path: String, number: FileNumber?)]
    private let log: @Sendable (DiskCacheNotice) -> Void
    /// Whether a new index was begun: there was none, or it could not be read. It knows nothing of bodies that may be
    /// there.
    let startedEmpty: Bool

    /// Opens the index, creates it, migrates it, or sets aside one that cannot be read.
    ///
    /// - Parameter other: a file that is open and without which the index is of no use.
    /// Throws ``DiskCacheError/newerFormat(found:supported:)`` and leaves such an index as it is.
    init(
        path: String, beside other: String, configuration: DiskCache.Configuration, clock: any WallClock,
        log: @escaping @Sendable (DiskCacheNotice) -> Void
    ) throws(DiskCacheError) {
        self.path = path
        self.log = log
        var isNew = (FileSystem.status(of: path)?.identity.size ?? 0) == 0
        do {
            writing = try Self.openForWriting(path, configuration)
        } catch  where configuration.setsAsideUnreadableIndex && Self.isUnreadable(error) {
            try Self.setAside(path, at: clock.now(), because: DiskCacheError(error), log: log)
            isNew = true
            writing = try mappingErrors { try Self.openForWriting(path, configuration) }
        } catch {
            throw DiskCacheError(error)
        }
        startedEmpty = isNew
        // Made by now, both: opening it for writing reads it, and so opens the log.
        files = [path, path + "-wal", other].map { ($0, FileNumber(of: $0)) }
        listing = try mappingErrors { try Self.openForReading(path) }
        // Without one of them nothing is known to be in memory.
        let (database, log) = (Self.descriptor(of: path), Self.descriptor(of: path + "-wal"))
        descriptors = Locked([database, log])
        let name = CachedFilesVFS.name(of: path, database: database?.number ?? -1, log: log?.number ?? -1)
        let footprint = configuration.footprint
        cached = LookupPool(
            (0..<footprint.lookupCount).map { _ in
                LookupConnection(name, cacheBytes: footprint.lookupCacheBytes / footprint.lookupCount)
            })
        waiting = LookupPool(
            (0..<footprint.diskThreadCount).map { _ in
                LookupConnection(CachedFilesVFS.name(of: path), cacheBytes: 256 << 10)
            })
        try mappingErrors {
            try waiting.open()
            try cached.open()
        }
    }

    /// Whether the files that are open are those that the next start would find. A `stat` call each; any thread.
    var isInPlace: Bool { missed == nil }

    /// The first file that is open and that the next start would not find.
    private var missed: String? { files.first { FileNumber(of: $0.path) != $0.number }?.path }

    /// Throws ``DiskCacheError/indexLost(path:)`` with the first file that is missed, unless ``isInPlace``.
    func checkPlace() throws(DiskCacheError) {
        if let missed { throw .indexLost(path: missed) }
    }

    // MARK: - The log

    /// Empties the log when it takes a good part of the room that is left: SQLite lets it grow to 16 MiB, which on a
    /// small volume is all there is, and a log that is longer than what is left may never be emptied again. The
    /// writer's thread.
    func keepLogShort() {
        let length = logLength
        if length > Self.leastLogLimit, length > FileSystem.freeBytes(at: path) / 4, canEmptyLog() { emptyLog() }
    }

    /// Whether there is a log, and room to write it into the database file: without, that would take all that is left
    /// and the log would stay. The writer's thread, outside of a transaction.
    ///
    /// - Parameter reserve: how many bytes there will be besides those that are free.
    func canEmptyLog(with reserve: Int64 = 0) -> Bool {
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        guard logLength > 0, let file = FileSystem.status(of: path)?.identity.size,
            let needed = try? writing.writeWithoutTransaction({ try Int64.fetchOne($0, sql: sql) })
        else { return false }
        return needed - file <= FileSystem.freeBytes(at: path) + reserve
    }

    /// Writes the log into the database file and gives its room back; whether it did, which readers may prevent. The
    /// writer's thread, outside of a transaction.
    @discardableResult
    func emptyLog() -> Bool {
        (try? writing.writeWithoutTransaction { try $0.checkpoint(.truncate) }) != nil
    }

    private var logLength: Int64 { FileSystem.status(of: path + "-wal")?.identity.size ?? 0 }

    /// A log that is no longer than this is left alone: emptying it takes longer than filling it.
    private static let leastLogLimit: Int64 = 256 << 10

    // MARK: - Reading

    /// When an entry was last handed out; `nil` when there is none.
    func latestAccess() throws(DiskCacheError) -> Timestamp? {
        let sql = "SELECT max(lastAccess) FROM entries"
        return try list { try Int64.fetchOne($0, sql: sql) }.map(Timestamp.init(milliseconds:))
    }

    /// Looks something up. Any thread.
    ///
    /// - Parameter mayWait: whether to wait for the disk; otherwise it may be ``Lookup/onDisk``.
    func lookUp<Value: Sendable>(
        mayWait: Bool, _ body: (LookupConnection) throws -> Value
    ) throws(DiskCacheError) -> Lookup<Value> {
        try noticingDamage {
            do {
                return .found(try (mayWait ? waiting : cached).withConnection(body))
            } catch is LookupConnection.NotCached {
                return .onDisk
            }
        }
    }

    /// Reads something that takes longer, such as a page of a listing, on a connection that look-ups do not use.
    func list<T>(_ body: (Database) throws -> T) throws(DiskCacheError) -> T {
        try noticingDamage { try listing.unsafeRead(body) }
    }

    /// Empties the page caches of the connections that read, each as soon as nobody uses it.
    func releaseReadersMemory() {
        listing.releaseMemory()
        waiting.releaseMemory()
        cached.releaseMemory()
    }

    /// The error as one of this module. When it says that the index is damaged, a mark is left for the next start: then
    /// the whole index is checked, which takes too long for every start.
    func notice(_ error: any Error) -> DiskCacheError {
        let error = DiskCacheError(error)
        if error.isIndexDamage {
            log(DiskCacheNotice(.error, "the index is damaged; restart to check it", ["reason": "\(error)"]))
            _ = try? FileDescriptor(opening: Self.mark(path), O_WRONLY | O_CREAT, mode: 0o600)
        }
        return error
    }

    private func noticingDamage<T>(_ body: () throws -> T) throws(DiskCacheError) -> T {
        do {
            return try body()
        } catch {
            throw notice(error)
        }
    }

    /// Writes into the database file what readers let it of the log, and cuts the file to its pages; for the writer's
    /// thread. It is done sooner or later anyway, so that a failure is none.
    func checkpoint() {
        try? writing.writeWithoutTransaction { _ = try $0.checkpoint(.passive) }
    }

    /// Writes everything into the database file itself and closes all connections; the writer's thread calls it last.
    ///
    /// Another index that stands at the path by now is safe: before SQLite removes a log by its name it holds the inode
    /// of the database file against what is at the path (`databaseIsUnmoved` in its `pager.c`).
    func close(checkpoint: Bool) {
        cached.close()
        waiting.close()
        try? listing.close()
        if checkpoint {
            try? writing.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        }
        try? writing.close()
        descriptors.withLock { $0 = [] }
    }

    // MARK: - Opening

    private static func descriptor(of path: String) -> FileDescriptor? {
        try? FileDescriptor(opening: path, O_RDONLY)
    }

    private static func openForWriting(_ path: String, _ chosen: DiskCache.Configuration) throws -> DatabaseQueue {
        ProcessVFS.use()
        var configuration = Configuration()
        configuration.label = "larder.index.writer"
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            // These can be chosen only as long as nothing is in the file, and WAL mode writes there. Later they would
            // only write. The page size first: the other one settles it. Nothing is written to what is not ours.
            if try Int.fetchOne(db, sql: "PRAGMA page_count") == 0 {
                try db.execute(
                    sql: "PRAGMA page_size = \(chosen.indexPageSize); PRAGMA auto_vacuum = INCREMENTAL;")
            } else {
                _ = try Schema.format(of: db)
            }
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL;
                    PRAGMA synchronous = \(chosen.durability == .power ? "FULL" : "NORMAL");
                    PRAGMA wal_autocheckpoint = \(chosen.checkpointPages);
                    PRAGMA journal_size_limit = 67108864;
                    PRAGMA cache_size = \(-chosen.footprint.writerCacheBytes >> 10);
                    PRAGMA temp_store = MEMORY;
                    """)
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.writeWithoutTransaction { db in
            try Schema.migrate(db)
            if FileSystem.status(of: mark(path)) != nil {
                guard try String.fetchOne(db, sql: "PRAGMA integrity_check(1)") == "ok" else {
                    throw Schema.Unreadable()
                }
                FileSystem.unlink(mark(path))
            }
            // Preparing a statement reads the schema, and this one the first row of the largest table.
            _ = try Row.fetchOne(db, sql: "SELECT * FROM entries, counters LIMIT 1")
        }
        return queue
    }

    private static func openForReading(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "larder.index.reader"
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = -2048; PRAGMA temp_store = MEMORY;")
            // Between so many of SQLite's instructions, which are a few rows.
            sqlite3_progress_handler(
                db.sqliteConnection, 200,
                { _ in
                    Processor.offer()
                    return 0
                }, nil)
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func isUnreadable(_ error: any Error) -> Bool { DiskCacheError(error).isIndexDamage }

    /// Names the mark of an index that was found damaged while it was used.
    private static func mark(_ path: String) -> String { path + ".damaged" }

    private static func setAside(
        _ path: String, at now: Timestamp, because error: DiskCacheError, log: (DiskCacheNotice) -> Void
    ) throws(DiskCacheError) {
        let date = now.rfc3339.filter { $0 != ":" && $0 != "-" && $0 != "." }
        var target = path + ".corrupt-" + date
        var number = 1
        while FileSystem.status(of: target) != nil {
            number += 1
            target = path + ".corrupt-" + date + "-\(number)"
        }
        for suffix in ["", "-wal", "-shm"] where FileSystem.status(of: path + suffix) != nil {
            let code = FileSystem.rename(path + suffix, to: target + suffix)
            if code != 0 { throw .system("rename", path + suffix, code) }
        }
        FileSystem.unlink(mark(path))
        log(
            DiskCacheNotice(
                .error, "the index could not be read and was set aside; the cache starts empty",
                ["index": .text(path), "kept": .text(target), "reason": "\(error)"]))
    }
}
