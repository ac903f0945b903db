import HTTPCaching
import HTTPTypes
import Origin
import Primitives

/// The flights that are under way.
extension Gateway {
    /// The number of requests to origins that are under way.
    package var flightCount: Int { shards.forEach { $0.flights.count }.reduce(0, +) }

    /// The requests to origins that are under way, the oldest first.
    var flights: [FetchFlight] { shards.forEach { $0.flights.all }.flatMap(\.self).sorted { $0.number < $1.number } }

    /// Ends the flights without waiters and readers.
    func endUnread() {
        for flight in flights { _ = flight.giveUp() }
    }

    /// Refuses new requests from now on, and ends all flights.
    package func stop() {
        let flights = shards.forEach { state in
            state.isStopping = true
            return state.flights.all
        }
        for flight in flights.joined() { flight.cancel() }
    }

    /// Returns the answer to serve in place of a stored response: a newer answer that has arrived whole and is not
    /// stored yet.
    func newerAnswer(for call: GatewayCall, insteadOf held: StoredResponse) -> FetchFlight.Shared? {
        let flights = shards.withState(of: call.url) { $0.flights.answered(for: call) }
        // Several answers may be on their way to the writer. The answer of the flight that departed last is the one
        // that stays.
        for flight in flights.reversed() {
            if let answer = flight.wholeAnswer(for: call, insteadOf: held) { return answer }
        }
        return nil
    }

    /// Gives up a flight without waiters and readers when a new flight has to wait for its place at the origin.
    /// Otherwise clients that come and go, and origins that trickle, could occupy every place, regardless of the
    /// namespace.
    ///
    /// `flight` is in the line of the group already. So when several flights depart at once, the last of them sees all
    /// others in the line.
    func makeWay(for flight: FetchFlight) {
        let limits = tools.origin.configuration
        // Counts open transfers instead of flights, because a flight whose answer only has to be stored needs no place,
        // and there may be many such flights.
        guard tools.origin.openTransfers > min(limits.maxTransfersPerHost, limits.maxTransfers) else { return }
        let rivals = group.rivals(
            of: flight, limitPerHost: limits.maxTransfersPerHost, limit: limits.maxTransfers)
        _ = rivals.first { $0.giveUp() }
    }

    /// Brings a stale response up to date after its client got it, unless such a refresh is under way.
    func refresh(_ held: HeldResponse, for call: GatewayCall) {
        var request = call.request
        // An answer to HEAD would bring no body to store.
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

    /// Updates the table when the head of a flight's answer arrives.
    ///
    /// - Parameter head: `nil` when no other call may use that answer, or no longer may.
    func noteHead(_ head: StoredResponse?, of flight: FetchFlight) {
        shards.withState(of: flight.leader.url) { $0.flights.noteHead(head, of: flight) }
    }

    /// Removes a flight that has ended.
    func remove(_ flight: FetchFlight) {
        shards.withState(of: flight.leader.url) { $0.flights.remove(flight) }
        group.leave(flight)
    }

    /// Remembers for a while whether requests like this call can share an answer. Requests that cannot share an answer
    /// must not queue behind each other.
    func learn(of call: GatewayCall, isShareable: Bool) {
        let (kind, now) = (call.sharingHash, tools.clock.now())
        shards.withHints(of: kind) { $0.note(kind, isShareable: isShareable, now: now) }
    }
}
