/// Measures for how long no byte has arrived from a client and no byte has gone to it.
///
/// The clock is sampled from time to time. All times are in milliseconds of ``DaemonCore/now()``.
struct SilenceClock {
    /// The byte counts of a client at a sample. Two marks differ if bytes have moved between their samples.
    struct Mark: Equatable {
        var received: UInt64
        /// The client's progress with the answer; `nil` between answers.
        var sent: SendProgress?
    }

    private var mark: Mark?
    private var start: Int64 = 0

    /// Takes a sample, and returns for how long the client has been silent.
    mutating func look(now: Int64, _ mark: Mark) -> Int64 {
        if mark != self.mark { (self.mark, start) = (mark, now) }
        return now - start
    }

    /// Resets the clock because it is not the client's turn to send or to read.
    mutating func rest() {
        mark = nil
    }
}
