import DiskCache

/// Replays a trace of requests through the code that decides what goes, in either tier: what is asked for and not held
/// is put in.
package enum EvictionReplay {
    /// What a replay missed.
    package struct Outcome: Sendable, Equatable {
        /// Requests, and those of them that missed.
        package var (requests, misses) = (0, 0)
        /// The bytes of the requests, and of those that missed.
        package var (bytes, missedBytes) = (0, 0)
        /// How many entries are held in the end, and the memory that the choices take beside them.
        package var (entries, policyBytes) = (0, 0)
        /// How many entries were pinned, and how many of these are not held in the end.
        package var (pinned, pinnedLost) = (0, 0)

        /// Nothing asked for.
        package init() {}

        /// Misses for each request.
        package var objectMissRatio: Double { Double(misses) / Double(requests) }
        /// Missed bytes for each byte that was asked for.
        package var byteMissRatio: Double { Double(missedBytes) / Double(bytes) }

        fileprivate mutating func count(_ request: Trace.Request, isHit: Bool) {
            requests += 1
            bytes += request.size
            if isHit { return }
            misses += 1
            missedBytes += request.size
        }
    }

    /// Replays through a `MemoryTier` of that many bytes.
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

    /// Replays through the disk tier's eviction, over rows of an index in `directory`, which must be empty: everything
    /// but the bodies. An entry costs its size alone, and room is made when it is needed, as for one who waits for it.
    ///
    /// - Parameter pinnedShare: so many entries are pinned, the first ones, as take this share of the capacity.
    package static func diskTier(
        _ trace: Trace, capacity: Int, directory: String, pinnedShare: Double = 0
    ) throws -> Outcome {
        let tier = try DiskTierRehearsal(capacity: capacity, directory: directory)
        defer { tier.close() }
        var outcome = Outcome()
        var pinned: Set<String> = []
        var pinnedBytes = 0
        // As many as the writer would put into one transaction, or so.
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
        outcome.pinnedLost = try pinned.count { try !tier.holds($0) }
        return outcome
    }
}
