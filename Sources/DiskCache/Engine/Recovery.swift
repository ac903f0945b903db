import Foundation
import Primitives

/// Makes the files agree with the index at each start. A killed recovery runs again; see `WriteContext+Bodies.swift`.
enum Recovery {
    /// Runs before the writer's thread starts.
    static func run(_ bodies: BodyStore, _ loop: WriterLoop, log: (DiskCacheNotice) -> Void) throws(DiskCacheError) {
        try completeWrites(bodies, loop, log: log)
        removeInterruptedCaptures(loop, log: log)
    }

    private static func completeWrites(
        _ bodies: BodyStore, _ loop: WriterLoop, log: (DiskCacheNotice) -> Void
    ) throws(DiskCacheError) {
        let names = try FileSystem.names(in: bodies.incoming)
        for name in names where name.hasSuffix(".part") { FileSystem.remove(bodies.incoming + "/" + name) }
        let olds = names.filter { $0.hasSuffix(".old") }.compactMap { name in
            Int64(digits: name.prefix { $0 != "-" }).map { (name: name, id: $0) }
        }
        let intents = try bodies.notedIntents()
        if olds.isEmpty && intents.isEmpty { return }

        try loop.perform { context in
            for path in intents { try removeUnlessKnown(path, context) }
            for (name, id) in olds { try putBackIfMissed(bodies.incoming + "/" + name, id: id, context) }
        }
        log(
            DiskCacheNotice(
                .info, "writes interrupted by the end of the last process were completed or undone",
                ["directory": .text(bodies.directory), "bodies": .number(olds.count), "paths": .number(intents.count)]))
    }

    /// Enough for a few captures, so that most starts leave no work.
    private static let stepsAtStart = 50

    /// Removes the captures that have no page, because the process ended while they ran or before they were removed. A
    /// failure, as on a full disk, leaves them for the next start.
    private static func removeInterruptedCaptures(_ loop: WriterLoop, log: (DiskCacheNotice) -> Void) {
        do throws(DiskCacheError) {
            // Most starts find no such capture, and begin no transaction.
            guard try loop.hasCapturesWithoutPage() else { return }
            for _ in 0..<stepsAtStart { guard try loop.removeSomeDropped() else { return } }
            // The writer's thread removes the rest, so that the start is not delayed.
            loop.noteDropped()
        } catch {
            log(DiskCacheNotice(.warning, "interrupted captures could not be removed", ["reason": "\(error)"]))
        }
    }

    /// Removes the file at a noted path that no row names, and the directories that become empty by that.
    private static func removeUnlessKnown(_ path: String, _ context: WriteContext) throws {
        guard isInside(path), try context.index.row(forPath: path) == nil else { return }
        let place = context.parts.bodies.absolute(path)
        if FileSystem.status(of: place)?.isRegular == true { FileSystem.unlink(place) }
        context.parts.bodies.removeEmptyDirectories(above: path)
    }

    /// Puts back a body that was taken away from an entry, if the entry still has that body according to the index.
    private static func putBackIfMissed(_ oldPath: String, id: Int64, _ context: WriteContext) throws {
        let bodies = context.parts.bodies
        guard let row = try context.index.row(forID: id), let path = row.path, let key = CacheKey(row.entry.key),
            let oldStatus = FileSystem.status(of: oldPath), oldStatus.isRegular
        else {
            // No entry needs the file, or `oldPath` is a directory, because a directory stood at the path of the body.
            FileSystem.remove(oldPath)
            return
        }
        let place = bodies.absolute(path)
        if FileSystem.status(of: place)?.identity.inode == oldStatus.identity.inode {
            FileSystem.unlink(oldPath)
            return
        }
        guard try !isBody(of: row, place), try isBody(of: row, oldPath) else {
            FileSystem.unlink(oldPath)
            return
        }
        if let slash = place.lastSlash { try? FileSystem.makeDirectories(String(place[..<slash])) }
        if FileSystem.rename(oldPath, to: place) == 0 { return try setFile(of: row, path, context) }
        // The path is now a directory in use, so the body gets another path. `oldPath` stays until the commit.
        for candidate in PathCandidates(besides: path, key: key) where try context.index.row(forPath: candidate) == nil
        {
            let target = bodies.absolute(candidate)
            try bodies.noteIntent(candidate)
            FileSystem.unlink(target)
            guard FileSystem.link(oldPath, to: target) == 0 else { continue }
            context.unsynced.placed(nil, at: target)
            try setFile(of: row, candidate, context)
            context.journal.afterwards { FileSystem.unlink(oldPath) }
            return
        }
    }

    private static func setFile(of row: EntryRow, _ path: String, _ context: WriteContext) throws {
        guard let status = FileSystem.status(of: context.parts.bodies.absolute(path)) else { return }
        try context.index.setFile(of: row.id, path: path, identity: status.identity)
    }

    private static func isBody(of row: EntryRow, _ path: String) throws(DiskCacheError) -> Bool {
        guard let status = FileSystem.status(of: path), status.isRegular,
            status.identity.size == row.entry.contentLength
        else { return false }
        let file = try FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW)
        return try BodyFile(file, length: row.entry.contentLength, path: path).digest() == row.entry.digest
    }

    /// Whether a noted path can be the path of a body. Recovery removes a file only at such a path.
    private static func isInside(_ path: String) -> Bool {
        // Splits by bytes, because a slash with a combining accent is a different `Character`.
        let components = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        return !components.contains { ["", ".", ".."].contains($0) } && BodyTree.isRoot(components[0])
    }
}
