import Primitives

/// The time in which an origin wants no requests of a namespace (`Retry-After`, RFC 9110 §10.2.3). Callers of one
/// namespace must not be able to stop the changes of another.
package struct HostPause: Hashable, Sendable {
    package var namespace: String
    /// As in ``ChangeTarget/origin``.
    package var origin: String
    /// The instant of the answer.
    package var start: Timestamp
    package var end: Timestamp

    package init(namespace: String, origin: String, start: Timestamp, end: Timestamp) {
        self.namespace = namespace
        self.origin = origin
        self.start = start
        self.end = end
    }
}

/// The time in which no change of a namespace is sent to an origin.
package struct OriginWait: Hashable, Sendable {
    package var cause: ChangeProblem.Kind
    package var end: Timestamp
}

/// The requests to one origin, the pauses that it wants, and the circuit that opens when it fails.
///
/// A pause concerns the namespace that got the answer, and the circuit concerns all namespaces. A pause and an open
/// circuit start no request. After the end of both, a single probe goes out: an answer closes the circuit, and a
/// failure opens it for longer. An answer never shortens a pause, because it may belong to a request that is older than
/// the pause.
struct HostState: Sendable {
    static let flightLimit = 2
    /// The failures in a row, over all lanes, that open the circuit.
    static let tolerance = 3

    /// The changes in all lanes of the origin.
    var changes = 0
    private(set) var flights = 0
    /// The namespaces with changes for the origin. The one that has waited longest for a start is the first.
    var namespaces: [String] = []
    private var failures = 0
    private var circuit: Wait?
    private var pauses: [String: Wait] = [:]
    private var flightsOf: [String: Int] = [:]
    /// The answers 429 without a date in a row, by namespace.
    private var throttles: [String: Int] = [:]

    /// The date of the next request of a namespace that no other event causes; `nil`: the end of a request comes first.
    ///
    /// - Parameter due: the date of the first head.
    func nextStart(of namespace: String, due: Timestamp) -> Timestamp? {
        guard hasPlace, !waitsForProbe(namespace) else { return nil }
        return [due, circuit?.end, pauses[namespace]?.end].compactMap { $0 }.max()
    }

    /// Whether the limit of requests under way permits one more.
    var hasPlace: Bool { flights < Self.flightLimit }

    /// The requests that may begin at an instant at which one may begin.
    var freePlaces: Int { circuit == nil ? Self.flightLimit - flights : 1 }

    /// Whether a request is under way that tells whether more can start.
    private func waitsForProbe(_ namespace: String) -> Bool {
        (circuit != nil && flights > 0) || (pauses[namespace] != nil && flightsOf[namespace] != nil)
    }

    /// Takes a place for a lane of a namespace.
    mutating func started(_ namespace: String) {
        flights += 1
        flightsOf[namespace, default: 0] += 1
        guard let place = namespaces.firstIndex(of: namespace) else { return }
        namespaces.append(namespaces.remove(at: place))
    }

    /// Gives the place of a lane back.
    mutating func ended(_ namespace: String) {
        flights -= 1
        let left = (flightsOf[namespace] ?? 0) - 1
        flightsOf[namespace] = left > 0 ? left : nil
    }

    /// Whether the origin wants no request of a namespace now.
    func isPaused(_ namespace: String, _ now: Timestamp) -> Bool { pauses[namespace].map { !$0.isOver(now) } ?? false }

    /// Whether the state is that of an origin that the machine has never met.
    func isSpent(_ now: Timestamp) -> Bool {
        changes == 0 && flights == 0 && pauses.values.allSatisfy { $0.isOver(now) } && (circuit?.isOver(now) ?? true)
    }

    /// The end of a namespace's pause or of the open circuit, and its cause; `nil`: requests can start.
    func wait(_ namespace: String, _ now: Timestamp) -> OriginWait? {
        // After a step of the clock back, the origin's wish counts from now on.
        let wished = pauses[namespace].map { min($0.end, now + $0.longest) } ?? now
        let opened = circuit.flatMap { $0.isOver(now) ? nil : $0.end } ?? now
        guard max(wished, opened) > now else { return nil }
        return wished >= opened
            ? OriginWait(cause: .throttled, end: wished) : OriginWait(cause: .unreachable, end: opened)
    }

    /// Lets the pauses begin again that would last longer than the origin wanted, because the clock has gone back. The
    /// time that has passed is unknown.
    mutating func renewPauses(_ now: Timestamp) {
        for (namespace, pause) in pauses where pause.end - now > pause.longest {
            pauses[namespace]!.end = now + pause.longest
        }
    }

    func canStart(_ namespace: String, _ now: Timestamp) -> Bool {
        hasPlace && !waitsForProbe(namespace) && !isPaused(namespace, now) && (circuit?.isOver(now) ?? true)
    }

    /// The origin has answered a namespace, so it is there.
    mutating func answered(_ namespace: String, _ now: Timestamp) {
        failures = 0
        circuit = nil
        if let pause = pauses[namespace], pause.isOver(now) { pauses[namespace] = nil }
    }

    mutating func failed(_ now: Timestamp, jitter: Double) {
        failures += 1
        guard failures >= Self.tolerance else { return }
        let end = now + Backoff.delay(failures: failures - Self.tolerance + 2, jitter: jitter)
        guard end >= circuit?.end ?? now || circuit?.isOver(now) == true else { return }
        circuit = Wait(end: end, longest: Backoff.longest)
    }

    /// The origin wants no requests of a namespace until a date. Returns whether this is later than by an earlier wish.
    mutating func pause(_ namespace: String, until end: Timestamp, longest: Duration, _ now: Timestamp) -> Bool {
        if let pause = pauses[namespace], !pause.isOver(now), pause.end >= end { return false }
        pauses = pauses.filter { !$0.value.isOver(now) || namespaces.contains($0.key) }
        pauses[namespace] = Wait(end: end, longest: longest)
        return true
    }

    /// The origin has answered a namespace with 429 and no date. Returns the pause that this asks for.
    mutating func throttled(_ namespace: String, _ now: Timestamp, jitter: Double) -> Duration {
        answered(namespace, now)
        throttles = throttles.filter { namespaces.contains($0.key) }
        let count = (throttles[namespace] ?? 0) + 1
        throttles[namespace] = count
        return max(Backoff.shortest, Backoff.delay(failures: count, jitter: jitter))
    }

    /// The origin has taken a request of a namespace that it could have refused with 429. An answer to a GET does not
    /// show this, because many origins limit only the writes.
    mutating func endThrottle(of namespace: String) { throttles[namespace] = nil }

    mutating func forgetPause(of namespace: String) { (pauses[namespace], throttles[namespace]) = (nil, nil) }
}
