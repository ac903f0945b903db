/// The pace of progress reports to listeners: the first report comes at once, and then at most four reports a second.
/// If the origin pauses, a scheduled report still includes the last piece. A plain value.
struct ReportPace {
    /// The time between two reports.
    static let interval: Duration = .milliseconds(250)

    private var next: ContinuousClock.Instant?
    /// Whether a later report is already scheduled.
    private var isPromised = false

    /// Returns the delay after which a report must follow, because a new piece has arrived. 0: the report happens now;
    /// `nil`: a report that is already scheduled will include the piece.
    mutating func turn(at now: ContinuousClock.Instant) -> Duration? {
        if isPromised { return nil }
        if let next, now < next {
            isPromised = true
            return next - now
        }
        next = now + Self.interval
        return .zero
    }

    /// Notes that the scheduled report happens now.
    mutating func keepPromise(at now: ContinuousClock.Instant) {
        isPromised = false
        next = now + Self.interval
    }
}
