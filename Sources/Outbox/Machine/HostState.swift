import Primitives

/// The time in which an origin wants no requests (`Retry-After`, RFC 9110 §10.2.3).
package struct HostPause: Hashable, Sendable {
    /// As in ``ChangeTarget/origin``.
    package var origin: String
    /// The instant of the answer.
    package var start: Timestamp
    package var end: Timestamp

    package init(origin: String, start: Timestamp, end: Timestamp) {
        self.origin = origin
        self.start = start
        self.end = end
    }
}

/// The time in which no change of an origin is sent.
package struct OriginWait: Hashable, Sendable {
    package var cause: ChangeProblem.Kind
    package var end: Timestamp
}

/// The requests to one origin, the pause that it wants, and the circuit that opens when it fails.
///
/// A pause and an open circuit start no request. After the end of both, a single probe goes out: an answer closes the
/// circuit, and a failure opens it for longer. An answer never shortens a pause, because it may belong to a request
/// that is older than the pause.
struct HostState: Sendable {
    static let flightLimit = 2
    /// The failures in a row, over all lanes, that open the circuit.
    static let tolerance = 3

    /// The changes in all lanes of the origin.
    var changes = 0
    var flights = 0
    /// The namespaces with changes for the origin. The one that has waited longest for a start is the first.
    var namespaces: [String] = []
    private var failures = 0
    private var circuit: Wait?
    private var pause: Wait?

    /// The date of the next probe; `nil`: requests can start at any time.
    var notBefore: Timestamp? {
        guard let circuit, let pause else { return circuit?.end ?? pause?.end }
        return max(circuit.end, pause.end)
    }

    /// Whether the limit of requests under way permits one more.
    var hasPlace: Bool { flights < Self.flightLimit }

    /// The requests that may begin at an instant at which one may begin.
    var freePlaces: Int { pause == nil && circuit == nil ? Self.flightLimit - flights : 1 }

    /// Takes a place for a lane of a namespace.
    mutating func started(_ namespace: String) {
        flights += 1
        guard let place = namespaces.firstIndex(of: namespace) else { return }
        namespaces.append(namespaces.remove(at: place))
    }

    /// Whether the origin wants no request now.
    func isPaused(_ now: Timestamp) -> Bool { pause.map { !$0.isOver(now) } ?? false }

    /// Whether the state is that of an origin that the machine has never met.
    func isSpent(_ now: Timestamp) -> Bool {
        changes == 0 && flights == 0 && !isPaused(now) && (circuit?.isOver(now) ?? true)
    }

    /// The end of the pause or of the open circuit, and its cause; `nil`: requests can start.
    func wait(_ now: Timestamp) -> OriginWait? {
        // After a step of the clock back, the origin's wish counts from now on.
        let wished = pause.map { min($0.end, now + $0.longest) } ?? now
        let opened = circuit.flatMap { $0.isOver(now) ? nil : $0.end } ?? now
        guard max(wished, opened) > now else { return nil }
        return wished >= opened
            ? OriginWait(cause: .throttled, end: wished) : OriginWait(cause: .unreachable, end: opened)
    }

    mutating func canStart(_ now: Timestamp) -> Bool {
        if let pause, pause.end - now > pause.longest {
            // The origin's wish counts from now on, because the time that has passed is unknown.
            self.pause?.end = now + pause.longest
        }
        guard pause != nil || circuit != nil else { return hasPlace }
        return flights == 0 && (pause?.isOver(now) ?? true) && (circuit?.isOver(now) ?? true)
    }

    /// The origin has answered, so it is there.
    mutating func answered(_ now: Timestamp) {
        failures = 0
        circuit = nil
        if let pause, pause.isOver(now) { self.pause = nil }
    }

    mutating func failed(_ now: Timestamp, jitter: Double) {
        failures += 1
        guard failures >= Self.tolerance else { return }
        let end = now + Backoff.delay(failures: failures - Self.tolerance + 2, jitter: jitter)
        guard end >= circuit?.end ?? now || circuit?.isOver(now) == true else { return }
        circuit = Wait(end: end, longest: Backoff.longest)
    }

    /// The origin wants no requests until a date. Returns whether this is later than by an earlier wish.
    mutating func pause(until end: Timestamp, longest: Duration, _ now: Timestamp) -> Bool {
        if let pause, !pause.isOver(now), pause.end >= end { return false }
        pause = Wait(end: end, longest: longest)
        return true
    }
}
