/// The writer's thread calls the methods, so they must not block. Reading an entry never calls the observer.
package protocol EntryObserver: Sendable {
    /// Whether an event would reach a listener now. Read for each change, so it must be very cheap.
    var isInterested: Bool { get }

    /// Receives the changes of one transaction in order, after the transaction is durable and before it is
    /// acknowledged. The number at the end of a bulk removal may come in a call of its own. `changes` is never empty.
    func entriesChanged(_ changes: [EntryChange])
}
