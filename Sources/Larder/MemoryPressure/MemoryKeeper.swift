// Invariants of `MemoryKeeper`
//
// - `state` is guarded by its lock. Only the keeper's thread uses the sensor and the policy, and only this thread
//   changes the limit of a memory tier.
// - Every trim calls its completion: on the keeper's thread or, after the thread has ended, at once.

import DiskCache
import Foundation
import Logging
import Primitives

/// Shrinks the memory tiers when the machine or the control group runs short of memory, or on request, and lets them
/// grow again. The keeper has its own thread, so that no request waits for the eviction.
package final class MemoryKeeper: Sendable {
    package struct Trimmed: Hashable, Sendable {
        package var freedBytes = 0
        package var memoryBytes = 0
    }

    struct Share: Sendable {
        var cache: DiskCache
        var bytes: Int
    }

    private struct State {
        var shares: [Share] = []
        /// Run on the keeper's thread.
        var requests: [@Sendable (MemoryPressurePolicy) -> Void] = []
        var isStopped = false
        var signs = 0
    }

    private let fullLimit: Int
    private let files: MemoryPressureFiles
    private let pace: MemoryPressurePolicy.Pace
    private let logger: Logger
    private let state = Locked(State())
    private let wake: WakeSignal
    private let ended = DispatchSemaphore(value: 0)

    /// Starts the thread. All memory tiers together may hold `limit` bytes.
    init(limit: Int, watching files: MemoryPressureFiles, pace: MemoryPressurePolicy.Pace = .init(), logger: Logger) {
        fullLimit = limit
        self.files = files
        self.pace = pace
        self.logger = logger
        guard let wake = WakeSignal() else { preconditionFailure("no descriptor is left: \(errno)") }
        self.wake = wake
        let thread = Thread { [self] in
            ThreadName.set("larder-memory")
            run()
            ended.signal()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    package var signs: Int { state.withLock { $0.signs } }

    /// Shrinks the memory tiers to at most `target` bytes together, and returns free memory to the system. Does not
    /// change the limit. Calls `completion` on the keeper's thread, or at once after ``stop()``.
    package func trim(toBytes target: Int = 0, completion: @escaping @Sendable (Trimmed) -> Void = { _ in }) {
        if !order({ [self] _ in completion(trim(to: target)) }) { completion(Trimmed(memoryBytes: heldBytes)) }
    }

    /// Sets the caches, each with its share of the limit. Sets the limit of the `others` to 0, and releases them. The
    /// shares are in force when the method returns.
    func share(_ shares: [Share], emptying others: [DiskCache] = []) {
        let done = DispatchSemaphore(value: 0)
        let isOrdered = order { [self] policy in
            state.withLock { $0.shares = shares }
            for cache in others { cache.setMemoryLimit(0) }
            for share in shares { share.cache.setMemoryLimit(share.bytes) }
            if policy.limit < policy.fullLimit { setLimit(policy.limit) }
            done.signal()
        }
        if isOrdered { done.wait() }
    }

    /// The most bytes that all memory tiers may hold now: the limit, or less while memory is short.
    package var currentLimit: Int { shares.reduce(0) { $0 + $1.cache.currentMemoryLimit } }
    private var heldBytes: Int { shares.reduce(0) { $0 + $1.cache.memoryStatistics.bytes } }
    private var shares: [Share] { state.withLock(\.shares) }

    /// Returns `false` when the thread has ended.
    private func order(_ request: @escaping @Sendable (MemoryPressurePolicy) -> Void) -> Bool {
        let isStopped = state.withLock { state in
            if !state.isStopped { state.requests.append(request) }
            return state.isStopped
        }
        if !isStopped { wake.raise() }
        return !isStopped
    }

    /// Ends the thread after the pending requests, and waits for its end. A further call returns at once.
    func stop() {
        state.withLock { $0.isStopped = true }
        wake.raise()
        ended.wait()
        ended.signal()
    }

    private func run() {
        var sensor = MemoryPressureSensor(files)
        var policy = MemoryPressurePolicy(fullLimit: fullLimit, pace: pace)
        if !sensor.missing.isEmpty {
            logger.debug(
                "some files that report memory pressure are missing",
                metadata: ["files": "\(sensor.missing.joined(separator: " "))"])
        }
        while true {
            var polled = [pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)] + sensor.polled
            let waits = [sensor.mustRead ? files.readInterval : nil, policy.nextGrowth.map { $0 - .now }]
            let timeout = waits.compactMap(\.self).min().map { Int32(clamping: max(0, Int64($0.inSeconds * 1000) + 1)) }
            poll(&polled, nfds_t(polled.count), timeout ?? -1)
            wake.lower()
            let (requests, isStopped) = state.withLock { state in
                defer { state.requests = [] }
                return (state.requests, state.isStopped)
            }
            for request in requests { request(policy) }
            if isStopped { return }

            let now = ContinuousClock.now
            if let sign = sensor.sign(Array(polled.dropFirst())) {
                state.withLock { $0.signs += 1 }
                if let limit = policy.shrink(sign, holding: heldBytes, at: now) {
                    setLimit(limit)
                    giveBack()
                    logger.info(
                        "memory is short: the limit of the memory tier is lowered", metadata: ["limit": .number(limit)])
                }
            } else if let limit = policy.grow(at: now) {
                setLimit(limit)
                if limit == policy.fullLimit {
                    logger.info("memory is sufficient again: the memory tier has its full limit")
                }
            }
        }
    }

    private func setLimit(_ limit: Int) {
        for share in shares { share.cache.setCurrentMemoryLimit(part(of: limit, for: share)) }
    }

    private func part(of bytes: Int, for share: Share) -> Int {
        bytes >= fullLimit ? share.bytes : Int(Double(bytes) * Double(share.bytes) / Double(fullLimit))
    }

    private func trim(to target: Int) -> Trimmed {
        // While all tiers together hold less than the target, a single tier may hold more than its part of the target.
        let isTooMuch = heldBytes > target
        let freed = isTooMuch ? shares.reduce(0) { $0 + $1.cache.trimMemory(toBytes: part(of: target, for: $1)) } : 0
        giveBack()
        return Trimmed(freedBytes: freed, memoryBytes: heldBytes)
    }

    private func giveBack() {
        for share in shares { share.cache.releaseWorkingMemory() }
        FreeMemory.giveBack()
    }
}

/// Decides how many bytes the memory tier may hold while memory is short. The policy has no clock and does no I/O.
/// After some time without a ``Sign``, the limit grows in steps, so that the tier does not cause the next sign itself.
struct MemoryPressurePolicy: Sendable {
    enum Sign: Sendable, Comparable {
        /// Processes wait for memory, or the control group is at its limit. The new limit is three quarters of the
        /// bytes that the tier holds, but at least a sixteenth of the full limit.
        case short
        /// The group got no memory, or the kernel killed a process in it. The new limit is 1/16 of the full limit.
        case exhausted
    }

    struct Pace: Sendable {
        /// The time after the limit is lowered in which ``Sign/short`` has no effect, because signs come in bursts.
        var shrinkInterval: Duration = .seconds(2)
        /// The time without a ``Sign`` before the limit grows.
        var calmInterval: Duration = .seconds(30)
        var growInterval: Duration = .seconds(5)
    }

    let fullLimit: Int
    private(set) var limit: Int

    private let pace: Pace
    private var lastShrinking: ContinuousClock.Instant?
    /// The time from which ``grow(at:)`` raises the limit; `nil` at the full limit.
    private(set) var nextGrowth: ContinuousClock.Instant?

    init(fullLimit: Int, pace: Pace = Pace()) {
        self.fullLimit = fullLimit
        self.pace = pace
        limit = fullLimit
    }

    var floor: Int { fullLimit / 16 }

    /// The tier holds `bytes` now. Returns the new limit; `nil`: no change.
    mutating func shrink(_ sign: Sign, holding bytes: Int, at now: ContinuousClock.Instant) -> Int? {
        // Every sign delays growth, even a sign that does not change the limit.
        if limit < fullLimit { nextGrowth = now + pace.calmInterval }
        if sign == .short, let lastShrinking, now < lastShrinking + pace.shrinkInterval { return nil }
        let held = min(limit, bytes)
        let target = sign == .short ? max(floor, held - held / 4) : floor
        guard target < limit else { return nil }
        (limit, lastShrinking, nextGrowth) = (target, now, now + pace.calmInterval)
        return limit
    }

    /// Returns the new limit; `nil`: no change.
    mutating func grow(at now: ContinuousClock.Instant) -> Int? {
        guard let nextGrowth, now >= nextGrowth else { return nil }
        limit = min(fullLimit, limit + max(1, fullLimit / 16))
        self.nextGrowth = limit < fullLimit ? now + pace.growInterval : nil
        return limit
    }
}
