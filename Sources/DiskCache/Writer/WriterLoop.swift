import GRDB
import Primitives

/// How the writer's thread runs a group of operations: one transaction, its journal, and what follows the commit.
/// Touched by that thread alone.
///
/// `@unchecked Sendable` because it is made on the thread that starts the writer, handed to the writer's thread once,
/// and used only there.
final class WriterLoop: @unchecked Sendable {
    /// Something to do in a transaction. `finish` gets `nil` once it is durable.
    struct Job {
        var work: (WriteContext) throws -> Void
        var finish: (DiskCacheError?) -> Void
        /// Whether it removes something, and may have the ballast for it.
        var makesRoom = false
    }

    private let parts: CacheParts
    private var totals: Totals
    private let slots: SlabMap
    private let eviction: Eviction
    private let shrinking: IndexShrinking
    private let compaction: SlabCompaction
    /// A test stopped everything; see ``CrashPoint``.
    private(set) var isCrashed = false
    /// Whether the last transaction failed because the index is not at its place any more.
    private var isIndexLost = false

    /// A loop that knows what the index says now.
    init(_ parts: CacheParts) throws(DiskCacheError) {
        self.parts = parts
        eviction = Eviction(parts.configuration)
        let headRoom = Eviction.headRoom(ofLimit: parts.configuration.diskLimit)
        let (totals, slots, shrinking) = try mappingErrors {
            try parts.index.writing.writeWithoutTransaction {
                let slots = try SlabMap.load($0) {
                    parts.log(DiskCacheNotice(.error, "which slots are used is made anew of the rows", [:]))
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

    /// Runs the jobs in one transaction or, if that fails, each in its own; and one that found the disk full once more,
    /// unless this is its last try, when there is room to be had.
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
            // Now that files are gone and the log is short.
            if parts.budget.roomAtCommit < Self.scarceRoom { measureRoom() }
        } catch is SimulatedCrash {
            isCrashed = true
            for job in jobs { job.finish(.closed) }
        } catch {
            let failure = notice(error)
            if failure == .noSpace, jobs.count == 1, !isLastTry, findRoom(for: jobs[0]) {
                return run(jobs, isLastTry: true)
            }
            // An index that is gone, or locked by somebody else: trying once more for each job would help nobody.
            if jobs.count == 1 || failure.isBusy || isIndexLost {
                for job in jobs { job.finish(failure) }
            } else {
                for job in jobs { run([job]) }
            }
        }
    }

    /// Looks for room that a job can have on a full disk; whether there was any. The index's log has some to give back.
    /// And removing something needs room first, too, for that log: only for that there is the ballast.
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

    /// Runs the jobs and commits. What one of them throws is its failure; what this throws is everybody's, and all of
    /// it was undone.
    ///
    /// Jobs seldom fail after they have changed something, and a savepoint for each would have SQLite keep a copy of
    /// every page that it touches. So they are tried without, and once more with savepoints when that was wrong.
    private func transaction(_ jobs: [Job], _ failures: inout [DiskCacheError?]) throws -> WriteContext {
        do {
            return try transaction(jobs, &failures, hasSavepoints: false)
        } catch is SavepointNeeded {
            return try transaction(jobs, &failures, hasSavepoints: true)
        }
    }

    /// A job failed that had changed something already.
    private struct SavepointNeeded: Error {}

    private func transaction(
        _ jobs: [Job], _ failures: inout [DiskCacheError?], hasSavepoints: Bool
    ) throws -> WriteContext {
        // Unless one of the jobs says otherwise: others wait for it.
        Processor.keep()
        return try parts.index.writing.writeWithoutTransaction { db in
            try db.beginTransaction(.immediate)
            let context = WriteContext(parts, db: db, totals: totals, slots: slots, eviction: eviction)
            let freePages: Int64
            do {
                for (number, job) in jobs.enumerated() {
                    failures[number] = try run(
                        job, in: context, isAlone: jobs.count == 1, hasSavepoint: hasSavepoints)
                }
                try context.unsynced.finish()
                try context.reach(.beforeCommit)
                try context.totals.save(db)
                try slots.save(db)
                freePages = try IndexShrinking.freePages(db)
                // What is acknowledged must be there after a restart. Last, to leave a removal little time to slip
                // through.
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

    /// Runs one job, and undoes it if it fails. Throws when the whole transaction is lost.
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
            // A full disk or an I/O error may have rolled everything back already.
            guard db.isInsideTransaction else { throw error }
            // On a full disk each job is better off alone.
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

    /// What made a transaction fail. When the index is not at its place any more then that did, whatever else there is
    /// to say of files that are missing; it is logged once.
    private func notice(_ error: any Error) -> DiskCacheError {
        do throws(DiskCacheError) {
            try parts.index.checkPlace()
        } catch {
            if !isIndexLost { parts.log(DiskCacheNotice(.error, "the index is lost", ["reason": "\(error)"])) }
            isIndexLost = true
            return error
        }
        // It may have been put back.
        isIndexLost = false
        let failure = parts.index.notice(error)
        // SQLite knows no quotas, and its shared memory no full disk: to it either is an I/O error.
        return failure.isIndexIO && !FileSystem.hasRoom(in: parts.bodies.incoming) ? .noSpace : failure
    }

    // MARK: - Head-room

    /// With less, room is measured when it was made, too.
    private static let scarceRoom: Int64 = 64 << 20

    private func measureRoom() {
        parts.budget.commit(
            used: totals.diskBytes, pinned: totals.pinnedBytes,
            reusable: shrinking.freePages * 4096 + slots.slackBytes)
    }

    /// Whether there is something to do when nobody wants anything.
    var hasUpkeep: Bool { bytesToEvict > 0 || wantsCompaction || wantsShrinking }

    /// Does some of it.
    func upkeep() {
        let bytes = bytesToEvict
        if bytes > 0 { evictSome(bytes) }
        if wantsCompaction { compactSome() }
        if wantsShrinking { shrinkSome() }
    }

    /// How many bytes should go before anybody needs them, because so little room is left.
    private var bytesToEvict: Int64 { isCrashed ? 0 : eviction.wanted(parts.budget.fullness) }

    /// Makes some room, in one small step.
    private func evictSome(_ bytes: Int64) {
        let (eviction, fullness) = (eviction, parts.budget.fullness)
        var freed = Eviction.Freed()
        run([
            Job(
                work: { context in freed = try eviction.stepAhead(context, toFree: bytes, fullness) },
                // What was not committed made no room: it is no use to try again at once.
                finish: { error in if error != nil { freed = Eviction.Freed() } }, makesRoom: true)
        ])
        eviction.stepEnded(freed, fullness, used: parts.budget.fullness.used)
    }

    /// Whether free slots take more room than the next bodies need.
    private var wantsCompaction: Bool { !isCrashed && compaction.isWanted(slots, room: parts.budget.roomAtCommit) }

    /// Gives some of it back.
    private func compactSome() {
        guard compaction.begins(slots) else { return }
        run([
            Job(
                work: { [compaction] context in try compaction.step(context) },
                finish: { [compaction, slots] error in if error != nil { compaction.stepFailed(slots) } },
                makesRoom: true)
        ])
    }

    /// Whether the index has more free pages than the next entries need.
    private var wantsShrinking: Bool { !isCrashed && shrinking.isWanted(room: parts.budget.roomAtCommit) }

    /// Gives some of them back, and cuts the file once that was enough.
    private func shrinkSome() {
        run([
            Job(
                work: { context in try IndexShrinking.step(context.index.db) },
                finish: { [shrinking] error in if error != nil { shrinking.stepFailed() } }, makesRoom: true)
        ])
        if !wantsShrinking { parts.index.checkpoint() }
    }
}
