/// What a transaction did to files that must be on the disk before its rows are: bodies first, then the directories
/// that name them, and after both SQLite's log, with the commit. All of a group at once.
///
/// What a power cut leaves of a transaction that was not committed is what a kill leaves, see the table in
/// `WriteContext+Bodies.swift`; an intent that was lost costs room until the scrub finds the body.
struct UnsyncedBodies {
    private let sync: FileSync
    private let isWanted: Bool
    private let incoming: String
    private let slab: Slab
    private var files: [(body: BodyFile, path: String)] = []
    private var directories: Set<String> = []
    private var holdsSlots = false
    /// Whether a body that a row still names may have its only name in `incoming/`.
    private var holdsOld = false

    init(_ parts: CacheParts) {
        sync = parts.sync
        isWanted = parts.configuration.durability == .power
        incoming = parts.bodies.incoming
        slab = parts.slab
    }

    /// A body is at that place now.
    mutating func placed(_ body: BodyFile?, at place: String) {
        guard isWanted else { return }
        if let body { files.append((body, place)) }
        named(place)
    }

    /// A body is in a slot now.
    mutating func wroteSlot() { holdsSlots = isWanted }

    /// A name that must last is in its directory now.
    mutating func named(_ place: String) {
        guard isWanted, let slash = place.lastSlash else { return }
        directories.insert(String(place[..<slash]))
    }

    /// A body that a row names got a name in `incoming/`, and may lose its own.
    mutating func keptOld() { holdsOld = isWanted }

    /// Something will take the place of a body: the name that it has in `incoming/` must be on the disk by then.
    mutating func willReplace() throws(DiskCacheError) {
        guard holdsOld else { return }
        try check(sync.directory(incoming), incoming)
        holdsOld = false
    }

    /// Has the disk keep all of it.
    mutating func finish() throws(DiskCacheError) {
        // Asked again after a failure: what failed is written again, for the transaction is undone.
        if holdsSlots { try check(sync.file(slab.file), slab.path) }
        for (body, path) in files { try check(body.sync(by: sync.file), path) }
        for directory in directories { try check(sync.directory(directory), directory) }
        (files, directories, holdsSlots) = ([], [], false)
    }

    private func check(_ code: Int32, _ path: String) throws(DiskCacheError) {
        if code != 0 { throw .system("fsync", path, code) }
    }
}
