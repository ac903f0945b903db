import GRDB

/// The policy's queues on disk: columns of the entries' rows, in the order of an index. They take no memory, and a
/// restart finds them as they were. A hit is counted when the access log is flushed, or when it matters.
struct DiskQueues: EvictionQueues {
    /// An entry's row.
    typealias ID = Int64
    typealias Failure = any Error

    private let context: WriteContext
    /// How many entries were moved.
    private(set) var moves = 0

    init(_ context: WriteContext) {
        self.context = context
    }

    var totals: QueueTotals { context.totals.queues }

    func oldest(in queue: EvictionQueue) throws -> QueuedEntry<ID>? {
        guard let (entry, key) = try context.index.oldest(in: queue) else { return nil }
        // What was handed out a moment ago is in use, whatever the index says yet.
        guard context.parts.access.isPending(key) else { return entry }
        try context.flushAccess(only: key)
        return try context.index.oldest(in: queue)?.entry
    }

    mutating func move(_ entry: QueuedEntry<ID>, to place: QueuePlace) throws {
        moves += 1
        try context.index.move(entry.id, to: place, turn: context.totals.nextSequence())
        context.totals.moved(cost: entry.cost, from: entry.place.queue, to: place.queue)
    }
}
