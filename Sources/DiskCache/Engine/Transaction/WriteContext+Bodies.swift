// All crash points of the changes to files inside a transaction. P is the path of a body. D is the digest of that body
// in the index as of the last commit. `.old` is `incoming/<id>-<n>.old`. At the next start, Recovery first removes the
// files at noted paths that no row names, and the directories that become empty by that. Then it handles each `.old`.
//
// | killed after | on disk | at the next start |
// |---|---|---|
// | *new body* intentNoted | no change yet | no action |
// | bodyPlaced, beforeCommit | a body at P, no row | removes the body (intent) |
// | afterCommit | a body at P, its row | no action |
// | *replacing* oldBodyLinked | P and `.old`: the same file with D | drops `.old` |
// | bodyPlaced, beforeCommit | P: new body, `.old`: D | renames `.old` back to P |
// | afterCommit | P: new body with D (now the new digest), `.old`: the old body | drops `.old` |
// | *replacing, at another path Q* | as a new body at Q, and as removing P | |
// | *removing* bodySetAside, beforeCommit | P: no file, `.old`: D | renames `.old` back to P |
// | afterCommit | no row, `.old` | drops `.old` |
// | *removing, then a new body at P, in one transaction* beforeCommit | P: new body, `.old`: D | renames `.old` to P |
// | afterCommit | P: new body with its row, `.old` without a row | drops `.old` |
// | *making way for a directory at P* bodyTakenAway | P: no file, `.old`: D | renames `.old` back to P |
// | bodyMoved | P: no file, `.old` and P~key: the same file with D | removes P~key (intent), renames `.old` back to P |
// | directoryMade, bodyPlaced, beforeCommit | P: a directory, perhaps with a new body | removes the new body and P~key (intents) and so the directory, renames `.old` back to P; if the directory stays, `.old` moves to a path chosen as for a new body, and the row gets that path |
// | afterCommit | P~key with its row, `.old`: the same file | drops `.old` |
//
// If a transaction fails without a kill, the journal undoes its steps in reverse order.
//
// With `Durability.power`, a power cut leaves the same files as a kill; see UnsyncedBodies.
//
// All crash points of the changes to slots inside a transaction. A slot that a row names is never written. So a kill at
// any time leaves the bodies intact that the rows and the table `extents` of the last commit name.
//
// | killed after | on disk | at the next start |
// |---|---|---|
// | slotWritten, beforeCommit | a body and its SlabRecord in a free slot | no action: the slot is overwritten later |
// | afterCommit | the body, its row, and the slot as used; the replaced body is in a free slot | no action |

import Foundation
import Primitives

extension WriteContext {
    /// Takes the body at `path` away from its entry. The file is removed once the transaction is durable.
    func setAside(_ path: String, id: Int64) throws {
        try parts.index.checkPlace()
        guard try keepOld(path, id: id, "rename", FileSystem.rename) != nil else { return }
        journal.afterwards { [bodies = parts.bodies] in bodies.removeEmptyDirectories(above: path) }
        try reach(.bodySetAside)
    }

    /// Gives the body at `path`, which a row names, a name in `incoming/`. `call` links or renames, and returns the
    /// error number. Returns the name; `nil` if another program removed the body, or a directory has taken its place.
    private func keepOld(
        _ path: String, id: Int64, _ operation: String, _ call: (_ place: String, _ old: String) -> Int32
    ) throws -> String? {
        let place = parts.bodies.absolute(path)
        // The files in the directory at this path belong to other entries.
        if FileSystem.status(of: place)?.isDirectory == true { return nil }
        let old = parts.bodies.newOldPath(id: id)
        let code = parts.bodies.movingIn { call(place, old) }
        if code == ENOENT || code == ENOTDIR { return nil }
        guard code == 0 else { throw DiskCacheError.system(operation, place, code) }
        unsynced.keptOld()
        journal.onUndo { BodyStore.putBack(old, to: place) }
        journal.afterwards { FileSystem.unlink(old) }
        return old
    }

