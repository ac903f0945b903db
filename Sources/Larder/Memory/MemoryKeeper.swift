// Invariants of this file
//
// - `state` is guarded by its lock. Sensor and policy belong to the thread alone, and so does every change of the
//   memory tier's limit.
// - Whoever asks for a trim is answered, by the thread or, once it has ended, at once.

import DiskCache
import Foundation
import Logging
import Primitives

/// Gives memory back when the machine or the control group runs short of it, or when somebody asks, and lets the memory
/// tiers grow again later; shares the limit out among them. Nothing is lost by it: what is in memory is on disk.
///
/// It has a thread of its own, so that no request waits for what goes.
public final class MemoryKeeper: Sendable {
    /// What a trim did.
    public struct Trimmed: Hashable, Sendable {
        /// What has gone from the memory tier, in bytes.
        public var freedBytes = 0
        /// What it holds now, in bytes.
        public var memoryBytes = 0
    }

    /// What a cache has of the limit.
    struct Share: Sendable {
        var cache: DiskCache
        var bytes: Int
    }

    private enum Request: Sendable {
        case trim(toBytes: Int, @Sendable (Trimmed) -> Void)
        case share([Share], emptying: [DiskCache], @Sendable () -> Void)
    }

    private struct State {
        var shares: [Share] = []
        var requests: [Request] = []
        var isStopped = false
        var signs = 0
    }

    private let fullLimit: Int
    private let files: MemoryPressureFiles
    private let pace: MemoryPressurePolicy.Pace
    private let logger: Logger
    private let state = Locked(State())
    private let wake = WakePipe()
    private let ended = DispatchSemaphore(value: 0)

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - limit: what all caches may hold together, in bytes.
    ///   - files: what says that memory is short.
    init(
        limit: Int, watching files: MemoryPressureFiles, pace: MemoryPressurePolicy.Pace = .init(), logger: Logger
    ) {
        fullLimit = limit
        self.files = files
        self.pace = pace
        self.logger = logger
        let thread = Thread { [self] in
            ThreadName.set("larder-memory")
            run()
            ended.signal()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// How often memory was short since the start.
    public var signs: Int { state.withLock { $0.signs } }

    /// Gives memory back until the memory tier holds at most `target` bytes, and what the libraries keep for later.
    /// `completion` is called on the keeper's thread. The limit stays: what is asked for comes back.
    public func trim(toBytes target: Int = 0, completion: @escaping @Sendable (Trimmed) -> Void = { _ in }) {
        guard order(.trim(toBytes: target, completion)) else { return completion(Trimmed(memoryBytes: heldBytes)) }
    }

    /// Says which caches there are from now on, and what each may have of the limit; they have it when this returns.
    ///
    /// - Parameter others: those that keep nothing any more, and are not held here.
    func share(_ shares: [Share], emptying others: [DiskCache] = []) {
        let done = DispatchSemaphore(value: 0)
        if order(.share(shares, emptying: others, { done.signal() })) { done.wait() }
    }

    /// What all caches may hold together now: the limit, or less while memory is short.
    public var currentLimit: Int { shares.reduce(0) { $0 + $1.cache.currentMemoryLimit } }

    /// What all caches hold, in bytes.
    private var heldBytes: Int { shares.reduce(0) { $0 + $1.cache.memoryStatistics.bytes } }

    private var shares: [Share] { state.withLock(\.shares) }

    /// Has the thread do something; `false` when it has ended.
    private func order(_ request: Request) -> Bool {
        let isStopped = state.withLock { state in
            if !state.isStopped { state.requests.append(request) }
            return state.isStopped
        }
        if !isStopped { wake.signal() }
        return !isStopped
    }

    /// Ends the thread, after what was asked for is done, and waits for that. To be called once.
    func stop() {
        state.withLock { $0.isStopped = true }
        wake.signal()
        ended.wait()
    }

    // MARK: - The thread

    private func run() {
        var sensor = MemoryPressureSensor(files)
        var policy = MemoryPressurePolicy(fullLimit: fullLimit, pace: pace)
        if !sensor.missing.isEmpty {
            logger.debug(
                "some memory pressure cannot be seen here",
                metadata: ["files": "\(sensor.missing.joined(separator: " "))"])
        }
        while true {
            var polled = [pollfd(fd: wake.reading, events: Int16(POLLIN), revents: 0)] + sensor.polled
            poll(&polled, nfds_t(polled.count), timeout(sensor.mustRead, policy.nextGrowth))
            wake.drain()
            let (requests, isStopped) = state.withLock { state in
                defer { state.requests = [] }
                return (state.requests, state.isStopped)
            }
            for request in requests {
                switch request {
                case .trim(let target, let completion): completion(trim(to: target))
                case .share(let shares, let others, let completion):
                    state.withLock { $0.shares = shares }
                    for cache in others { cache.setMemoryLimit(0) }
                    for share in shares { share.cache.setMemoryLimit(share.bytes) }
                    if policy.limit < policy.fullLimit { setLimit(policy.limit) }
                    completion()
                }
            }
            if isStopped { return }

            let now = ContinuousClock.now
            if let sign = sensor.sign(Array(polled.dropFirst())) {
                state.withLock { $0.signs += 1 }
                if let limit = policy.shrink(sign, holding: heldBytes, at: now) { shrink(to: limit) }
            } else if let limit = policy.grow(at: now) {
                setLimit(limit)
                if limit == policy.fullLimit { logger.info("the memory tier has its full limit again") }
            }
        }
    }

    /// In milliseconds, as `poll` has it; -1: for ever.
    private func timeout(_ mustRead: Bool, _ growth: ContinuousClock.Instant?) -> Int32 {
        let wait = [mustRead ? files.readInterval : nil, growth.map { $0 - .now }].compactMap(\.self).min()
        guard let wait else { return -1 }
        return Int32(clamping: max(0, Int64(wait.inSeconds * 1000) + 1))
    }

    /// Each has its part of a limit.
    private func setLimit(_ limit: Int) {
        for share in shares { share.cache.setCurrentMemoryLimit(part(of: limit, for: share)) }
    }

    private func part(of bytes: Int, for share: Share) -> Int {
        bytes >= fullLimit ? share.bytes : Int(Double(bytes) * Double(share.bytes) / Double(fullLimit))
    }

    private func shrink(to limit: Int) {
        setLimit(limit)
        giveBack()
        logger.info("memory is short: the memory tier's limit falls", metadata: ["limit": .number(limit)])
    }

    private func trim(to target: Int) -> Trimmed {
        // Where all hold less than their parts together, one may hold more than its own.
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

/// Ends a `poll` from another thread.
private final class WakePipe: Sendable {
    let reading: Int32
    private let writing: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "no pipe: \(errno)")
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        (reading, writing) = (ends[0], ends[1])
    }

    deinit {
        close(reading)
        close(writing)
    }

    func signal() {
        var byte: UInt8 = 0
        // A pipe that is full wakes as well.
        _ = write(writing, &byte, 1)
    }

    func drain() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(reading, &bytes, bytes.count) > 0 {}
    }
}
