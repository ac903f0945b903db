import Primitives

/// A date, and the most time that can be left until then.
struct Wait: Sendable {
    var end: Timestamp
    var longest: Duration

    init(end: Timestamp, longest: Duration) {
        self.end = end
        self.longest = longest
    }

    /// Waits from now on.
    init(_ time: Duration, from now: Timestamp) { self.init(end: now + time, longest: time) }

    /// A date further ahead means that the clock has gone back since.
    func isOver(_ now: Timestamp) -> Bool { now >= end || end - now > longest }
}
