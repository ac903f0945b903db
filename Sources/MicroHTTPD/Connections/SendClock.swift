/// How far a client is with what was sent to it, as the kernel counts: bytes since the connection began, those of TLS
/// among them.
struct SendProgress: Equatable {
    /// What it has acknowledged.
    var taken: Int64
    /// What is in the socket for it, sent or not, and not acknowledged.
    var waiting: Int64
}

/// When a client is too slow in taking an answer: for a whole period something waited for it, and it took less than a
/// minimum rate makes of the period. What a client has taken before it had to is not counted in its favour: it would
/// buy time for sitting on the rest.
///
/// It is looked at now and then, a good many times a period. Between two looks a client may have had nothing to take
/// for a moment, but then it has taken all that waited for it at the first: a client that does keeps up, however little
/// it is, and its period begins anew. That is a client which somebody else keeps waiting, such as an origin.
///
/// All times are in milliseconds of ``DaemonCore/now()``.
struct SendClock {
    private let period: Int64
    /// What must be taken in a period.
    private let minimum: Int64
    private var start: Int64
    /// What was taken at the start.
    private var takenAtStart: Int64
    /// What will have been taken when all is that waited at the last look.
    private var end: Int64

    /// The first look at an answer that is under way.
    ///
    /// - Parameter bytesPerSecond: the minimum.
    init(now: Int64, _ progress: SendProgress, period: Int64, bytesPerSecond: Int64) {
        self.period = period
        minimum = bytesPerSecond * period / 1000
        start = now
        takenAtStart = progress.taken
        end = progress.taken + progress.waiting
    }

    /// The next look; whether the client is too slow.
    mutating func isTooSlow(now: Int64, _ progress: SendProgress) -> Bool {
        let keepsUp = progress.waiting == 0 || progress.taken >= end
        end = progress.taken + progress.waiting
        let isPeriodOver = now - start >= period
        if !keepsUp, isPeriodOver, progress.taken - takenAtStart < minimum { return true }
        if keepsUp || isPeriodOver {
            start = now
            takenAtStart = progress.taken
        }
        return false
    }
}
