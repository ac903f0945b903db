// Every crash point of what happens to files inside a transaction. P is a body's path, D what the index says its digest
// is as of the last commit. `.old` is `incoming/<id>-<n>.old`. At the next start Recovery first removes what stands at
// noted paths that no row names, with directories that are empty then, and after that looks at each `.old`.
//
// | killed after | on disk | what the next start does |
// |---|---|---|
// | *new body* intentNoted | nothing yet | nothing |
// | bodyPlaced, beforeCommit | a body at P, no row | removes it (intent) |
// | afterCommit | a body at P, its row | nothing |
// | *replacing* oldBodyLinked | P and `.old`: one file with D | drops `.old` |
// | bodyPlaced, beforeCommit | P: new body, `.old`: D | renames `.old` back to P |
// | afterCommit | P: new body with D (now the new digest), `.old`: the one before | drops `.old` |
// | *replacing, at another path Q* | as a new body at Q, and as removing P | |
// | *removing* bodySetAside, beforeCommit | P: nothing, `.old`: D | renames `.old` back to P |
// | afterCommit | no row, `.old` | drops `.old` |
// | *removing, then a new body at P, in one transaction* beforeCommit | P: new body, `.old`: D | renames `.old` to P |
// | afterCommit | P: new body with its row, `.old` without | drops `.old` |
// | *making way for a directory at P* bodyTakenAway | P: nothing, `.old`: D | renames `.old` back to P |
// | bodyMoved | P: nothing, `.old` and P~key: one file with D | removes P~key (intent), renames `.old` back to P |
// | directoryMade, bodyPlaced, beforeCommit | P: a directory, perhaps with a new body | removes the new body and P~key (intents) and so the directory, renames `.old` back to P; should the directory stay, `.old` goes to a path chosen as for a new body, and the row says so |
// | afterCommit | P~key with its row, `.old`: the same file | drops `.old` |
//
// A transaction that fails without a kill is undone by the journal, in the opposite order.
//
// A power cut leaves the same, if what was acknowledged shall survive one: see UnsyncedBodies.

import Foundation
import Primitives

extension WriteContext {
    /// Takes the body at `path` away from its entry; it is gone once the transaction is durable.
    func setAside(_ path: String, id: Int64) throws {
        try parts.index.checkPlace()
        let (bodies, place) = (parts.bodies, parts.bodies.absolute(path))
        // The body was taken away before, to make way for a directory.
        if FileSystem.status(of: place)?.isDirectory == true { return }
        let old = bodies.newOldPath(id: id)
        let code = bodies.movingIn { FileSystem.rename(place, to: old) }
        // Somebody removed the file, or what was above it: that is what was wanted.
        if code == ENOENT || code == ENOTDIR { return }
        guard code == 0 else { throw DiskCacheError.system("rename", place, code) }
        unsynced.keptOld()
        journal.onUndo { BodyStore.putBack(old, to: place) }
        journal.afterwards {
            FileSystem.unlink(old)
            bodies.removeEmptyDirectories(above: path)
        }
        try reach(.bodySetAside)
    }

    /// Puts a received body at its place: at the path that the layout gives it or, where another entry's body or a
    /// directory is in the way, beside it.
    ///
    /// - Parameter replaced: the row of the same key, whose place may be taken over.
    func place(
        _ body: BodyFile, part: String, id: Int64, key: CacheKey, url: String?, replacing replaced: EntryRow?
    ) throws -> (path: String, identity: FileIdentity) {
        // In a directory that has become another's, a place that is free in our index may hold a body of theirs.
        try parts.index.checkPlace()
        for path in PathCandidates(layout: parts.configuration.layout, key: key, url: url) {
            let owner = try index.row(forPath: path)
            if let owner, owner.id != id { continue }
            let place = parts.bodies.absolute(path)
            try parts.bodies.noteIntent(path)
            try reach(.intentNoted)
            if owner != nil { try linkOld(path, id: id) }
            guard try move(part, to: path, place: place, of: id) else { continue }
            unsynced.placed(body, at: place)
            try reach(.bodyPlaced)
            guard let status = body.status() else { throw DiskCacheError.system("fstat", place, errno) }
            if let old = replaced?.path, old != path { try setAside(old, id: id) }
            return (path, status.identity)
        }
        throw DiskCacheError.system("rename", parts.bodies.absolute(HashedPath.path(for: key)), EEXIST)
    }

