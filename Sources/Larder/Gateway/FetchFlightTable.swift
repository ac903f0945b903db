import HTTPCaching
import HTTPTypes

/// The requests of one gateway to origins that are under way, found by what somebody who asks may have of them.
///
/// However many there are of one URL, only those are looked at that may answer a call: those whose heads it may wait
/// for have a leader with the same ``Kind``, those whose answers it may read are of a ``Variant`` that it selects. Of
/// each the newest ``limit`` count.
///
/// It has no lock, which is its owner's to add.
struct FetchFlightTable {
    /// How many flights of one kind, or of one variant, can be found.
    static let limit = 64
    /// Of how many sets of fields by which the answers to one URL vary at a time those answers can be found: nearly
    /// always there is one.
    private static let selectionLimit = 8

    /// What a call must have in common with a leader to wait for its answer; see ``GatewayCall/isLike(_:knowing:)``.
    private struct Kind: Hashable {
        let authorization: String?
        let hasTTL: Bool
        let ranges: [String]
        /// `nil` when it was not known by what the answers to the URL vary.
        let selection: SelectingFields?

        init(_ call: GatewayCall, knowing known: StoredResponse?) {
            authorization = call.cacheRequest.authorization
            hasTTL = call.request.ttl != nil
            ranges = call.request.fields[values: .range]
            selection = known.flatMap { SelectingFields(vary: $0.fields, request: call.request.fields) }
        }
    }

    /// What tells an answer from the others to its URL, as far as a call can say whether it may have it.
    private struct Variant: Hashable {
        let selection: SelectingFields
        /// When only a caller's ttl allowed to keep it: that caller's.
        let grant: CallerGrant?
        /// Of a part: what was asked for.
        let ranges: [String]
    }

    /// Those of one URL. A class, so that who has it need not look for it by the URL again; a copy of the table shares
    /// them, so it is not copied.
    private final class Group {
        var count = 0
        var waiting: [Kind: RecentFlights] = [:]
        /// By the names of the fields by which they vary.
        var answered: [[String]: [Variant: RecentFlights]] = [:]
        var latestHead: StoredResponse?
    }

    /// Where a flight can be found.
    private struct Place {
        let flight: FetchFlight
        let group: Group
        var kind: Kind?
        var variant: Variant?
        /// The key of the response that it may bring up to date.
        let refreshed: String?
    }

    private var places: [UInt64: Place] = [:]
    private var groups: [String: Group] = [:]
    private var refreshers: [String: RecentFlights] = [:]

    /// How many there are.
    var count: Int { places.count }

    /// All of them, the oldest first.
    var all: [FetchFlight] { places.values.map(\.flight).sorted { $0.number < $1.number } }

    // MARK: - Looking

    /// Those that may answer a call, the oldest first.
    ///
    /// - Parameter known: an earlier response to the URL: by what it varies these most likely will, too.
    func candidates(for call: GatewayCall, knowing known: StoredResponse? = nil) -> [FetchFlight] {
        guard let group = groups[call.request.url.string] else { return [] }
        let kinds = Set([Kind(call, knowing: known), Kind(call, knowing: nil)])
        let waiting = kinds.flatMap { group.waiting[$0]?.flights ?? [] }.sorted { $0.number < $1.number }
        let answered = Self.answered(for: call, in: group)
        return answered.isEmpty ? waiting : (answered + waiting).sorted { $0.number < $1.number }
    }

    /// Those of which the head is there and a call may have the answer, the oldest first.
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

    /// The head that came last of those to a URL that may be shared, while there is a flight of that URL: it tells by
    /// what they vary.
    func latestHead(ofURL url: String) -> StoredResponse? { groups[url]?.latestHead }

    /// Those that may bring the response of that key up to date.
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

    /// Adds a flight whose head is not there.
    ///
    /// - Parameters:
    ///   - key: of the response that it may bring up to date; `nil`: there is none.
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

    /// The head of a flight's answer is there, or nobody else may have that answer any more.
    ///
    /// - Parameter head: `nil` when nobody else may have it.
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

    /// Removes a flight; nothing happens when it is not there.
    mutating func remove(_ flight: FetchFlight) {
        guard let place = places.removeValue(forKey: flight.number) else { return }
        Self.hide(place)
        if let key = place.refreshed { refreshers.remove(flight, of: key) }
        place.group.count -= 1
        if place.group.count == 0 { groups[flight.url] = nil }
    }

    /// From now on nobody finds it who asks.
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
    /// Removes a flight from those of a key, and the key with the last of them.
    fileprivate mutating func remove(_ flight: FetchFlight, of key: Key) {
        guard let index = index(forKey: key) else { return }
        values[index].remove(flight)
        if values[index].flights.isEmpty { remove(at: index) }
    }
}

/// The newest of some flights, the oldest of them first. One that had to make way for newer ones is not found again.
private struct RecentFlights {
    private(set) var flights: [FetchFlight] = []

    mutating func add(_ flight: FetchFlight) {
        // Nearly always it is the newest.
        let index = flights.lastIndex { $0.number < flight.number }.map { $0 + 1 } ?? 0
        flights.insert(flight, at: index)
        if flights.count > FetchFlightTable.limit { flights.removeFirst() }
    }

    mutating func remove(_ flight: FetchFlight) {
        flights.removeAll { $0 === flight }
    }
}
