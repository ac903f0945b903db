import DiskCache
import Primitives

extension BodyFlow {
    enum Phase {
        /// The follower has all bytes that have arrived.
        case waiting
        /// A thread gives the follower bytes.
        case served
        /// The follower's consumer has no room.
        case full
    }

    struct Follower {
        var offset: Int64
        /// The end of the follower's part of the body; `nil` for the end of the body.
        let end: Int64?
        let consumer: any BodyConsumer
        var phase = Phase.waiting
    }

    enum End {
        case complete
        case failed
    }

    /// The next step for a follower in the phase `served`.
    enum Step {
        case give(SharedBytes)
        case read(GrowingBody, at: Int64, count: Int, for: any BodyConsumer)
        case complete(any BodyConsumer)
        case breakOff(any BodyConsumer)
        case done
    }

    /// The bytes, the followers' positions and the next demands; see ``BodyFlow`` for the invariants.
    struct State {
        /// The most bytes of one read from the cache.
        private static let block = 64 << 10

        /// The readable kept bytes; `nil` when the body was never kept.
        var kept: GrowingBody?
        /// The number of bytes that can be read from `kept`, once keeping has ended; `nil` before.
        var keptEnd: Int64?
        var received: Int64 = 0
        var tail: [SharedBytes] = []
        var tailStart: Int64 = 0
        var followers: [Int: Follower] = [:]
        /// The number of clients so far that read or declined the body. While it is 0, all unkept bytes stay in memory.
        var followersSoFar = 0
        var isPaused = false
        var end: End?
        /// The bytes that all flows together may hold beyond their ``BodyFlow/window``. `room` is this flow's part.
        private let allowance: SharedAllowance
        private var room: SharedAllowance.Part?
        private var taken = 0
        /// The end of the bytes that were dropped before every follower had them.
        private var lostEnd: Int64 = 0
        /// The position of the slowest follower at the last check; `nil` when no follower held up another.
        private var watched: Int64?

        init(kept: GrowingBody?, allowance: SharedAllowance) {
            self.kept = kept
            self.allowance = allowance
        }

        var isKept: Bool { kept != nil && keptEnd == nil }
        /// Whether the body is not kept and all clients that wanted it have left.
        var isForNobody: Bool { !isKept && end == nil && followersSoFar > 0 && followers.isEmpty }

        /// Returns the next step of a follower. A follower that has all available bytes changes to the phase `waiting`.
        /// `next` are the bytes that have just arrived, for a follower that waited for them.
        mutating func step(_ number: Int, next: SharedBytes?) -> Step {
            guard let follower = followers[number] else { return .done }
            let partEnd = min(follower.end ?? .max, received)
            if follower.offset >= partEnd {
                if let wanted = follower.end, follower.offset >= wanted { return .complete(follower.consumer) }
                switch end {
                case .complete: return .complete(follower.consumer)
                case .failed: return .breakOff(follower.consumer)
                case nil:
                    followers[number]?.phase = .waiting
                    return .done
                }
            }
            // Gives the bytes that have just arrived, if they begin at the offset and do not exceed the part.
            if let next, follower.offset + Int64(next.count) <= partEnd,
                follower.offset + Int64(next.count) == received
            {
                return .give(next)
            }
            let keptEnd = kept == nil ? 0 : keptEnd ?? received
            if follower.offset < keptEnd, let kept {
                let count = min(Self.block, Int(min(partEnd, keptEnd) - follower.offset))
                return .read(kept, at: follower.offset, count: count, for: follower.consumer)
            }
            return tailStep(follower, end: partEnd)
        }

        private func tailStep(_ follower: Follower, end: Int64) -> Step {
            // The bytes at this offset are gone: keeping ended before they came, or the follower was too slow.
            guard follower.offset >= tailStart else { return .breakOff(follower.consumer) }
            var start = tailStart
            for piece in tail {
                let next = start + Int64(piece.count)
                if follower.offset < next {
                    if follower.offset == start, next <= end { return .give(piece) }
                    let range = Int(follower.offset - start)..<Int(min(next, end) - start)
                    return .give(piece.withUnsafeBytes { SharedBytes(copying: .init(rebasing: $0[range])) })
                }
                start = next
            }
            return .breakOff(follower.consumer)
        }