    /// Gives the body that is about to be replaced a second name.
    private func linkOld(_ path: String, id: Int64) throws {
        let place = parts.bodies.absolute(path)
        // The body has gone, and others have been put below its place since: they are none of ours to take away.
        if FileSystem.status(of: place)?.isDirectory == true { return }
        let old = parts.bodies.newOldPath(id: id)
        var code = parts.bodies.movingIn { FileSystem.link(place, to: old) }
        // A file system without hard links: for a moment the body is under its other name only.
        if code == EPERM || code == EOPNOTSUPP || code == EMLINK { code = FileSystem.rename(place, to: old) }
        if code == ENOENT || code == ENOTDIR { return }
        guard code == 0 else { throw DiskCacheError.system("link", place, code) }
        unsynced.keptOld()
        journal.onUndo { BodyStore.putBack(old, to: place) }
        journal.afterwards { FileSystem.unlink(old) }
        try reach(.oldBodyLinked)
    }

    /// Renames a received body to its place, makes the directories above it and clears its way. `false` when a
    /// directory that is in use stands there.
    private func move(_ part: String, to path: String, place: String, of id: Int64) throws -> Bool {
        try unsynced.willReplace()
        // Most of the time everything is there; only then is it worth looking why not.
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

    /// Makes the directories above a body; a body that stands where one of them must be goes out of its way.
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

    /// Moves the body at `path` to a name beside it, because a directory is needed there for the body of the entry
    /// `id`.
    private func takeAway(_ path: String, for id: Int64) throws {
        let place = parts.bodies.absolute(path)
        guard let row = try index.row(forPath: path), let key = CacheKey(row.entry.key) else {
            // Nobody's: what was left behind when an index was set aside.
            FileSystem.unlink(place)
            return
        }
        // The body that is being replaced, of another URL with the same MD5.
        if row.id == id { return try setAside(path, id: id) }
        let old = parts.bodies.newOldPath(id: row.id)
        let code = parts.bodies.movingIn { FileSystem.rename(place, to: old) }
        guard code == 0 else { throw DiskCacheError.system("rename", place, code) }
        unsynced.keptOld()
        journal.onUndo { BodyStore.putBack(old, to: place) }
        journal.afterwards { FileSystem.unlink(old) }
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

extension BodyStore {
    /// Undoes a ``WriteContext/setAside(_:id:)``: renames an `.old` back to where it was.
    static func putBack(_ old: String, to place: String) {
        var code = FileSystem.rename(old, to: place)
        if code == ENOENT, let slash = place.lastSlash {
            try? FileSystem.makeDirectories(String(place[..<slash]))
            code = FileSystem.rename(old, to: place)
        }
        // Between two names of one file a rename does nothing. What could not be put back stays for the next start.
        if code == 0 { FileSystem.unlink(old) }
    }
}

/// Where a body may go, in the order in which it is tried.
struct PathCandidates: Sequence, IteratorProtocol {
    private let first: String
    private let second: String?
    private let stem: String
    private var number = 0

    /// The place that the layout gives a body; in the readable layout then the one for when a directory is there; then
    /// `~1`, `~2`, … behind it.
    init(layout: Layout, key: CacheKey, url: String?) {
        first = layout.path(for: key, url: url)
        let alternative = layout == .readable ? ReadablePath.alternative(for: first, key: key) : first
        second = alternative == first ? nil : alternative
        stem = alternative
    }

    /// The places for a body that has to leave `path`.
    init(besides path: String, key: CacheKey) {
        let alternative = ReadablePath.alternative(for: path, key: key)
        first = alternative == path ? alternative + "~1" : alternative
        second = nil
        stem = first
    }

    mutating func next() -> String? {
        defer { number += 1 }
        switch number {
        case 0: return first
        case 1 where second != nil: return second
        // Nothing comes near this many texts of one MD5.
        case ..<1000: return "\(stem)~\(second == nil ? number : number - 1)"
        default: return nil
        }
    }
}
