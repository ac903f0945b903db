/// As the kernel counts: bytes since the connection began, including the overhead of TLS.
struct SendProgress: Equatable {
    /// Acknowledged by the client; 0 also where the kernel does not count.
    var taken: Int64
    /// In the socket's send buffer, sent or not, but not acknowledged.
    var waiting: Int64
}

/// Decides whether a client reads an answer too slowly: bytes waited for it during a whole window of time, and it took
/// less than the minimum rate times the period. Bytes that a client took in an earlier window do not count in its
/// favour, because they would let it sit on the rest.
///
/// A client's kernel takes bytes in steps, however steadily the client reads: it opens its receive window only after
/// the client has made room for a whole step (RFC 9293 §3.8.6.2.2). On loopback a step is 95 KB, so a client that reads
/// 1 KiB a second takes no bytes for 93 seconds at a time. The window is therefore the period plus the time for one
/// ``step`` at the minimum rate: a client that reads at the minimum rate takes the required bytes in every such window.
///
/// The clock is sampled many times per window. If the client has taken all bytes that waited at the last sample, it
/// keeps up, however few bytes there are (it may wait for a slow origin), and its window begins anew. All times are in
/// milliseconds of ``DaemonCore/now()``.
struct SendClock {
    /// The largest step that the window allows for, in bytes.
    static let step: Int64 = 128 << 10

    private let window: Int64
    private let minimum: Int64
    private var start: Int64
    private var takenAtStart: Int64
    /// ``SendProgress/taken`` once the client has taken all bytes that waited at the last sample.
    private var end: Int64

    /// Takes the first sample of an answer that is under way. The rate is averaged over `period`.
    init(now: Int64, _ progress: SendProgress, period: Int64, bytesPerSecond: Int64) {
        window = period + Self.step * 1000 / max(1, bytesPerSecond)
        minimum = bytesPerSecond * period / 1000
        start = now
        takenAtStart = progress.taken
        end = progress.taken + progress.waiting
    }

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
