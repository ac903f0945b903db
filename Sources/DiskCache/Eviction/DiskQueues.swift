import GRDB

/// The policy's queues on disk: columns of the entries' rows, in the order of an index. They take no memory, and a
/// restart finds them as they were. A hit is counted when the access log is flushed, or when it matters.
struct DiskQueues: EvictionQueues {
    /// An entry's row.
    typealias ID = Int64
    typealias Failure = any Error

    private let context: WriteContext
    /// An entry that came to its queue after this turn is not offered; `nil`: all are.
    private let lastTurn: Int64?
    /// How many entries were moved.
    private(set) var moves = 0

    /// - Parameter lastTurn: begins a single pass over the entries that were there at this turn: each is looked at once
    ///   at the most, and keeps its hits. `nil`: no such pass.
    init(_ context: WriteContext, upTo lastTurn: Int64? = nil) {
        self.context = context
        self.lastTurn = lastTurn
    }

    var totals: QueueTotals { context.totals.queues }

    func oldest(in queue: EvictionQueue) throws -> QueuedEntry<ID>? {
        guard let (entry, key, turn) = try context.index.oldest(in: queue), turn <= lastTurn ?? .max else {
            return nil
        }
        // What was handed out a moment ago is in use, whatever the index says yet.
        guard context.parts.access.isPending(key) else { return entry }
        try context.flushAccess(only: key)
        return try context.index.oldest(in: queue)?.entry
    }

    mutating func move(_ entry: QueuedEntry<ID>, to place: QueuePlace) throws {
        moves += 1
        var place = place
        if lastTurn != nil { place.frequency = entry.place.frequency }
        try context.index.move(entry.id, to: place, turn: context.totals.nextSequence())
        context.totals.moved(cost: entry.cost, from: entry.place.queue, to: place.queue)
    }
}