        /// Appends bytes that are not kept.
        mutating func append(_ piece: SharedBytes, at start: Int64) {
            if tail.isEmpty { tailStart = start }
            tail.append(piece)
            if tailLength > Int64(BodyFlow.window) { trim() }
        }

        /// Returns the demand to the transfer after more bytes have arrived; `nil` when the last demand stays valid.
        mutating func demandAfterReceiving() -> TransferDemand? {
            if isForNobody { return .cancel }
            guard !isKept, !isPaused, lag > Int64(BodyFlow.window) || !hasRoom() else { return nil }
            isPaused = true
            return .pause
        }

        /// As ``demandAfterReceiving()``, after a follower got bytes or left.
        mutating func demandAfterLeaving() -> TransferDemand? {
            if isForNobody { return .cancel }
            guard !isKept else { return nil }
            trim()
            guard end == nil, isPaused, lag <= slack, tailLength <= limit - slack else { return nil }
            isPaused = false
            return .resume
        }

        /// Whether the origin is paused because of a slow follower, although another follower has nearly all bytes.
        private var isHeldUp: Bool { isPaused && end == nil && lag <= slack && tailLength > limit - slack }

        /// Returns whether a slow follower holds up others. Then ``endWatch()`` must follow after ``BodyFlow/grace``.
        mutating func beginWatch() -> Bool {
            guard isHeldUp, watched == nil else { return false }
            watched = slowest
            return true
        }

        /// Gives up the followers that hold up others and have taken less than ``BodyFlow/window`` since the last
        /// check. Returns the demand to the transfer, and whether another check must follow.
        mutating func endWatch() -> (demand: TransferDemand?, isWatchedOn: Bool) {
            guard let before = watched, isHeldUp else {
                watched = nil
                return (nil, false)
            }
            guard slowest - before < Int64(BodyFlow.window) else {
                watched = slowest
                return (nil, true)
            }
            watched = nil
            while let first = tail.first, tailLength > Int64(BodyFlow.window),
                tailStart + Int64(first.count) <= fastest
            {
                dropFirst()
                lostEnd = tailStart
            }
            let demand = demandAfterLeaving()
            if isHeldUp { watched = slowest }
            return (demand, watched != nil)
        }

        private var tailLength: Int64 { received - tailStart }
        private var slack: Int64 { Int64(BodyFlow.window / 2) }

        /// The number of bytes in memory that no follower has yet.
        private var lag: Int64 { received - max(fastest, tailStart) }

        /// The position of the fastest follower among the followers that have begun to read. A follower of a part that
        /// begins after the received bytes does not count, because it needs no bytes before the part.
        private var fastest: Int64 {
            if followersSoFar == 0 { return 0 }
            return followers.values.lazy.map(\.offset).filter { [received] in $0 <= received }.max() ?? received
        }

        /// The position of the slowest follower that has missed no bytes.
        private var slowest: Int64 {
            followers.values.lazy.map(\.offset).filter { [lostEnd] in $0 >= lostEnd }.min() ?? received
        }

        /// Drops the pieces that every follower has.
        private mutating func trim() {
            guard followersSoFar > 0 else { return }
            let slowest = slowest
            while let first = tail.first, tailStart + Int64(first.count) <= slowest { dropFirst() }
            if tail.isEmpty { tailStart = received }
        }

        private mutating func dropFirst() {
            tailStart += Int64(tail.removeFirst().count)
            guard taken > 0, tailLength <= Int64(BodyFlow.window) else { return }
            room?.giveBack(taken)
            taken = 0
        }

        /// The length up to which the tail may grow.
        private var limit: Int64 { Int64(BodyFlow.window + taken) }

        /// Whether the flow may receive more bytes. If the tail exceeds `limit`, tries to raise `limit` by one window.
        private mutating func hasRoom() -> Bool {
            guard followers.count > 1, tailLength > limit else { return true }
            guard limit < BodyFlow.bound else { return false }
            let part = room ?? SharedAllowance.Part(of: allowance)
            room = part
            guard part.take(BodyFlow.window) else { return false }
            taken += BodyFlow.window
            return true
        }
    }
}
