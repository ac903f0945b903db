/// Wants to know what becomes of entries. It is told on the writer's thread, which must not be kept waiting; who reads
/// knows nothing of it.
public protocol EntryObserver: Sendable {
    /// Whether anybody would listen now. Asked for each change, so it must cost next to nothing.
    var isInterested: Bool { get }

    /// What one transaction has changed, in order, once that is durable and before it is acknowledged. Never empty.
    func entriesChanged(_ changes: [EntryChange])
}
