import DiskCache
import Primitives

extension BodyFlow {
    /// What the flow wants of the origin's transfer.
    enum Demand: Sendable {
        case pause
        case resume
        /// Nobody is left who wants what is not kept.
        case cancel
    }

    enum Phase {
        /// It has all that there is so far.
        case waiting
        /// Some thread gives it bytes.
        case served
        /// It has no room.
        case full
    }

    struct Follower {
        var offset: Int64
        /// Where its part of the body ends; `nil`: with the body.
        let end: Int64?
        let consumer: any BodyConsumer
        var phase = Phase.waiting
    }

    enum End {
        case complete
        case failed
    }

    /// What to do next for a follower in the phase `served`.
    enum Step {
        case give(SharedBytes)
        case read(GrowingBody, at: Int64, count: Int, for: any BodyConsumer)
        case complete(any BodyConsumer)
        case breakOff(any BodyConsumer)
        case done
    }

    /// Who has what of the body, and what is to be done next; see ``BodyFlow`` for its invariants.
    struct State {
        /// How much is read back at once.
        private static let block = 64 << 10

        /// Where what is kept can be read; `nil` as long as nothing is.
        var kept: GrowingBody?
        /// How much of the body can be read there, once no more is kept.
        var keptEnd: Int64?
        var received: Int64 = 0
        var tail: [SharedBytes] = []
        var tailStart: Int64 = 0
        var followers: [Int: Follower] = [:]
        /// How many there have been; before the first, everything waits for it.
        var followersSoFar = 0
        var isPaused = false
        var end: End?

        init(kept: GrowingBody?) {
            self.kept = kept
        }

        var isKept: Bool { kept != nil && keptEnd == nil }

        /// Whether it is not kept, and whoever wanted it has gone.
        var isForNobody: Bool { !isKept && end == nil && followersSoFar > 0 && followers.isEmpty }

        /// What a follower gets next; one that has all of what there is waits from now on.
        ///
        /// - Parameter next: what has just come, for a follower that was waiting for it.
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
            // What has just come and begins where the follower is, unless its part ends within it.
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
            // Who comes when keeping has ended, and what followed has gone to the others, cannot have all of it any
            // more.
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

        // MARK: - Pace

        /// What is wanted of the transfer once more has come; `nil`: what was wanted before.
        mutating func demandAfterReceiving() -> Demand? {
            if isForNobody { return .cancel }
            guard !isKept, !isPaused, received - tailStart > Int64(BodyFlow.window) else { return nil }
            trim()
            guard received - tailStart > Int64(BodyFlow.window) else { return nil }
            isPaused = true
            return .pause
        }

        /// The same once a follower has got more, or has left.
        mutating func demandAfterLeaving() -> Demand? {
            if isForNobody { return .cancel }
            guard !isKept, end == nil else { return nil }
            trim()
            guard isPaused, received - tailStart <= Int64(BodyFlow.window / 2) else { return nil }
            isPaused = false
            return .resume
        }

        /// Forgets what every follower has.
        private mutating func trim() {
            guard followersSoFar > 0 else { return }
            let slowest = followers.values.map(\.offset).min() ?? received
            while let first = tail.first, tailStart + Int64(first.count) <= slowest {
                tail.removeFirst()
                tailStart += Int64(first.count)
            }
            if tail.isEmpty { tailStart = received }
        }
    }
}
