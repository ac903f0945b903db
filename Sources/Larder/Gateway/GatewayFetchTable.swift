import HTTPCaching
import HTTPTypes
import Primitives

/// The fetches of one gateway, indexed by the properties that decide whether a new call may reuse them.
///
/// A look-up sees only fetches that may answer the call, so its time hardly depends on the number of fetches to the
/// URL. It finds a fetch by its ``Kind`` before its head arrives, and by its ``Variant`` afterwards. Only the newest
/// ``limit`` fetches of each kind and variant are visible.
struct GatewayFetchTable {
    /// The greatest number of fetches of a kind, or of a variant, that a call can find.
    static let limit = 64
    /// Simultaneous answers to a URL may have different sets of Vary fields. A call finds the answers of at most this
    /// number of sets. Nearly always there is one set.
    private static let selectionLimit = 8

    /// The properties that a call must share with the call that caused a fetch, to wait for the fetch's answer.
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

    /// The properties that distinguish an answer from others to its URL, and that a look-up takes from a request.
    private struct Variant: Hashable {
        let selection: SelectingFields
        /// The grant of a caller, when only the caller's ttl allowed the answer to be kept.
        let grant: CallerGrant?
        /// The requested ranges, for an answer that is a part.
        let ranges: [String]
    }

    /// The fetches of one URL. A class, so that a ``Place`` reaches it without a look-up; the table must not be copied.
    private final class Group {
        var count = 0
        var waiting: [Kind: RecentFetches] = [:]
        /// Indexed by the names of the fields by which the answers vary.
        var answered: [[String]: [Variant: RecentFetches]] = [:]
        var latestHead: StoredResponse?
    }

    private struct Place {
        let fetch: GatewayFetch
        let group: Group
        var kind: Kind?
        var variant: Variant?
        /// The key of the response that the fetch may bring up to date.
        let refreshed: String?
    }

    private var places: [UInt64: Place] = [:]
    private var groups: [String: Group] = [:]
    private var refreshers: [String: RecentFetches] = [:]

    var count: Int { places.count }
    /// All fetches, the oldest first.
    var all: [GatewayFetch] { places.values.map(\.fetch).sorted { $0.number < $1.number } }

    /// Returns the fetches that may answer a call, the oldest first. `known` is an earlier response to the URL; new
    /// answers most likely vary by the same fields.
    func candidates(for call: GatewayCall, knowing known: StoredResponse? = nil) -> [GatewayFetch] {
        guard let group = groups[call.request.url.string] else { return [] }
        let kinds = Set([Kind(call, knowing: known), Kind(call, knowing: nil)])
        let waiting = kinds.flatMap { group.waiting[$0]?.fetches ?? [] }.sorted { $0.number < $1.number }
        let answered = Self.answered(for: call, in: group)
        return answered.isEmpty ? waiting : (answered + waiting).sorted { $0.number < $1.number }
    }

    /// Returns the fetches with an arrived head and an answer that the call may have, the oldest first.
    func answered(for call: GatewayCall) -> [GatewayFetch] {
        groups[call.request.url.string].map { Self.answered(for: call, in: $0) } ?? []
    }

    /// Returns the fetches of a URL that calls can find, in no particular order.
    func visible(ofURL url: String) -> [GatewayFetch] {
        guard let group = groups[url] else { return [] }
        return (Array(group.waiting.values) + group.answered.values.flatMap(\.values)).flatMap(\.fetches)
    }

    private static func answered(for call: GatewayCall, in group: Group) -> [GatewayFetch] {
        if group.answered.isEmpty { return [] }
        let fetches = group.answered.prefix(selectionLimit).flatMap { names, answered in
            variants(for: call, varyingBy: names).flatMap { answered[$0]?.fetches ?? [] }
        }
        return fetches.sorted { $0.number < $1.number }
    }

    /// Returns the latest shareable head for a URL with fetches. It names the fields by which the answers vary.
    func latestHead(ofURL url: String) -> StoredResponse? { groups[url]?.latestHead }

    /// Returns the fetches that may bring the response with this key up to date.
    func refreshing(_ key: String) -> [GatewayFetch] { refreshers[key]?.fetches ?? [] }

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

