import HTTPCaching
import HTTPTypes

/// The flights of one gateway, indexed by the properties that decide whether a new call may reuse them.
///
/// A look-up only sees flights that may answer the call, regardless of the number of flights to the URL. Before its
/// head arrives, a flight has a ``Kind``: a call finds the flight if both kinds are equal. Afterwards, the flight has a
/// ``Variant``: a call finds the flight if it selects this variant. Of each kind and each variant, the newest ``limit``
/// flights are visible.
///
/// The table has no lock. Its owner must guard it.
struct FetchFlightTable {
    /// The greatest number of flights of a kind, or of a variant, that a call can find.
    static let limit = 64
    /// The greatest number of different sets of Vary fields, among the simultaneous answers to a URL, whose answers a
    /// call can find. Nearly always there is one set.
    private static let selectionLimit = 8

    /// The properties that a call must share with a leader to wait for its answer; see
    /// ``GatewayCall/isLike(_:knowing:)``.
    private struct Kind: Hashable {
        let authorization: String?
        let hasTTL: Bool
        let ranges: [String]
        /// `nil` when the fields by which answers to the URL vary were not known.
        let selection: SelectingFields?

        init(_ call: GatewayCall, knowing known: StoredResponse?) {
            authorization = call.cacheRequest.authorization
            hasTTL = call.request.ttl != nil
            ranges = call.request.fields[values: .range]
            selection = known.flatMap { SelectingFields(vary: $0.fields, request: call.request.fields) }
        }
    }

    /// The properties that distinguish an answer from the other answers to its URL, as far as a call can tell whether
    /// it may use the answer.
    private struct Variant: Hashable {
        let selection: SelectingFields
        /// The grant of a caller, when only the caller's ttl allowed the answer to be kept.
        let grant: CallerGrant?
        /// The requested ranges, for an answer that is a part.
        let ranges: [String]
    }

    /// The flights of one URL. A class, so that a ``Place`` reaches its group without a look-up by URL. Copies of the
    /// table would share the groups, so the table must not be copied.
    private final class Group {
        var count = 0
        var waiting: [Kind: RecentFlights] = [:]
        /// Indexed by the names of the fields by which the answers vary.
        var answered: [[String]: [Variant: RecentFlights]] = [:]
        var latestHead: StoredResponse?
    }

    /// The position of a flight in the indexes.
    private struct Place {
        let flight: FetchFlight
        let group: Group
        var kind: Kind?
        var variant: Variant?
        /// The key of the response that the flight may bring up to date.
        let refreshed: String?
    }

    private var places: [UInt64: Place] = [:]
    private var groups: [String: Group] = [:]
    private var refreshers: [String: RecentFlights] = [:]

    /// The number of flights.
    var count: Int { places.count }

    /// All flights, the oldest first.
    var all: [FetchFlight] { places.values.map(\.flight).sorted { $0.number < $1.number } }

    // MARK: - Looking

    /// Returns the flights that may answer a call, the oldest first.
    ///
    /// - Parameter known: an earlier response to the URL. New answers most likely vary by the same fields.
    func candidates(for call: GatewayCall, knowing known: StoredResponse? = nil) -> [FetchFlight] {
        guard let group = groups[call.request.url.string] else { return [] }
        let kinds = Set([Kind(call, knowing: known), Kind(call, knowing: nil)])
        let waiting = kinds.flatMap { group.waiting[$0]?.flights ?? [] }.sorted { $0.number < $1.number }
        let answered = Self.answered(for: call, in: group)
        return answered.isEmpty ? waiting : (answered + waiting).sorted { $0.number < $1.number }
    }

    /// Returns the flights whose heads have arrived and whose answers the call may have, the oldest first.
    func answered(for call: GatewayCall) -> [FetchFlight] {
        groups[call.request.url.string].map { Self.answered(for: call, in: $0) } ?? []
    }

    private static func answered(for call: GatewayCall, in group: Group) -> [FetchFlight] {
        if group.answered.isEmpty { return [] }
        let flights = group.answered.prefix(selectionLimit).flatMap { names, answered in
            variants(for: call, varyingBy: names).flatMap { answered[$0]?.flights ?? [] }
        }
        return flights.sorted { $0.number < $1.number }
    }

    /// Returns the latest shareable head for a URL, as long as a flight of that URL exists. It names the fields by
    /// which the answers vary.
    func latestHead(ofURL url: String) -> StoredResponse? { groups[url]?.latestHead }

