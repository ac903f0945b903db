import GRDB
import Primitives

/// Runs a group of operations: a transaction, its journal, and the work after the commit. `@unchecked Sendable` is safe
/// because the loop is handed to the writer's thread once, and used only there.
package final class WriterLoop: @unchecked Sendable {
    /// `finish` gets `nil` once the work is durable, or the error. `@unchecked Sendable` is safe because
    /// ``Writer/submit(makesRoom:bodyBytes:_:completion:)``, which hands jobs to the writer's thread, makes them of
    /// `@Sendable` closures. All other jobs stay on the thread that made them.
    struct Job: @unchecked Sendable {
        var work: (WriteContext) throws -> Void
        var finish: (DiskCacheError?) -> Void
        /// Whether the work removes entries, so that it may use the ballast.
        var makesRoom = false
        var bodyBytes: Int64 = 0
    }

    private let parts: CacheParts
    private var totals: Totals
    private let slots: SlabMap
    package let eviction: Eviction
    private let shrinking: IndexShrinking
    private let compaction: SlabCompaction
    private(set) var isCrashed = false
    /// Whether the last transaction failed because the files of the cache were removed or replaced.
    private var isIndexLost = false

    package init(_ parts: CacheParts) throws(DiskCacheError) {
        self.parts = parts
        eviction = Eviction(memoryLimit: parts.configuration.memoryLimit)
        let headRoom = DiskFullness.headRoom(ofLimit: parts.configuration.diskLimit)
        let (totals, slots, shrinking) = try mappingErrors {
            try parts.index.writing.writeWithoutTransaction {
                let slots = try SlabMap.load($0) {
                    parts.log(DiskCacheNotice(.error, "the map of used slots is rebuilt from the index", [:]))
                }
                return (try Totals($0), slots, try IndexShrinking($0, headRoom: headRoom))
            }
        }
        compaction = SlabCompaction(headRoom: headRoom)
        self.slots = slots
        parts.slab.cut(at: slots.end)
        self.shrinking = shrinking
        self.totals = totals
        measureRoom()
        parts.totals.withLock { $0 = totals.snapshot }
    }

    /// Runs `work` in a transaction of its own.
    package func perform<Value>(
        makesRoom: Bool = false, _ work: @escaping (WriteContext) throws -> Value
    ) throws(DiskCacheError) -> Value {
        var result = Result<Value, DiskCacheError>.failure(.closed)
        let job = Job(
            work: { context in result = .success(try work(context)) },
            finish: { error in if let error { result = .failure(error) } }, makesRoom: makesRoom)
        run([job])
        return try result.get()
    }

    /// Runs the jobs in a single transaction. If that fails, runs each job in a transaction of its own. A job that
    /// found the disk full runs once more if room can be found, unless this is its last try.
    func run(_ jobs: [Job], isLastTry: Bool = false) {
        var failures = [DiskCacheError?](repeating: nil, count: jobs.count)
        do {
            let context = try transaction(jobs, &failures)
            context.journal.committed()
            isIndexLost = false
            parts.tell(context.journal.changes)
            for (job, failure) in zip(jobs, failures) { job.finish(failure) }
            context.journal.cleanUp()
            parts.bodies.clearIntents()
            for range in slots.takeEmptied() { parts.slab.erase(range) }
            parts.index.keepLogShort()
            parts.bodies.ballast.restore()
            // Room is measured again here, because files were removed and the log was shortened after the commit.
            if parts.budget.roomAtCommit < Self.scarceRoom { measureRoom() }
        } catch is SimulatedCrash {
            isCrashed = true
            for job in jobs { job.finish(.closed) }
        } catch {
            let failure = notice(error)
            if failure == .noSpace, jobs.count == 1, !isLastTry, findRoom(for: jobs[0]) {
                return run(jobs, isLastTry: true)
            }
            // When the index is gone, or another process has locked it, a further try for each job would fail as well.
            if jobs.count == 1 || failure.isBusy || isIndexLost {
                for job in jobs { job.finish(failure) }
            } else {
                for job in jobs { run([job]) }
            }
        }
    }

    /// Finds room for a job on a full disk. Emptying the log of the index may free space. A removal, which needs room
    /// for the log first, may use the ballast. For any other job, the ballast only helps to empty the log.
    private func findRoom(for job: Job) -> Bool {
        let (index, ballast) = (parts.index, parts.bodies.ballast)
        let canEmptyLog = index.canEmptyLog(with: ballast.length)
        guard canEmptyLog || job.makesRoom else { return false }
        let hadBallast = ballast.release()
        let isLogEmptied = canEmptyLog && index.emptyLog()
        if job.makesRoom { return hadBallast || isLogEmptied }
        ballast.restore()
        return isLogEmptied
    }

    /// Runs the jobs and commits. The error of a job fails that job alone. An error of this method fails all jobs, and
    /// all their steps were undone. For a savepoint, SQLite keeps a copy of every page that the job changes. So the
    /// jobs run without savepoints first, and again with them if a job fails after a change, which is rare.
    private func transaction(_ jobs: [Job], _ failures: inout [DiskCacheError?]) throws -> WriteContext {
        do {
            return try transaction(jobs, &failures, hasSavepoints: false)
        } catch is SavepointNeeded {
            return try transaction(jobs, &failures, hasSavepoints: true)
        }
    }

    private struct SavepointNeeded: Error {}

    private func transaction(
        _ jobs: [Job], _ failures: inout [DiskCacheError?], hasSavepoints: Bool
    ) throws -> WriteContext {
        // The thread does not yield, because callers wait. A job that calls ``Processor/share()`` lets it yield.
        Processor.keep()
        return try parts.index.writing.writeWithoutTransaction { db in
            try db.beginTransaction(.immediate)
            let context = WriteContext(parts, db: db, totals: totals, slots: slots, eviction: eviction)
            let freePages: Int64
            do {
                for (number, job) in jobs.enumerated() {
                    failures[number] = try run(job, in: context, isAlone: jobs.count == 1, hasSavepoint: hasSavepoints)
                }
                try context.unsynced.finish()
                try context.reach(.beforeCommit)
                try context.totals.save(db)
                try slots.save(db)
                freePages = try IndexShrinking.freePages(db)
                // Checks the files last, because entries that are acknowledged must survive a restart.
                try parts.index.checkPlace()
                try db.commit()
            } catch {
                if db.isInsideTransaction { try? db.rollback() }
                if !(error is SimulatedCrash) {
                    context.journal.undoAll()
                    slots.rolledBack()
                    parts.bodies.clearIntents()
                }
                throw error
            }
            try context.reach(.afterCommit)
            totals = context.totals
            slots.committed()
            shrinking.committed(freePages: freePages)
            measureRoom()
            eviction.fit(memoryLimit: parts.memory.limit)
            parts.memory.setHeldByOthers(eviction.memoryBytes + parts.slotTable.memoryBytes)
            parts.totals.withLock { $0 = totals.snapshot }
            return context
        }
    }

    /// Runs a job, and undoes it if it fails. Returns the job's error. Throws when the whole transaction is lost.
    private func run(
        _ job: Job, in context: WriteContext, isAlone: Bool, hasSavepoint: Bool
    ) throws -> DiskCacheError? {
        let db = context.index.db
        if isAlone {
            try job.work(context)
            return nil
        }
        let (mark, changes) = (context.journal.mark, db.totalChangesCount)
        let (totals, unsynced) = (context.totals, context.unsynced)
        if hasSavepoint { try db.execute(sql: "SAVEPOINT job") }
        do {
            try job.work(context)
        } catch let crash as SimulatedCrash {
            throw crash
        } catch {
            // A full disk or an I/O error may have rolled back the transaction already.
            guard db.isInsideTransaction else { throw error }
            // On a full disk, each job has a better chance in a transaction of its own.
            if DiskCacheError(error) == .noSpace { throw error }
            if hasSavepoint {
                try db.execute(sql: "ROLLBACK TO job; RELEASE job")
                context.journal.undo(to: mark)
            } else if db.totalChangesCount != changes || context.journal.mark != mark {
                throw SavepointNeeded()
            }
            (context.totals, context.unsynced) = (totals, unsynced)
            return parts.index.notice(error)
        }
        if hasSavepoint { try db.execute(sql: "RELEASE job") }
        return nil
    }

    /// Maps the error of a transaction. If the cache's files are not in place, that is the cause, and is logged once.
    private func notice(_ error: any Error) -> DiskCacheError {
        do throws(DiskCacheError) {
            try parts.index.checkPlace()
        } catch {
            if !isIndexLost { parts.log(DiskCacheNotice(.error, "the index is lost", ["reason": "\(error)"])) }
            isIndexLost = true
            return error
        }
        isIndexLost = false
        let failure = parts.index.notice(error)
        // SQLite reports an I/O error for an exceeded quota, and for a full disk while it grows its shared memory.
        return failure.isIndexIO && !FileSystem.hasRoom(in: parts.bodies.incoming) ? .noSpace : failure
    }

    // MARK: - Head-room

    /// If less than this is free, the room is measured again after files were removed.
    private static let scarceRoom: Int64 = 64 << 20

    private func measureRoom() {
        parts.budget.commit(
            used: totals.diskBytes, pinned: totals.pinnedBytes, reusable: shrinking.freePages * 4096 + slots.slackBytes)
    }

    var hasUpkeep: Bool { hasDroppedCaptures || bytesToEvict > 0 || wantsCompaction || wantsShrinking }

    func upkeep() {
        if hasDroppedCaptures {
            parts.runningCaptures.removedDropped()
            // After a failure, the next dropped capture, or the next start, tries again.
            if (try? removeSomeDropped()) == true { parts.runningCaptures.noteDropped() }
        }
        let bytes = bytesToEvict
        if bytes > 0 { evictSome(bytes) }
        if wantsCompaction { compactSome() }
        if wantsShrinking { shrinkSome() }
    }

    /// The bytes to evict before a store needs room; 0 or less: none.
    private var bytesToEvict: Int64 { isCrashed ? 0 : eviction.wanted(parts.budget.fullness) }

    private var hasDroppedCaptures: Bool { !isCrashed && parts.runningCaptures.hasDropped }

    func noteDropped() { parts.runningCaptures.noteDropped() }

    func hasCapturesWithoutPage() throws(DiskCacheError) -> Bool {
        try parts.index.list { db in
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM captures WHERE page IS NULL)") ?? false
        }
    }

    /// Removes a part of the dropped captures. Returns whether a part is left.
    func removeSomeDropped() throws(DiskCacheError) -> Bool {
        try perform(makesRoom: true) { context in
            var freed = Eviction.Freed()
            return try context.removeDropped(&freed)
        }
    }

    private func evictSome(_ bytes: Int64) {
        let fullness = parts.budget.fullness
        let freed = try? perform(makesRoom: true) { try $0.evictAhead(toFree: bytes, fullness) }
        // A failed step counts as one that found no entry, because an immediate retry is pointless.
        eviction.stepEnded(freed ?? Eviction.Freed(), fullness, used: parts.budget.fullness.used)
    }

    private var wantsCompaction: Bool { !isCrashed && compaction.isWanted(slots, room: parts.budget.roomAtCommit) }

    private func compactSome() {
        guard compaction.begins(slots) else { return }
        do { try perform(makesRoom: true, compaction.step) } catch { compaction.stepFailed(slots) }
    }

    private var wantsShrinking: Bool { !isCrashed && shrinking.isWanted(room: parts.budget.roomAtCommit) }

    /// Gives index pages back to the file system. After the last step, a checkpoint shortens the file.
    private func shrinkSome() {
        do { try perform(makesRoom: true) { try IndexShrinking.step($0.index.db) } } catch { shrinking.stepFailed() }
        if !wantsShrinking { parts.index.checkpoint() }
    }
}
