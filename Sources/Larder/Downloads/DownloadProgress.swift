import Dispatch
import Primitives

/// The progress of a download, for status requests and listeners.
struct DownloadProgress: Sendable {
    var receivedBytes: Int64 = 0
    var totalBytes: Int64?
    /// The pace of the reports to listeners.
    var pace = ReportPace()
}

/// The pace of progress reports to listeners: the first report comes at once, and then at most four reports a second. A
/// report of the last piece also comes when the origin pauses after it. A plain value.
struct ReportPace {
    /// The time of the report about a piece.
    enum Turn: Equatable {
        /// Report now.
        case now
        /// Report after this delay, including all pieces that arrive until then.
        case later(Duration)
    }

    /// The least time between two reports.
    static let interval: Duration = .milliseconds(250)

    private var next: ContinuousClock.Instant?
    /// Whether a later report is already scheduled.
    private var isPromised = false

    /// Returns the time of the report about a piece that has arrived; `nil` when a scheduled report will include the
    /// piece.
    mutating func turn(at now: ContinuousClock.Instant) -> Turn? {
        if isPromised { return nil }
        if let next, now < next {
            isPromised = true
            return .later(next - now)
        }
        next = now + Self.interval
        return .now
    }

    /// Notes that the scheduled report happens now.
    mutating func keepPromise(at now: ContinuousClock.Instant) {
        isPromised = false
        next = now + Self.interval
    }
}

extension DownloadFetch {
    /// Reports the progress to listeners, now or after a delay.
    func report(_ turn: ReportPace.Turn) {
        switch turn {
        case .now: tell()
        case .later(let delay):
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(delay.milliseconds) + 1)) {
                [weak self] in
                self?.state.withLock { $0.notes.progress.pace.keepPromise(at: .now) }
                self?.tell()
            }
        }
    }

    private func tell() {
        // A complete body is not reported here: the listeners get the end of the download instead.
        let isUnderWay = state.withLock { state in
            state.machine.phase == .arriving && state.notes.progress.receivedBytes != state.notes.progress.totalBytes
        }
        if isUnderWay { policy.manager.tellProgress(of: self) }
    }
}
