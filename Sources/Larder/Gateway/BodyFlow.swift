import DiskCache
import Primitives
import Synchronization

/// The body of an answer on its way from the origin to any number of clients (its followers), each at its own pace.
///
/// Followers read kept bytes back from the cache, so they may begin at any time and be as slow as they like. Keeping
/// may end early, because the disk is full or the body too long. Bytes that are not kept stay in memory until every
/// follower has them. The fastest follower then sets the pace: the flow pauses the origin when more than ``window``
/// bytes wait for this follower. A slower follower may be ``bound`` bytes behind. A follower that is further behind
/// sets the pace. But if it takes less than ``window`` within ``grace``, it loses bytes, and its body is broken off.
///
/// Invariants:
/// - One lock guards all of `State`. The flow calls consumers and the disk only after the lock is released. It gives
///   the origin its demands under the lock, so that they arrive in order. The locks of the fetch and of the transfer
///   come after this lock.
/// - Only the thread that set a follower's phase to `served` calls the follower's consumer.
/// - `tail` begins at `tailStart`. It is at most about ``bound`` long, and empty as long as the whole body is kept.
final class BodyFlow: Sendable {
    /// The greatest length, in bytes, of a body that is sent together with its head: the size of a single read.
    static let lengthAtOnce = 64 << 10
    /// The number of unkept bytes that may wait in memory for the fastest client.
    static let window = 256 << 10
    /// The number of unkept bytes that may wait in memory for a slower client, as long as all flows together have room.
    static let bound: Int64 = 4 << 20
    /// The time within which a follower that holds up another must take ``window`` bytes.
    static let grace = Duration.seconds(1)

    /// A client that is about to read the body, or to decline it. Until the object is released, the fetch is not given
    /// up.
    final class Newcomer: Sendable {
        private let flow: BodyFlow

        init(_ flow: BodyFlow) {
            self.flow = flow
            flow.newcomers.add(1, ordering: .acquiringAndReleasing)
        }

        deinit { flow.newcomers.subtract(1, ordering: .acquiringAndReleasing) }
    }

    /// Atomic, because the fetch admits a client under its own lock, under which the flow's lock must not be taken.
    private let newcomers = Atomic(0)
    private let state: Locked<State>
    private let demand: @Sendable (TransferDemand) -> Void
    private let afterGrace: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// `kept` are the readable bytes of the growing entry; `nil` when the body is not kept. All flows together may hold
    /// `room` bytes beyond the ``window`` of each. `afterGrace` runs its argument once, after ``grace``. The lock is
    /// held during calls of `demand`.
    init(
        kept: GrowingBody?, room: SharedAllowance,
        afterGrace: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        demand: @escaping @Sendable (TransferDemand) -> Void
    ) {
        self.afterGrace = afterGrace
        state = Locked(State(kept: kept, allowance: room))
        self.demand = demand
    }

    /// Whether a client reads the body, has read it, or has declined it.
    var hasBeenRead: Bool { state.withLock { $0.followersSoFar > 0 } }
    /// Whether the fetch must not be given up: a client reads the body or is about to, no client has come yet, or the
    /// body is complete, so that giving up would free no place at the origin.
    var isNeeded: Bool {
        newcomers.load(ordering: .acquiring) > 0
            || state.withLock { $0.end == .complete || !$0.followers.isEmpty || $0.followersSoFar == 0 }
    }
    var receivedCount: Int64 { state.withLock { $0.received } }

    /// Whether all of the body has arrived: `length` bytes, or its end.
    func hasAll(of length: Int64?) -> Bool {
        state.withLock { state in state.end == .complete || length.map { $0 <= state.received } ?? false }
    }

