import GRDB

/// The policy's queues on disk: columns of the entries' rows, in the order of an index. The queues take no memory, and
/// survive a restart. A hit counts when the log of hits is flushed, or earlier when the policy examines the entry.
struct DiskQueues: EvictionQueues {
    typealias ID = Int64
    typealias Failure = any Error

    private let context: WriteContext
    private let lastTurn: Int64?
    private(set) var moves = 0

    /// `lastTurn` starts a single pass over the entries that were in the queues at this turn. The pass examines each
    /// entry at most once, and an entry keeps its hits.
    init(_ context: WriteContext, upTo lastTurn: Int64? = nil) {
        self.context = context
        self.lastTurn = lastTurn
    }

    var totals: QueueTotals { context.totals.queues }

    func oldest(in queue: EvictionQueue) throws -> QueuedEntry<ID>? {
        guard let (entry, key, turn) = try context.index.oldest(in: queue), turn <= lastTurn ?? .max else {
            return nil
        }
        // The entry was read a moment ago. The index does not count its pending hits yet.
        guard context.parts.hits.isPending(key) else { return entry }
        try context.flushHits(only: key)
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
