import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// What is under way.
extension Gateway {
    /// How many requests to origins are under way.
    public var flightCount: Int { shards.forEach { $0.flights.count }.reduce(0, +) }

    /// The requests to origins that are under way, the oldest first.
    var flights: [FetchFlight] { shards.forEach { $0.flights.all }.flatMap(\.self).sorted { $0.number < $1.number } }

    /// Ends those that nobody waits for or reads any more.
    func endUnread() {
        for flight in flights { _ = flight.giveUp() }
    }

    /// Refuses new requests from now on, and ends those that run.
    public func stop() {
        let flights = shards.forEach { state in
            state.isStopping = true
            return state.flights.all
        }
        for flight in flights.joined() { flight.cancel() }
    }

    /// What is to be served in place of a stored response: a newer one that has come whole and is not stored yet.
    func newerAnswer(for call: GatewayCall, insteadOf held: StoredResponse) -> FetchFlight.Shared? {
        let flights = shards.withState(of: call.url) { $0.flights.answered(for: call) }
        // Several may be under way to the writer: the one that departed last is the one that stays.
        for flight in flights.reversed() {
            if let answer = flight.wholeAnswer(for: call, insteadOf: held) { return answer }
        }
        return nil
    }

    /// When a request has to wait for its turn, one that nobody waits for or reads any more is given up for it: else
    /// clients that come and go, and origins that trickle, could take every place, whatever their namespace. It is in
    /// the line already, so that of several at once the last sees all.
    func makeWay(for flight: FetchFlight) {
        let limits = tools.origin.configuration
        // Flights whose answers only have to be stored need no place, and there may be many.
        guard tools.origin.openTransfers > min(limits.maxTransfersPerHost, limits.maxTransfers) else { return }
        let rivals = group.rivals(
            of: flight, limitPerHost: limits.maxTransfersPerHost, limit: limits.maxTransfers)
        _ = rivals.first { $0.giveUp() }
    }

    /// Brings a stale response up to date behind the back of the client that got it, unless that is under way.
    func refresh(_ held: HeldResponse, for call: GatewayCall) {
        var request = call.request
        // HEAD would bring nothing to be stored.
        request.method = .get
        for name in [
            HTTPField.Name.range, .ifRange, .ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .cacheControl,
        ] {
            request.fields[values: name] = []
        }
        let background = GatewayCall(request, interim: { _, _ in }) { result in
            if case .success(let answer) = result, case .live(let live) = answer.body { live.dismiss() }
        }
        let isUnderWay = shards.withState(of: background.url) { state in
            state.flights.refreshing(held.entry.key).contains { $0.refreshes(held) }
        }
        if !isUnderWay { send(background, held: held, isValidating: !Validators(held.head.fields).isEmpty) }
    }

    /// The head of a flight's answer is there.
    ///
    /// - Parameter head: `nil` when nobody else may have that answer, or may not any more.
    func noteHead(_ head: StoredResponse?, of flight: FetchFlight) {
        shards.withState(of: flight.leader.url) { $0.flights.noteHead(head, of: flight) }
    }

    /// A flight has ended.
    func remove(_ flight: FetchFlight) {
        shards.withState(of: flight.leader.url) { $0.flights.remove(flight) }
        group.leave(flight)
    }

    /// Remembers for a while whether answers to such requests can be shared: those that cannot share one must not queue
    /// behind each other.
    func learn(of call: GatewayCall, isShareable: Bool) {
        let (kind, now) = (call.sharingHash, tools.clock.now())
        shards.withHints(of: kind) { $0.note(kind, isShareable: isShareable, now: now) }
    }
}
