/// An observer of stored and removed entries. The writer's thread calls it, so its methods must not block. Reading an
/// entry never calls the observer.
package protocol EntryObserver: Sendable {
    /// Whether an event would reach a listener now. The cache reads this for each change, so it must be very cheap.
    var isInterested: Bool { get }

    /// Receives the changes of one transaction in order, after the transaction is durable and before it is
    /// acknowledged. The number at the end of a bulk removal (``EntryChange/Subject/others(count:_:)``) may come in a
    /// call of its own. `changes` is never empty.
    func entriesChanged(_ changes: [EntryChange])
}
