/// The instants at which a process may be killed while it changes what is on disk, for tests: a hook that throws
/// ``SimulatedCrash`` at one of them stops the writer there and then, with nothing undone and nothing committed.
enum CrashPoint: String, CaseIterable, Sendable {
    /// The path of a new body was noted; nothing was moved yet.
    case intentNoted
    /// The body that will be replaced has a second name in `incoming/`.
    case oldBodyLinked
    /// The new body is at its place.
    case bodyPlaced
    /// A body that stands where a directory is needed was taken away.
    case bodyTakenAway
    /// It has its new name.
    case bodyMoved
    /// The directory is there in its place.
    case directoryMade
    /// The body of an entry that goes is in `incoming/`.
    case bodySetAside
    /// A body is in its slot.
    case slotWritten
    /// All of the group is done.
    case beforeCommit
    /// All of the group is durable; what it replaced is still in `incoming/`.
    case afterCommit
}

/// See ``CrashPoint``.
struct SimulatedCrash: Error {}