    /// Takes the next bytes from the origin. When the body is kept, the cache has the bytes already.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        let count = Int64(bytes.count)
        // All followers that wait for bytes share one copy. The copy also goes into the tail.
        let isWanted = state.withLock { state in
            !state.isKept || state.followers.values.contains { $0.phase == .waiting }
        }
        let copy = isWanted ? SharedBytes(copying: bytes) : nil
        let (waiting, isHeldUp) = state.withLock { state -> ([Int], Bool) in
            let start = state.received
            state.received += count
            if !state.isKept, let copy { state.append(copy, at: start) }
            var waiting: [Int] = []
            for (number, follower) in state.followers where follower.phase == .waiting {
                state.followers[number]?.phase = .served
                waiting.append(number)
            }
            if let demand = state.demandAfterReceiving() { self.demand(demand) }
            return (waiting, state.beginWatch())
        }
        if isHeldUp { watch() }
        for number in waiting { serve(number, next: copy) }
    }

    /// Looks at the followers after ``grace``, and gives up the followers that hold up another.
    private func watch() {
        afterGrace { [weak self] in
            guard let self else { return }
            let isWatchedOn = state.withLock { state in
                let (demand, isWatchedOn) = state.endWatch()
                if let demand { self.demand(demand) }
                return isWatchedOn
            }
            if isWatchedOn { watch() }
        }
    }

    /// Ends keeping: from here on, the bytes only go to the clients that read the body now.
    func stopKeeping() {
        state.withLock { state in
            guard let kept = state.kept, state.keptEnd == nil else { return }
            // The cache may have stored a part of the piece at which it failed. `tail` gets the whole piece.
            state.keptEnd = min(kept.length, state.received)
            state.tailStart = state.received
            if state.isForNobody { demand(.cancel) }
        }
    }

    /// Ends the body: it is whole.
    func complete() { finish(.complete) }
    /// Ends the body: it will never be whole.
    func fail() { finish(.failed) }

    private func finish(_ end: End) {
        let waiting: [Int] = state.withLock { state in
            guard state.end == nil else { return [] }
            state.end = end
            let waiting = state.followers.filter { $0.value.phase == .waiting }.map(\.key)
            for number in waiting { state.followers[number]?.phase = .served }
            return waiting
        }
        for number in waiting { serve(number, next: nil) }
    }

    /// Gives a client the body from `start` up to `end`, as it arrives. `end` is `nil` for the end of the body.
    func feed(_ consumer: any BodyConsumer, from start: Int64 = 0, to end: Int64? = nil) {
        let number = state.withLock { state in
            state.followersSoFar += 1
            state.followers[state.followersSoFar] = Follower(
                offset: start, end: end, consumer: consumer, phase: .served)
            return state.followersSoFar
        }
        consumer.onClose { [weak self] in self?.leave(number) }
        serve(number, next: nil)
    }

    /// Returns a part of the body for a client, in place of ``feed(_:from:to:)``. Returns `nil` when the part has not
    /// all arrived, is in several pieces, or is longer than ``lengthAtOnce``.
    func take(_ part: Range<Int64>) -> SharedBytes? {
        guard !part.isEmpty, part.count <= Self.lengthAtOnce else { return nil }
        let (kept, piece): (GrowingBody?, SharedBytes?) = state.withLock { state in
            guard part.upperBound <= state.received else { return (nil, nil) }
            if let kept = state.kept, part.upperBound <= state.keptEnd ?? state.received { return (kept, nil) }
            return (nil, state.tail.count == 1 && state.tailStart == part.lowerBound ? state.tail[0] : nil)
        }
        let bytes = piece ?? (try? kept?.read(at: part.lowerBound, upTo: part.count))
        guard let bytes, bytes.count == part.count else { return nil }
        // The part counts as read. All of it has arrived, so the reader has no effect on the pace.
        state.withLock { $0.followersSoFar += 1 }
        return bytes
    }

    /// Notes that the client for which the flow was meant does not read the body.
    func dismiss() {
        state.withLock { state in
            state.followersSoFar += 1
            if let demand = state.demandAfterLeaving() { self.demand(demand) }
        }
    }

    private func leave(_ number: Int) {
        state.withLock { state in
            guard state.followers.removeValue(forKey: number) != nil else { return }
            if let demand = state.demandAfterLeaving() { self.demand(demand) }
        }
    }

    /// Gives a follower the available bytes, until its consumer is full or has all of them. `next` are the bytes that
    /// have just arrived, exactly at the offset of a follower that waited for them.
    private func serve(_ number: Int, next: SharedBytes?) {
        var next = next
        while true {
            let step = state.withLock { state in state.step(number, next: next) }
            next = nil
            let bytes: SharedBytes
            switch step {
            case .done: return
            case .complete(let consumer):
                consumer.finish()
                return leave(number)
            case .breakOff(let consumer):
                consumer.fail()
                return leave(number)
            case .give(let piece): bytes = piece
            case .read(let body, let offset, let count, let consumer):
                guard let piece = try? body.read(at: offset, upTo: min(count, consumer.room)), piece.count > 0 else {
                    consumer.fail()
                    return leave(number)
                }
                bytes = piece
            }
            guard give(bytes, to: number) else { return }
        }
    }

    /// Writes bytes to the consumer of a follower. Returns whether the caller continues with the next bytes.
    private func give(_ bytes: SharedBytes, to number: Int) -> Bool {
        let (consumer, isHeldUp) = state.withLock { state -> ((any BodyConsumer)?, Bool) in
            guard let follower = state.followers[number] else { return (nil, false) }
            state.followers[number]?.offset = follower.offset + Int64(bytes.count)
            if let demand = state.demandAfterLeaving() { self.demand(demand) }
            return (follower.consumer, state.beginWatch())
        }
        if isHeldUp { watch() }
        guard let consumer else { return false }
        switch consumer.write(bytes) {
        case .room: return true
        case .closed:
            leave(number)
            return false
        case .full:
            state.withLock { $0.followers[number]?.phase = .full }
            // `onRoom` may call back before it returns. Then the loop of `serve` goes on, so that calls do not nest.
            let turn = Locked<Bool?>(nil)
            consumer.onRoom { [self] in
                let isLater = turn.withLock { turn in
                    defer { turn = turn ?? true }
                    return turn != nil
                }
                if isLater, takeTurn(number) { serve(number, next: nil) }
            }
            let isAtOnce = turn.withLock { turn in
                defer { turn = turn ?? false }
                return turn == true
            }
            return isAtOnce && takeTurn(number)
        }
    }

    private func takeTurn(_ number: Int) -> Bool {
        state.withLock { state in
            guard state.followers[number]?.phase == .full else { return false }
            state.followers[number]?.phase = .served
            return true
        }
    }
}

/// Takes a body piece by piece, at its own pace: a client's connection. The flow makes one call at a time.
package protocol BodyConsumer: AnyObject, Sendable {
    /// The bytes that the consumer takes before it is full, at least 1. No single read from the cache is larger.
    var room: Int { get }
    /// Takes the next bytes, and tells whether more may follow; see ``Primitives/Backpressure``.
    func write(_ bytes: SharedBytes) -> Backpressure
    /// Calls `action` once, when there is room or the client wants no more bytes; at once if either is so already.
    func onRoom(_ action: @escaping @Sendable () -> Void)
    /// Calls `action` once, when the client wants no more bytes; at once if that is already so.
    func onClose(_ action: @escaping @Sendable () -> Void)
    /// Ends the body: all bytes were written.
    func finish()
    /// Ends the body before it is whole. The client must be able to notice the missing bytes.
    func fail()
}

extension BodyConsumer {
    package var room: Int { .max }
}
