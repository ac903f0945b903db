import Primitives

/// The requests to one origin, and the circuit that opens when the origin fails.
///
/// An open circuit starts no request. At its date it lets a single probe through: an answer closes it, and a failure
/// opens it for longer.
struct HostState: Sendable {
    static let flightLimit = 2
    /// The failures in a row, over all lanes, that open the circuit.
    static let tolerance = 3

    var flights = 0
    /// The lanes that wait for the origin, by date.
    var waiting = DueQueue<LaneKey>()
    private var failures = 0
    private(set) var notBefore: Timestamp?
    private var longest = Backoff.longest

    /// A date further ahead than any pause is due now, because the clock must have gone back since.
    func canStart(_ now: Timestamp) -> Bool {
        guard let notBefore else { return flights < Self.flightLimit }
        return flights == 0 && (now >= notBefore || notBefore - now > longest)
    }

    /// The origin has answered, so it is there.
    mutating func answered() {
        failures = 0
        notBefore = nil
    }

    mutating func failed(_ now: Timestamp, jitter: Double) {
        failures += 1
        guard failures >= Self.tolerance else { return }
        longest = Backoff.longest
        open(until: now + Backoff.delay(failures: failures - Self.tolerance + 2, jitter: jitter))
    }

    /// The origin wants no requests until a date.
    mutating func pause(until date: Timestamp) {
        longest = Backoff.longestPause
        open(until: date)
    }

    private mutating func open(until date: Timestamp) { notBefore = max(notBefore ?? date, date) }
}
