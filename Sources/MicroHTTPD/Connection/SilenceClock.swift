/// Samples the time without a byte from or to a client, in milliseconds of ``DaemonCore/now()``.
struct SilenceClock {
    /// Two marks differ if bytes have moved between their samples.
    struct Mark: Equatable {
        var received: UInt64
        /// `nil` between answers.
        var sent: SendProgress?
    }

    private var mark: Mark?
    private var start: Int64 = 0

    /// Takes a sample, and returns the length of the silence.
    mutating func look(now: Int64, _ mark: Mark) -> Int64 {
        if mark != self.mark { (self.mark, start) = (mark, now) }
        return now - start
    }

    /// Called when it is not the client's turn to send or to read.
    mutating func rest() {
        mark = nil
    }
}
