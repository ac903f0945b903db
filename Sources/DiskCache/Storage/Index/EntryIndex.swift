import Foundation
import GRDB
import GRDBSQLite
import Primitives

/// The connections to `index.sqlite`: one that writes, used only by the writer's thread, and several that only read.
/// Some look-up connections never wait for the disk (``CachedFilesVFS``). Only the writing connection makes
/// checkpoints, because SQLite before 3.51.3 can corrupt a WAL that two connections reset at the same time.
package final class EntryIndex: Sendable {
    let writing: DatabaseQueue
    private let cached: LookupPool
    private let waiting: LookupPool
    private let listing: DatabaseQueue
    /// The descriptors through which `cached` reads; ``CachedFilesVFS`` says when they may be closed.
    private let descriptors: Locked<[FileDescriptor?]>
    private let path: String
    /// The open files that hold the committed data, each with its identity at the time of opening.
    private let files: [(path: String, number: FileNumber?)]
    private let log: @Sendable (DiskCacheNotice) -> Void
    /// Whether there was no readable index. A new index does not know the bodies that may be in the directory.
    let startedEmpty: Bool

    /// Opens the index, creates it, or sets an unreadable index aside. `other` is an open file without which the index
    /// is useless. Throws ``DiskCacheError/newerFormat(found:supported:)`` without a change of the index.
    init(
        path: String, beside other: String, configuration: CacheConfiguration, clock: any WallClock,
        log: @escaping @Sendable (DiskCacheNotice) -> Void
    ) throws(DiskCacheError) {
        self.path = path
        self.log = log
        var isNew = (FileSystem.status(of: path)?.identity.size ?? 0) == 0
        do {
            writing = try Self.openForWriting(path, configuration)
        } catch  where configuration.setsAsideUnreadableIndex && DiskCacheError(error).isIndexDamage {
            try Self.setAside(path, at: clock.now(), because: DiskCacheError(error), log: log)
            isNew = true
            writing = try mappingErrors { try Self.openForWriting(path, configuration) }
        } catch {
            throw DiskCacheError(error)
        }
        startedEmpty = isNew
        // The index and its log exist now, because opening the index for writing reads it, and so opens the log.
        files = [path, path + "-wal", other].map { ($0, FileNumber(of: $0)) }
        listing = try mappingErrors { try Self.openForReading(path) }
        // Without a descriptor, `cached` finds no data in memory, and each look-up uses `waiting`.
        let database = try? FileDescriptor(opening: path, O_RDONLY)
        let log = try? FileDescriptor(opening: path + "-wal", O_RDONLY)
        descriptors = Locked([database, log])
        let name = CachedFilesVFS.name(of: path, database: database?.number ?? -1, log: log?.number ?? -1)
        let footprint = configuration.footprint
        let cacheBytes = footprint.lookupCacheBytes / footprint.lookupCount
        cached = LookupPool(footprint.lookupCount, name, cacheBytes: cacheBytes)
        waiting = LookupPool(footprint.diskThreadCount, CachedFilesVFS.name(of: path), cacheBytes: 256 << 10)
        try mappingErrors {
            try waiting.open()
            try cached.open()
        }
    }

    /// Whether the next start would find the files that are open now. Costs a `stat` call for each. For any thread.
    var isInPlace: Bool { missed == nil }
    private var missed: String? { files.first { FileNumber(of: $0.path) != $0.number }?.path }

    /// Throws ``DiskCacheError/indexLost(path:)`` unless ``isInPlace``.
    func checkPlace() throws(DiskCacheError) {
        if let missed { throw .indexLost(path: missed) }
    }

    // MARK: - The log, on the writer's thread outside of transactions

    /// Empties the log when it is longer than 256 KiB and than a quarter of the free space. SQLite lets the log grow to
    /// 16 MiB, which may be all the space of a small volume. Emptying the log would then need more space than is free.
    func keepLogShort() {
        let length = logLength
        // Emptying a log of up to 256 KiB would take longer than filling it.
        if length > 256 << 10, length > FileSystem.freeBytes(at: path) / 4, canEmptyLog() { emptyLog() }
    }

    /// Whether the log can be emptied in the free space plus `reserve`. If not, an attempt would fill the disk.
    func canEmptyLog(with reserve: Int64 = 0) -> Bool {
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        guard logLength > 0, let file = FileSystem.status(of: path)?.identity.size,
            let needed = try? writing.writeWithoutTransaction({ try Int64.fetchOne($0, sql: sql) })
        else { return false }
        return needed - file <= FileSystem.freeBytes(at: path) + reserve
    }

    /// Writes the log into the database file, then truncates it. `false`: failed, for example because of a reader.
    @discardableResult
    func emptyLog() -> Bool {
        (try? writing.writeWithoutTransaction { try $0.checkpoint(.truncate) }) != nil
    }

    private var logLength: Int64 { FileSystem.status(of: path + "-wal")?.identity.size ?? 0 }

    // MARK: - Reading

    func latestAccess() throws(DiskCacheError) -> Timestamp? {
        try list { try Int64.fetchOne($0, sql: "SELECT max(lastAccess) FROM entries") }
            .map(Timestamp.init(milliseconds:))
    }

    /// Any thread may call this. ``Lookup/onDisk`` only without `mayWait`.
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

    /// Runs a longer read, such as a page of a listing, on a connection that look-ups do not use.
    func list<T>(_ body: (Database) throws -> T) throws(DiskCacheError) -> T {
        try noticingDamage { try listing.unsafeRead(body) }
    }

    /// Empties the page caches of the reading connections. Waits for each connection until it is not in use.
    func releaseReadersMemory() {
        listing.releaseMemory()
        waiting.releaseMemory()
        cached.releaseMemory()
    }

    /// Maps the error. Marks a damaged index by a file. Then the next start checks the whole index, which takes long.
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

    /// Writes the log into the database as far as readers allow, on the writer's thread. Failures are ignored.
    func checkpoint() {
        try? writing.writeWithoutTransaction { _ = try $0.checkpoint(.passive) }
    }

    /// Writes the log into the database file, if `checkpoint` is set, and closes all connections. The writer's thread
    /// calls this last. Another index that has taken the path is safe: before SQLite removes a log by its name it
    /// compares the inodes of the database file and the file at the path (`databaseIsUnmoved` in `pager.c`).
    package func close(checkpoint: Bool) {
        cached.close()
        waiting.close()
        try? listing.close()
        if checkpoint { emptyLog() }
        try? writing.close()
        descriptors.withLock { $0 = [] }
    }

    // MARK: - Opening

    private static func openForWriting(_ path: String, _ chosen: CacheConfiguration) throws -> DatabaseQueue {
        ProcessVFS.use()
        var configuration = Configuration()
        configuration.label = "larder.index.writer"
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            // Both settings take effect only in an empty file; elsewhere they only cause a write. The page size comes
            // first, because WAL fixes it. A foreign database is never written to, because reading the format throws.
            if try Int.fetchOne(db, sql: "PRAGMA page_count") == 0 {
                try db.execute(sql: "PRAGMA page_size = \(chosen.indexPageSize); PRAGMA auto_vacuum = INCREMENTAL;")
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
            try Schema.create(db)
            if FileSystem.status(of: mark(path)) != nil {
                guard try String.fetchOne(db, sql: "PRAGMA integrity_check(1)") == "ok" else {
                    throw Schema.Unreadable()
                }
                FileSystem.unlink(mark(path))
            }
            // Reads the schema and the first row of the largest table, so that damage there ends the opening.
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
            // Offers the processor every 200 of SQLite's instructions, which are a few rows.
            let offer: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { _ in
                Processor.offer()
                return 0
            }
            sqlite3_progress_handler(db.sqliteConnection, 200, offer, nil)
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// The file that marks a damaged index. It is created when a read or write finds damage (``notice(_:)``).
    private static func mark(_ path: String) -> String { path + ".damaged" }

    private static func setAside(
        _ path: String, at now: Timestamp, because error: DiskCacheError, log: (DiskCacheNotice) -> Void
    ) throws(DiskCacheError) {
        let first = path + ".corrupt-" + now.rfc3339.filter { !":-.".contains($0) }
        var (target, number) = (first, 1)
        while FileSystem.status(of: target) != nil {
            number += 1
            target = "\(first)-\(number)"
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
