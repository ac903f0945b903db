import DiskCache
import Primitives

/// The body of an answer on its way from the origin to any number of clients, each at its own pace.
///
/// As far as it is kept, it is read back from where the cache keeps it: there a client may begin at any time, and be as
/// slow as it likes. What is not kept (or no more, because the disk is full or the body too long) is in memory until
/// every client has it; then the slowest one sets the pace: beyond ``window`` the origin is told to wait.
///
/// Invariants: all of `State` is under one lock; consumers and the disk are only called after it was released, the
/// origin under it, so that what it is told comes in order (the flight's lock and the transfer's come after this one).
/// A follower is called by the one thread that set its phase to `served`. `tail` begins at `tailStart`, is never behind
/// what the slowest follower has, and is empty as long as everything is kept.
final class BodyFlow: Sendable {
    /// Up to what length, in bytes, a body that comes with its head is sent with it: as much as is read at once.
    static let lengthAtOnce = 64 << 10
    /// How many bytes that are not kept may wait in memory for the slowest client.
    static let window = 256 << 10

    private let state: Locked<State>
    private let demand: @Sendable (Demand) -> Void

    /// - Parameters:
    ///   - kept: where the body can be read while it comes; `nil` when it is not kept.
    ///   - demand: is told what the transfer is to do.
    init(kept: GrowingBody?, demand: @escaping @Sendable (Demand) -> Void) {
        state = Locked(State(kept: kept))
        self.demand = demand
    }

    /// How many clients read along.
    var followerCount: Int { state.withLock { $0.followers.count } }

    /// Whether somebody reads, or has read or declined it.
    var hasBeenRead: Bool { state.withLock { $0.followersSoFar > 0 } }

    /// Whether all of it has come.
    var isComplete: Bool { state.withLock { $0.end == .complete } }

    /// How many bytes have come.
    var receivedCount: Int64 { state.withLock { $0.received } }

    /// Whether all of it has come: so many bytes, or its end.
    func hasAll(of length: Int64?) -> Bool {
        state.withLock { state in state.end == .complete || length.map { $0 <= state.received } ?? false }
    }

    // MARK: - From the origin

    /// The next bytes have come; when the body is kept, they are there already.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        let count = Int64(bytes.count)
        // Whoever waits for bytes shares one copy of them; that also is the tail.
        let isWanted = state.withLock { state in
            !state.isKept || state.followers.values.contains { $0.phase == .waiting }
        }
        let copy = isWanted ? SharedBytes(copying: bytes) : nil
        let waiting: [Int] = state.withLock { state in
            let start = state.received
            state.received += count
            if !state.isKept, let copy {
                if state.tail.isEmpty { state.tailStart = start }
                state.tail.append(copy)
            }
            var waiting: [Int] = []
            for (number, follower) in state.followers where follower.phase == .waiting {
                state.followers[number]?.phase = .served
                waiting.append(number)
            }
            if let demand = state.demandAfterReceiving() { self.demand(demand) }
            return waiting
        }
        for number in waiting { serve(number, next: copy) }
    }

    /// No more of the body is kept from here on: the rest only goes to those who read it now.
    func stopKeeping() {
        state.withLock { state in
            guard let kept = state.kept, state.keptEnd == nil else { return }
            // Some of the piece that could not be kept may be there all the same; it comes with the tail.
            state.keptEnd = min(kept.length, state.received)
            state.tailStart = state.received
            if state.isForNobody { demand(.cancel) }
        }
    }

    /// The body is whole.
    func complete() {
        finish(.complete)
    }

    /// The body will never be whole.
    func fail() {
        finish(.failed)
    }

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

    // MARK: - To a client

    /// Gives a client the body from `start` on, up to `end`, as it comes; `nil`: to its end.
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

    /// A part of the body for a client, in place of ``feed(_:from:to:)``: when all of the part is there, in one piece
    /// and no longer than ``lengthAtOnce``.
    func take(_ part: Range<Int64>) -> SharedBytes? {
        enum Source {
            case kept(GrowingBody)
            case piece(SharedBytes)
        }
        let source: Source? = state.withLock { state in
            guard !part.isEmpty, part.count <= Self.lengthAtOnce, part.upperBound <= state.received else { return nil }
            if let kept = state.kept, part.upperBound <= state.keptEnd ?? state.received { return .kept(kept) }
            guard state.tail.count == 1, state.tailStart == part.lowerBound, state.tail[0].count == part.count else {
                return nil
            }
            return .piece(state.tail[0])
        }
        let bytes: SharedBytes? =
            switch source {
            case .kept(let body): try? body.read(at: part.lowerBound, upTo: part.count)
            case .piece(let piece): piece
            case nil: nil
            }
        guard let bytes, bytes.count == part.count else { return nil }
        // It was read; all of it has come, so there is nothing to be said of its pace.
        state.withLock { $0.followersSoFar += 1 }
        return bytes
    }

    /// Somebody whom it was meant for does not read it.
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

    /// Gives a follower what there is, until it is full or has all of it.
    ///
    /// - Parameter next: bytes that come exactly where the follower is, when it was waiting for them.
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

    /// Whether to go on.
    private func give(_ bytes: SharedBytes, to number: Int) -> Bool {
        let consumer: (any BodyConsumer)? = state.withLock { state in
            guard let follower = state.followers[number] else { return nil }
            state.followers[number]?.offset = follower.offset + Int64(bytes.count)
            if let demand = state.demandAfterLeaving() { self.demand(demand) }
            return follower.consumer
        }
        guard let consumer else { return false }
        switch consumer.write(bytes) {
        case .room: return true
        case .closed:
            leave(number)
            return false
        case .full:
            state.withLock { $0.followers[number]?.phase = .full }
            // Called back at once, the loop goes on: calling itself, it could go as deep as the body is long.
            let turn = Locked<Bool?>(nil)
            consumer.onRoom { [self] in
                let isLater = turn.withLock { turn in
                    defer { turn = turn ?? true }
                    return turn != nil
                }
                if isLater { goOn(number) }
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

    private func goOn(_ number: Int) {
        if takeTurn(number) { serve(number, next: nil) }
    }
}
