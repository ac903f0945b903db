import Primitives

/// The bodies that a running capture, or the stage of a generation, has stored as resources. They go after
/// ``abandon()``, and after a restart, unless a page has taken the capture over or another capture uses them.
final class CaptureBodies: Sendable {
    /// Grows with each capture in the namespace; no capture gets a number twice.
    let number: Int64
    private let parts: CacheParts
    private let writer: Writer

    init(_ number: Int64, parts: CacheParts, writer: Writer) {
        self.number = number
        self.parts = parts
        self.writer = writer
    }

    deinit { abandon() }

    /// Begins to receive a body. The entry that the publish returns has the digest of the body.
    func reserve() -> Reservation {
        // The key is the digest, which is not known before the whole body was received.
        let key = CacheKey.resource(digest: [])
        return Reservation(
            PendingStore(key: key, kind: .resource, url: nil, tags: []), pinned: false, capture: number, parts: parts,
            writer: writer)
    }

    func couldHold(_ bytes: Int64) -> Bool { parts.budget.couldHold(bytes, asPinned: false) }

    /// Gives the room back in the background. Has no effect on a capture that has ended.
    func abandon() {
        guard parts.runningCaptures.contains(number) else { return }
        parts.runningCaptures.end(number)
        parts.runningCaptures.noteDropped()
        // The writer removes dropped captures when it has run a group of operations.
        writer.submit({ _ in }, completion: { _ in })
    }
}
