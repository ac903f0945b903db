/// The files of a transaction that must be on the disk before its rows. The order is: the bodies, then the directories
/// that name them, then the log of SQLite with the commit. A group of operations shares these syncs. A power cut leaves
/// of an uncommitted transaction the same files as a kill; see the table in `WriteContext+Bodies.swift`. An intent that
/// is lost costs room until the scrubber finds the body.
struct UnsyncedBodies {
    private let sync: FileSync
    private let isWanted: Bool
    private let incoming: String
    private let slab: Slab
    private var files: [(body: BodyFile, path: String)] = []
    private var directories: Set<String> = []
    private var holdsSlots = false
    /// Whether the only name of a body that a row still names may be in `incoming/`.
    private var holdsOld = false

    init(_ sync: FileSync, isWanted: Bool, incoming: String, slab: Slab) {
        self.sync = sync
        self.isWanted = isWanted
        self.incoming = incoming
        self.slab = slab
    }

    mutating func placed(_ body: BodyFile?, at place: String) {
        guard isWanted else { return }
        if let body { files.append((body, place)) }
        named(place)
    }

    mutating func wroteSlot() { holdsSlots = isWanted }

    /// The directory has a new name that must survive a power cut.
    mutating func named(_ place: String) {
        guard isWanted, let slash = place.lastSlash else { return }
        directories.insert(String(place[..<slash]))
    }

    /// A body that a row names got a name in `incoming/` and may lose its own.
    mutating func keptOld() { holdsOld = isWanted }

    /// Syncs `incoming/` before another file replaces a body, so that the body's second name is on the disk.
    mutating func willReplace() throws(DiskCacheError) {
        guard holdsOld else { return }
        try check(sync.directory(incoming), incoming)
        holdsOld = false
    }

    mutating func finish() throws(DiskCacheError) {
        // Unlike a ``BodyFile``, the slab is synced again after a failure: a retry rewrites the slots.
        if holdsSlots { try check(sync.file(slab.file), slab.path) }
        for (body, path) in files { try check(body.sync(by: sync.file), path) }
        for directory in directories { try check(sync.directory(directory), directory) }
        (files, directories, holdsSlots) = ([], [], false)
    }

    private func check(_ code: Int32, _ path: String) throws(DiskCacheError) {
        if code != 0 { throw .system("fsync", path, code) }
    }
}
