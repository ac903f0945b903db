import Primitives

/// The bytes of all bodies for one stage, which tell whether a body that finds no room is at fault alone, or the
/// generation is too large.
final class StagedBytes: Sendable {
    /// The part of one body.
    final class Part: Sendable {
        private let whole: StagedBytes
        private let number: Int
        private let length: Int64?

        /// - Parameter length: announced; `nil`: unknown.
        init(of whole: StagedBytes, length: Int64?) {
            self.whole = whole
            self.length = length
            number = whole.state.withLock { $0.begin(length: length ?? 0) }
        }

        deinit { whole.state.withLock { _ = $0.underWay.removeValue(forKey: number) } }

        func add(_ count: Int) { whole.state.withLock { $0.underWay[number]?.count += Int64(count) } }

        /// The body has arrived, and is in the stage.
        func keep() { whole.state.withLock { $0.keep(number) } }

        /// Whether the body, which has found no room, is at fault alone: it would find none without the other bodies
        /// either, or is longer than each of them, or has used up its share, which a body of unknown length has.
        ///
        /// - Parameter couldHold: whether so many bytes would have room if all entries went that can be evicted. Bodies
        ///   under way take room for this, and bodies in stages take none.
        func lacksRoomAlone(couldHold: (Int64) -> Bool) -> Bool {
            var state = whole.state.withLock(\.self)
            let needed = state.underWay.removeValue(forKey: number)?.size ?? 0
            let others = state.underWay.values
            guard couldHold(needed - others.reduce(0) { $0 + $1.count }) else { return true }
            if needed > max(state.longest, others.map(\.size).max() ?? 0) { return true }
            return length == nil && couldHold(needed + state.kept)
        }
    }

    private struct Body {
        var count: Int64 = 0
        let length: Int64
        /// The bytes that the body needs at least.
        var size: Int64 { max(count, length) }
    }

    private struct State {
        var lastNumber = 0
        var underWay: [Int: Body] = [:]
        /// The bytes of the bodies in the stage.
        var kept: Int64 = 0
        /// Of the bodies in the stage.
        var longest: Int64 = 0

        mutating func begin(length: Int64) -> Int {
            lastNumber += 1
            underWay[lastNumber] = Body(length: length)
            return lastNumber
        }

        mutating func keep(_ number: Int) {
            guard let body = underWay.removeValue(forKey: number) else { return }
            kept += body.count
            longest = max(longest, body.count)
        }
    }

    private let state = Locked(State())
}
