import Dispatch
import Primitives

/// When listeners are told how far a download is: at once, then no more often than four times a second, and of the last
/// piece too when the origin pauses after it. A plain value.
struct ReportPace {
    /// What to do about a piece that has come.
    enum Turn: Equatable {
        /// Tell of it.
        case now
        /// Tell, after so long, what has come by then.
        case later(Duration)
    }

    /// The least time between two reports.
    static let interval: Duration = .milliseconds(250)

    private var next: ContinuousClock.Instant?
    /// Whether somebody will tell later anyway.
    private var isPromised = false

    /// A piece has come; `nil`: somebody will tell of it.
    mutating func turn(at now: ContinuousClock.Instant) -> Turn? {
        if isPromised { return nil }
        if let next, now < next {
            isPromised = true
            return .later(next - now)
        }
        next = now + Self.interval
        return .now
    }

    /// What was promised is done now.
    mutating func keepPromise(at now: ContinuousClock.Instant) {
        isPromised = false
        next = now + Self.interval
    }
}

extension Flight {
    /// Tells listeners how far it is, when it is their turn.
    func report(_ turn: ReportPace.Turn) {
        switch turn {
        case .now: tell()
        case .later(let delay):
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(delay.milliseconds) + 1)) {
                [weak self] in
                self?.state.withLock { $0.pace.keepPromise(at: .now) }
                self?.tell()
            }
        }
    }

    private func tell() {
        // Of a body that is complete they are told at its end.
        let isUnderWay = state.withLock { state in
            state.phase == .receiving && state.progress.receivedBytes != state.progress.totalBytes
        }
        if isUnderWay { progressed(self) }
    }
}