    /// Returns the flights that may bring the response with this key up to date.
    func refreshing(_ key: String) -> [FetchFlight] { refreshers[key]?.flights ?? [] }

    private static func variants(for call: GatewayCall, varyingBy names: [String]) -> [Variant] {
        let vary: HTTPFields = [.vary: names.joined(separator: ", ")]
        guard let selection = SelectingFields(vary: vary, request: call.request.fields) else { return [] }
        var grants: [CallerGrant?] = [nil]
        if call.request.ttl != nil {
            grants.append(CallerGrant(isOnlyReason: true, authorization: call.cacheRequest.authorization))
        }
        let asked = call.request.fields[values: .range]
        let ranges: [[String]] = asked.isEmpty ? [[]] : [[], asked]
        return grants.flatMap { grant in
            ranges.map { Variant(selection: selection, grant: grant, ranges: $0) }
        }
    }

    // MARK: - Changing

    /// Adds a flight whose head has not arrived.
    ///
    /// - Parameters:
    ///   - key: the key of the response that the flight may bring up to date; `nil` when there is no such response.
    ///   - known: as in ``candidates(for:knowing:)``.
    mutating func add(_ flight: FetchFlight, refreshing key: String?, knowing known: StoredResponse? = nil) {
        let kind = flight.isShared ? Kind(flight.leader, knowing: known) : nil
        let group = group(ofURL: flight.url)
        group.count += 1
        if let kind { group.waiting[kind, default: RecentFlights()].add(flight) }
        if let key { refreshers[key, default: RecentFlights()].add(flight) }
        places[flight.number] = Place(flight: flight, group: group, kind: kind, variant: nil, refreshed: key)
    }

    private mutating func group(ofURL url: String) -> Group {
        if let group = groups[url] { return group }
        let group = Group()
        groups[url] = group
        return group
    }

    /// Updates the indexes when the head of a flight's answer arrives, or when other calls may no longer use its
    /// answer.
    ///
    /// - Parameter head: `nil` when no other call may use the answer.
    mutating func noteHead(_ head: StoredResponse?, of flight: FetchFlight) {
        guard let index = places.index(forKey: flight.number) else { return }
        let group = places.values[index].group
        Self.hide(places.values[index])
        places.values[index].kind = nil
        places.values[index].variant = nil
        guard let head else { return }
        let variant = Variant(
            selection: head.selection, grant: head.grant.flatMap { $0.isOnlyReason ? $0 : nil },
            ranges: head.part == nil ? [] : flight.leader.request.fields[values: .range])
        group.latestHead = head
        group.answered[variant.selection.names, default: [:]][variant, default: RecentFlights()].add(flight)
        places.values[index].variant = variant
    }

    /// Removes a flight. Has no effect on a flight that is not in the table.
    mutating func remove(_ flight: FetchFlight) {
        guard let place = places.removeValue(forKey: flight.number) else { return }
        Self.hide(place)
        if let key = place.refreshed { refreshers.remove(flight, of: key) }
        place.group.count -= 1
        if place.group.count == 0 { groups[flight.url] = nil }
    }

    /// Hides a flight: calls no longer find it by its kind or its variant.
    private static func hide(_ place: Place) {
        let group = place.group
        if let kind = place.kind { group.waiting.remove(place.flight, of: kind) }
        if let variant = place.variant, let index = group.answered.index(forKey: variant.selection.names) {
            group.answered.values[index].remove(place.flight, of: variant)
            if group.answered.values[index].isEmpty { group.answered.remove(at: index) }
        }
    }
}

extension Dictionary where Value == RecentFlights {
    /// Removes a flight from the list of a key. The key goes with its last flight.
    fileprivate mutating func remove(_ flight: FetchFlight, of key: Key) {
        guard let index = index(forKey: key) else { return }
        values[index].remove(flight)
        if values[index].flights.isEmpty { remove(at: index) }
    }
}

/// The newest flights of a list, the oldest of them first. A flight that had to make room for a newer flight is not
/// found again.
private struct RecentFlights {
    private(set) var flights: [FetchFlight] = []

    mutating func add(_ flight: FetchFlight) {
        // The added flight nearly always is the newest.
        let index = flights.lastIndex { $0.number < flight.number }.map { $0 + 1 } ?? 0
        flights.insert(flight, at: index)
        if flights.count > FetchFlightTable.limit { flights.removeFirst() }
    }

    mutating func remove(_ flight: FetchFlight) {
        flights.removeAll { $0 === flight }
    }
}