    /// Moves a body to its path in the layout, or beside it if another entry than `replaced`, or a directory, is there.
    func place(
        _ body: BodyFile, id: Int64, key: CacheKey, url: String?, replacing replaced: EntryRow?
    ) throws -> (path: String, identity: FileIdentity) {
        // Another cache that has taken over the directory may have a body at a path that is free in this index.
        try parts.index.checkPlace()
        for path in PathCandidates(layout: parts.configuration.layout, key: key, url: url) {
            let owner = try index.row(forPath: path)
            if let owner, owner.id != id { continue }
            let place = parts.bodies.absolute(path)
            try parts.bodies.noteIntent(path)
            try reach(.intentNoted)
            if owner != nil, try keepOld(path, id: id, "link", Self.linkOrRename) != nil { try reach(.oldBodyLinked) }
            guard try move(body.path, to: path, place: place, of: id) else { continue }
            unsynced.placed(body, at: place)
            try reach(.bodyPlaced)
            guard let status = body.status() else { throw DiskCacheError.system("fstat", place, errno) }
            if let old = replaced?.path, old != path { try setAside(old, id: id) }
            return (path, status.identity)
        }
        let path = parts.configuration.layout.path(for: key, url: url)
        throw DiskCacheError.system("rename", parts.bodies.absolute(path), EEXIST)
    }

    /// Links, or renames on a file system without hard links; then only `.old` exists until the new body is placed.
    private static func linkOrRename(_ place: String, _ old: String) -> Int32 {
        let code = FileSystem.link(place, to: old)
        return [EPERM, EOPNOTSUPP, EMLINK].contains(code) ? FileSystem.rename(place, to: old) : code
    }

    /// Renames a body to `path`, and makes its directories. Returns `false` if a directory with files is at `path`.
    private func move(_ part: String, to path: String, place: String, of id: Int64) throws -> Bool {
        try unsynced.willReplace()
        // The rename comes first, because it mostly succeeds. Only a failure makes or removes directories.
        for attempt in 0..<3 {
            let code = FileSystem.rename(part, to: place)
            switch code {
            case 0:
                journal.onUndo { [bodies = parts.bodies] in
                    _ = FileSystem.rename(place, to: part)
                    bodies.removeEmptyDirectories(above: path)
                }
                return true
            case ENOENT where attempt < 2, ENOTDIR where attempt < 2:
                try makeDirectories(above: path, of: id)
            case EISDIR where attempt < 2, ENOTEMPTY where attempt < 2, EEXIST where attempt < 2:
                if !FileSystem.removeDirectory(place) { return false }
            default: throw DiskCacheError.system("rename", place, code)
            }
        }
        return false
    }

    /// Makes the missing directories. A body that stands in place of such a directory is moved away.
    private func makeDirectories(above path: String, of id: Int64) throws {
        var position = path.utf8.startIndex
        while let slash = path.utf8[position...].firstIndex(of: UInt8(ascii: "/")) {
            let prefix = String(path[..<slash])
            let directory = parts.bodies.absolute(prefix)
            var code = FileSystem.makeDirectory(directory)
            if code == EEXIST, FileSystem.status(of: directory)?.isDirectory == false {
                try takeAway(prefix, for: id)
                code = FileSystem.makeDirectory(directory)
            }
            if code == 0 {
                unsynced.named(directory)
                journal.onUndo { FileSystem.removeDirectory(directory) }
                try reach(.directoryMade)
            } else if code != EEXIST {
                throw DiskCacheError.system("mkdir", directory, code)
            }
            position = path.utf8.index(after: slash)
        }
    }

    /// Moves the body at `path` to a path beside it, because the body of the entry `id` needs a directory there.
    private func takeAway(_ path: String, for id: Int64) throws {
        let place = parts.bodies.absolute(path)
        guard let row = try index.row(forPath: path), let key = CacheKey(row.entry.key) else {
            // No row names the file: it was left behind when an index was set aside.
            FileSystem.unlink(place)
            return
        }
        // The body in the way is the old body of this entry. The old and the new URL have the same MD5.
        if row.id == id { return try setAside(path, id: id) }
        guard let old = try keepOld(path, id: row.id, "rename", FileSystem.rename) else {
            throw DiskCacheError.system("rename", place, ENOENT)
        }
        try reach(.bodyTakenAway)
        for candidate in PathCandidates(besides: path, key: key) {
            if try index.row(forPath: candidate) != nil { continue }
            let target = parts.bodies.absolute(candidate)
            try parts.bodies.noteIntent(candidate)
            var code = FileSystem.link(old, to: target)
            if code == EEXIST, FileSystem.status(of: target)?.isRegular == true {
                FileSystem.unlink(target)
                code = FileSystem.link(old, to: target)
            }
            if code == EEXIST { continue }
            guard code == 0, let status = FileSystem.status(of: target) else {
                throw DiskCacheError.system("link", target, code)
            }
            unsynced.placed(nil, at: target)
            journal.onUndo { FileSystem.unlink(target) }
            try index.setFile(of: row.id, path: candidate, identity: status.identity)
            invalidate(row.entry.key)
            try reach(.bodyMoved)
            return
        }
        throw DiskCacheError.system("link", place, EEXIST)
    }
}

