/// How far a client is with what was sent to it, as the kernel counts: bytes since the connection began, those of TLS
/// among them.
struct SendProgress: Equatable {
    /// What it has acknowledged; 0 also where the kernel does not say.
    var taken: Int64
    /// What is in the socket for it, sent or not, and not acknowledged.
    var waiting: Int64
}

/// When a client is too slow in taking an answer: for a whole window of time something waited for it, and it took less
/// than a minimum rate makes of a period. What a client has taken before it had to is not counted in its favour: it
/// would buy time for sitting on the rest.
///
/// The kernel of a client takes bytes in steps, however steadily the client reads: when the client has made room for
/// one (RFC 9293 §3.8.6.2.2). On loopback a step is 95 KB, so a client that reads 1 KiB a second takes nothing for 93
/// seconds at a time. The window is the period and the time of one ``step`` at the minimum rate: whoever reads at that
/// rate takes what the period asks for in any such window.
///
/// It is looked at now and then, a good many times a window. Between two looks a client may have had nothing to take
/// for a moment, but then it has taken all that waited for it at the first: a client that does keeps up, however little
/// it is, and its period begins anew. That is a client which somebody else keeps waiting, such as an origin.
///
/// All times are in milliseconds of ``DaemonCore/now()``.
struct SendClock {
    /// The largest step that is allowed for, in bytes.
    static let step: Int64 = 128 << 10

    private let window: Int64
    /// What must be taken in a window.
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
        window = period + Self.step * 1000 / max(1, bytesPerSecond)
        minimum = bytesPerSecond * period / 1000
        start = now
        takenAtStart = progress.taken
        end = progress.taken + progress.waiting
    }

    /// The next look; whether the client is too slow.
    mutating func isTooSlow(now: Int64, _ progress: SendProgress) -> Bool {
        let keepsUp = progress.waiting == 0 || progress.taken >= end
        end = progress.taken + progress.waiting
        let isWindowOver = now - start >= window
        if !keepsUp, isWindowOver, progress.taken - takenAtStart < minimum { return true }
        if keepsUp || isWindowOver {
            start = now
            takenAtStart = progress.taken
        }
        return false
    }
}
