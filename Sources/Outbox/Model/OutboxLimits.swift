import Primitives

/// The room that changes may take.
package struct OutboxLimits: Hashable, Sendable {
    /// The longest body, base body or patch of a change, in bytes.
    package var changeBytes = 1 << 20
    /// The most changes of a namespace that have not ended.
    package var changesPerNamespace = 10_000
    /// The most bytes of a namespace's changes that have not ended, with bases, patches and fields.
    package var bytesPerNamespace: Int64 = 256 << 20
    /// The most edits of one resource that have not ended. When the first of them ends, a reader's body is made of all
    /// others again. A POST is no edit.
    package var editsPerResource = 256
    /// The ended changes that a namespace keeps, newest first. They answer repeated idempotency keys, and can be
    /// reverted. A thousand fill a few pages of a listing.
    package var endedChanges = 1000
    /// The bytes of the ended changes that a namespace keeps: a quarter of the room of changes that have not ended.
    package var endedBytes: Int64 = 64 << 20
    /// The time for which an ended change is kept at most. A week outlives weekends and the retries of most clients.
    package var endedAge: Duration = .seconds(7 * 86_400)

    /// The most credentials of a namespace. A listing has all of them.
    package var credentialsPerNamespace = 256

    package init() {}
}
