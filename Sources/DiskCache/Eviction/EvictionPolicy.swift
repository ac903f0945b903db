/// Decides what goes when room is needed: the rules alone, without locks and without the entries, which each tier keeps
/// in ``EvictionQueues`` of its own (the memory tier in an array, the disk tier in the index).
///
/// A hit is no business of the policy: the tier counts it in the entry's ``QueuePlace/frequency``, and nothing moves.
protocol EvictionPolicy: Sendable {
    /// A policy that knows nothing yet.
    init()

    /// Where an entry goes that was not held until now.
    ///
    /// - Parameters:
    ///   - hash: of its key; the same for as long as the policy lives.
    ///   - cost: its bytes.
    ///   - totals: what there is without it.
    mutating func place(hash: Int, cost: Int64, among totals: QueueTotals) -> QueuePlace

    /// Chooses what goes next, and leaves it to the caller to take it out of its queue; `nil` when there is nothing.
    ///
    /// - Parameter sparesNewest: whether what came last, and was not known, stays however large it is: for room that
    ///   nobody waits for.
    mutating func victim<Queues: EvictionQueues>(
        of queues: inout Queues, sparesNewest: Bool
    ) throws(Queues.Failure) -> QueuedEntry<Queues.ID>?

    /// Whether something that is not held was asked for a short time ago.
    func isKnown(hash: Int) -> Bool

    /// Something that is not held was asked for, and is not to be held: it is as if it had come and gone.
    mutating func pass(hash: Int, totals: QueueTotals)

    /// An entry goes for another reason than eviction, and may be back soon: it was replaced by another version.
    mutating func remember(hash: Int, place: QueuePlace, totals: QueueTotals)
}

/// One of the queues. The numbers stand in the index and are never changed.
enum EvictionQueue: UInt8, Sendable {
    /// Where what is new waits to be asked for again.
    case small = 0
    /// Where that is which was.
    case main = 1
}

/// Where an entry stands: what of it is kept beside its cost.
struct QueuePlace: Equatable, Sendable {
    /// Hits beyond this many are not counted.
    static let frequencyLimit: UInt8 = 3

    var queue: EvictionQueue
    /// How often the entry was asked for since it came to this queue, or since it was last spared.
    var frequency: UInt8 = 0

    /// Counts a hit.
    mutating func hit() {
        if frequency < Self.frequencyLimit { frequency += 1 }
    }
}

/// An entry as the policy sees it.
struct QueuedEntry<ID: Sendable>: Sendable {
    /// By which its owner knows it.
    var id: ID
    /// Of its key.
    var hash: Int
    var cost: Int64
    var place: QueuePlace
}

/// How much may be evicted.
struct QueueTotals: Equatable, Sendable {
    var entries = 0
    var bytes: Int64 = 0
    /// The part of `bytes` that is in ``EvictionQueue/small``.
    var smallBytes: Int64 = 0
}

/// The queues that a tier keeps: first in, first out, and whatever is pinned is in none of them.
protocol EvictionQueues {
    /// By which the tier knows an entry.
    associatedtype ID: Sendable
    /// What can go wrong: `Never` in memory.
    associatedtype Failure: Error

    /// What is in them.
    var totals: QueueTotals { get }

    /// What has been in a queue for longest; `nil` when the queue is empty.
    mutating func oldest(in queue: EvictionQueue) throws(Failure) -> QueuedEntry<ID>?

    /// Takes an entry out of its queue and puts it at the young end of that of `place`.
    mutating func move(_ entry: QueuedEntry<ID>, to place: QueuePlace) throws(Failure)
}
