/// Points at which tests simulate a kill while files are being changed. A hook that throws ``SimulatedCrash`` at such a
/// point stops the writer there, without an undo and without a commit.
package enum CrashPoint: String, CaseIterable, Sendable {
    /// The path of a new body was noted. No file was moved yet.
    case intentNoted
    /// The body that is to be replaced has a second name in `incoming/`.
    case oldBodyLinked
    case bodyPlaced
    /// A body that stood where a directory is needed was moved to `incoming/`.
    case bodyTakenAway
    /// That body has its new name.
    case bodyMoved
    case directoryMade
    /// The body of a removed entry is in `incoming/`.
    case bodySetAside
    case slotWritten
    case beforeCommit
    /// The transaction is durable. The bodies that it replaced are still in `incoming/`.
    case afterCommit
}

struct SimulatedCrash: Error {}