extension WriteContext {
    func keep(_ body: SharedBytes, of entry: Entry) throws -> Slot {
        let record = SlabRecord(of: entry, at: now)
        let slot = take(for: record.bytes.count + body.count)
        try parts.slab.write(record, body, in: slot)
        unsynced.wroteSlot()
        try reach(.slotWritten)
        return slot
    }

    /// Writes the body of a row to another slot, with a new ``SlabRecord`` that agrees with the row.
    func rewrite(_ row: EntryRow, _ body: SharedBytes) throws {
        try setSlot(of: row, keep(body, of: row.entry))
    }

    private func setSlot(of row: EntryRow, _ slot: Slot) throws {
        if let old = row.slot { free(old) }
        try index.setSlot(of: row.id, slot)
        journal.onCommit { [slotTable = parts.slotTable] in slotTable.remove(ExactText(row.entry.key).hashValue) }
    }

    /// The slot of an entry that gets new metadata. If its ``SlabRecord`` changes, too, the body moves to a new slot.
    func slot(of entry: Entry, as old: EntryRow) throws -> Slot? {
        guard let slot = old.slot, !SlabRecord.isSame(of: entry, old.entry),
            let body = try parts.slab.body(of: entry, in: slot)
        else { return old.slot }
        let new = try keep(body, of: entry)
        free(slot)
        return new
    }

    /// Another body may take the slot once the transaction is durable.
    func free(_ slot: Slot) {
        if slots.free(slot) { journal.onUndo { [slots] in slots.keep(slot) } }
    }

    /// Copies a body to another slot of the same size. `content` has all bytes of the current slot.
    func move(_ row: EntryRow, _ content: SharedBytes) throws {
        guard let old = row.slot else { return }
        let slot = take(for: old.slotClass.size)
        try parts.slab.write(content, in: slot)
        unsynced.wroteSlot()
        try setSlot(of: row, slot)
        try reach(.slotWritten)
    }

    private func take(for length: Int) -> Slot {
        let slot = slots.take(for: length)
        journal.onUndo { [slots] in slots.takeBack(slot) }
        return slot
    }
}

/// The new bodies of a transaction and their directories. With ``Durability/power`` they are synced in this order, and
/// before the commit, so a power cut leaves the same files as a kill; see the table at the top of this file. A group of
/// operations shares the syncs. Intents are not synced: if intent and row are lost, the scrubber removes the body.
struct UnsyncedBodies {
    private let parts: CacheParts
    private var files: [(body: BodyFile, path: String)] = []
    private var directories: Set<String> = []
    private var holdsSlots = false
    /// Whether a body that a committed row names may have its only name in `incoming/`, which is not synced yet.
    private var holdsOld = false

    init(_ parts: CacheParts) {
        self.parts = parts
    }

    private var isWanted: Bool { parts.configuration.durability == .power }
    private var sync: FileSync { parts.sync }

    mutating func placed(_ body: BodyFile?, at place: String) {
        guard isWanted else { return }
        if let body { files.append((body, place)) }
        named(place)
    }

    mutating func wroteSlot() { holdsSlots = isWanted }
    mutating func keptOld() { holdsOld = isWanted }

    /// The directory of `place` has a new name that must survive a power cut.
    mutating func named(_ place: String) {
        guard isWanted, let slash = place.lastSlash else { return }
        directories.insert(String(place[..<slash]))
    }

    /// Syncs `incoming/` before another file replaces a body, so that the body's second name is on the disk.
    mutating func willReplace() throws(DiskCacheError) {
        guard holdsOld else { return }
        try check(sync.directory(parts.bodies.incoming), parts.bodies.incoming)
        holdsOld = false
    }

    mutating func finish() throws(DiskCacheError) {
        // Unlike a ``BodyFile``, the slab is synced again after a failure: a retry rewrites the slots.
        if holdsSlots { try check(sync.file(parts.slab.file), parts.slab.path) }
        for (body, path) in files { try check(body.sync(by: sync.file), path) }
        for directory in directories { try check(sync.directory(directory), directory) }
        (files, directories, holdsSlots) = ([], [], false)
    }

    private func check(_ code: Int32, _ path: String) throws(DiskCacheError) {
        if code != 0 { throw .system("fsync", path, code) }
    }
}
