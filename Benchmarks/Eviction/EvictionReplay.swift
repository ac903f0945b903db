import DiskCache

/// Replays a trace of requests through the eviction code of either tier. A requested entry that is not held is
/// inserted.
package enum EvictionReplay {
    /// The counts of a replay.
    package struct Outcome: Sendable, Equatable {
        /// The number of requests, and of requests that missed.
        package var (requests, misses) = (0, 0)
        /// The bytes of all requests, and of the requests that missed.
        package var (bytes, missedBytes) = (0, 0)
        /// The number of entries at the end, and the memory of the eviction policy besides the entries, in bytes.
        package var (entries, policyBytes) = (0, 0)
        /// The number of pinned entries, and of pinned entries that are missing at the end.
        package var (pinned, pinnedLost) = (0, 0)

        /// The outcome of an empty trace.
        package init() {}

        /// Misses divided by requests.
        package var objectMissRatio: Double { Double(misses) / Double(requests) }
        /// Missed bytes divided by requested bytes.
        package var byteMissRatio: Double { Double(missedBytes) / Double(bytes) }

        fileprivate mutating func count(_ request: Trace.Request, isHit: Bool) {
            requests += 1
            bytes += request.size
            if isHit { return }
            misses += 1
            missedBytes += request.size
        }
    }

    /// Replays through a `MemoryTier` with a limit of `capacity` bytes.
    ///
    /// - Parameter shardCount: see `MemoryTier`.
    package static func memoryTier(_ trace: Trace, capacity: Int, shardCount: Int? = nil) -> Outcome {
        let tier = MemoryTier<Int>(limit: capacity, shardCount: shardCount)
        var outcome = Outcome()
        for request in trace.requests {
            let isHit = tier.value(for: request.key) != nil
            outcome.count(request, isHit: isHit)
            if isHit { continue }
            tier.insert(0, for: request.key, cost: request.size, ticket: tier.ticket(for: request.key))
        }
        outcome.entries = tier.statistics.count
        return outcome
    }

    /// Replays through the eviction of the disk tier, over the rows of an index in `directory` but without bodies.
    /// `directory` must be empty. An entry costs only its size. Room is made when an entry needs it, as for a store
    /// that waits for room.
    ///
    /// - Parameter pinnedShare: the share of the capacity that is pinned, by the first entries of the trace.
    package static func diskTier(
        _ trace: Trace, capacity: Int, directory: String, pinnedShare: Double = 0
    ) throws -> Outcome {
        let tier = try DiskTierRehearsal(capacity: capacity, directory: directory)
        defer { tier.close() }
        var outcome = Outcome()
        var pinned: Set<String> = []
        var pinnedBytes = 0
        // A group has about as many requests as the writer commits in one transaction.
        for start in stride(from: 0, to: trace.requests.count, by: 256) {
            let group = trace.requests[start..<min(start + 256, trace.requests.count)]
            let asked = group.map { request in
                let fits = Double(pinnedBytes + request.size) <= pinnedShare * Double(capacity)
                if fits, pinned.insert(request.key).inserted { pinnedBytes += request.size }
                return DiskTierRehearsal.Request(
                    key: request.key, cost: request.size, pinned: pinned.contains(request.key))
            }
            for (request, isHit) in zip(group, try tier.ask(for: asked)) { outcome.count(request, isHit: isHit) }
        }
        outcome.policyBytes = tier.policyBytes
        outcome.entries = tier.count
        outcome.pinned = pinned.count
        outcome.pinnedLost = try tier.missing(of: pinned)
        return outcome
    }
}
