/// The numbers are stored in the index and never change.
enum EvictionQueue: UInt8, Sendable {
    case small = 0
    case main = 1
}

/// The part of the policy's state that is stored with each entry.
struct QueuePlace: Equatable, Sendable {
    static let frequencyLimit: UInt8 = 3
    var queue: EvictionQueue
    /// The hits since the entry came to this queue, at most ``frequencyLimit``. An entry that is spared loses one.
    var frequency: UInt8 = 0

    mutating func hit() {
        if frequency < Self.frequencyLimit { frequency += 1 }
    }
}

struct QueuedEntry<ID: Sendable>: Sendable {
    var id: ID
    var hash: Int
    var cost: Int64
    var place: QueuePlace
}

/// The totals of the entries that may be evicted.
struct QueueTotals: Equatable, Sendable {
    var entries = 0
    var bytes: Int64 = 0
    /// The part of `bytes` that is in ``EvictionQueue/small``.
    var smallBytes: Int64 = 0
}

/// The queues of a tier, first in, first out. Pinned entries are in none of them.
protocol EvictionQueues {
    associatedtype ID: Sendable
    /// `Never` for the queues in memory.
    associatedtype Failure: Error

    var totals: QueueTotals { get }

    mutating func oldest(in queue: EvictionQueue) throws(Failure) -> QueuedEntry<ID>?

    /// Takes an entry out of its queue and puts it at the young end of the queue of `place`.
    mutating func move(_ entry: QueuedEntry<ID>, to place: QueuePlace) throws(Failure)
}
