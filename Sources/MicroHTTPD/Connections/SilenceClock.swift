/// How long nothing has come from a client, or gone to it.
///
/// It is looked at now and then. All times are in milliseconds of ``DaemonCore/now()``.
struct SilenceClock {
    /// What a client has sent and taken: any two that differ have something between them.
    struct Mark: Equatable {
        /// Bytes that have come from it.
        var received: UInt64
        /// How far it is with what was sent to it; `nil` between answers.
        var sent: SendProgress?
    }

    private var mark: Mark?
    private var start: Int64 = 0

    /// Looks at what the client has done; how long it has done nothing.
    mutating func look(now: Int64, _ mark: Mark) -> Int64 {
        if mark != self.mark { (self.mark, start) = (mark, now) }
        return now - start
    }

    /// The client has nothing to do for now.
    mutating func rest() {
        mark = nil
    }
}