    /// Adds a fetch before its head arrives. The fetch may bring the response with the key `key` up to date.
    mutating func add(_ fetch: GatewayFetch, refreshing key: String?, knowing known: StoredResponse? = nil) {
        let kind = fetch.policy.isShared ? Kind(fetch.policy.leader, knowing: known) : nil
        let url = fetch.policy.leader.request.url.string
        let group = groups[url] ?? Group()
        groups[url] = group
        group.count += 1
        if let kind { group.waiting[kind, default: RecentFetches()].add(fetch) }
        if let key { refreshers[key, default: RecentFetches()].add(fetch) }
        places[fetch.number] = Place(fetch: fetch, group: group, kind: kind, variant: nil, refreshed: key)
    }

    /// Updates the indexes when a head arrives, or when other calls may no longer use the answer (`nil`).
    mutating func noteHead(_ head: StoredResponse?, of fetch: GatewayFetch) {
        guard let index = places.index(forKey: fetch.number) else { return }
        let group = places.values[index].group
        Self.hide(places.values[index])
        places.values[index].kind = nil
        places.values[index].variant = nil
        guard let head else { return }
        let variant = Variant(
            selection: head.selection, grant: head.grant.flatMap { $0.isOnlyReason ? $0 : nil },
            ranges: head.part == nil ? [] : fetch.policy.leader.request.fields[values: .range])
        group.latestHead = head
        group.answered[variant.selection.names, default: [:]][variant, default: RecentFetches()].add(fetch)
        places.values[index].variant = variant
    }

    /// Removes a fetch. Has no effect on a fetch that is not in the table.
    mutating func remove(_ fetch: GatewayFetch) {
        guard let place = places.removeValue(forKey: fetch.number) else { return }
        Self.hide(place)
        if let key = place.refreshed { refreshers.remove(fetch, of: key) }
        place.group.count -= 1
        if place.group.count == 0 { groups[fetch.policy.leader.request.url.string] = nil }
    }

    /// Hides a fetch: calls no longer find it by its kind or its variant.
    private static func hide(_ place: Place) {
        let group = place.group
        if let kind = place.kind { group.waiting.remove(place.fetch, of: kind) }
        if let variant = place.variant, let index = group.answered.index(forKey: variant.selection.names) {
            group.answered.values[index].remove(place.fetch, of: variant)
            if group.answered.values[index].isEmpty { group.answered.remove(at: index) }
        }
    }
}

extension Dictionary where Value == RecentFetches {
    /// Removes a fetch from the list of a key, and removes the key with its last fetch.
    fileprivate mutating func remove(_ fetch: GatewayFetch, of key: Key) {
        guard let index = index(forKey: key) else { return }
        values[index].remove(fetch)
        if values[index].fetches.isEmpty { remove(at: index) }
    }
}

/// The newest fetches, the oldest first. Calls no longer find a fetch that newer fetches have displaced.
private struct RecentFetches {
    private(set) var fetches: [GatewayFetch] = []

    mutating func add(_ fetch: GatewayFetch) {
        // The added fetch nearly always is the newest.
        let index = fetches.lastIndex { $0.number < fetch.number }.map { $0 + 1 } ?? 0
        fetches.insert(fetch, at: index)
        if fetches.count > GatewayFetchTable.limit { fetches.removeFirst() }
    }

    mutating func remove(_ fetch: GatewayFetch) {
        fetches.removeAll { $0 === fetch }
    }
}

/// The kinds of requests with answers that cannot be shared. Such requests must not wait for each other.
struct SharingHints {
    /// The time for which an answer counts for the next requests of its kind.
    static let time = Duration.seconds(10)
    /// The greatest number of kinds in each shard of a gateway's hints.
    private static let limit = 1000

    private struct Hint {
        let isKept: Bool
        let end: Timestamp
    }

    /// The kinds of requests for which the last answer could not be shared.
    private var unshared: [Int: Hint] = [:]

    /// Whether requests of a kind may wait for each other.
    func isShareable(_ kind: Int, now: Timestamp) -> Bool {
        unshared[kind].map { $0.end <= now } ?? true
    }

    /// Whether the answer to a request of a kind is expected to be kept, judging by the last answer.
    func isKeepExpected(_ kind: Int, now: Timestamp) -> Bool {
        unshared[kind].map { $0.isKept || $0.end <= now } ?? true
    }

    /// Remembers for ``time`` that an answer is not shareable, and whether it is kept. A shareable one ends the hint.
    mutating func note(_ kind: Int, isShareable: Bool, isKept: Bool, now: Timestamp) {
        if isShareable {
            unshared[kind] = nil
            return
        }
        if unshared.count >= Self.limit { unshared = unshared.filter { $0.value.end > now } }
        if unshared.count >= Self.limit { unshared = [:] }
        unshared[kind] = Hint(isKept: isKept, end: now + Self.time)
    }
}
