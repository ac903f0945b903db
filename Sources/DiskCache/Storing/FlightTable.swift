import Primitives

/// What is known of a body that is being received.
struct Flight: Sendable {
    /// The key of the entry to be; of a response, before it is known which variant it is, the key of some variant.
    var key: CacheKey
    var kind: Entry.Kind
    var url: String?
    var host: String?
    var tags: Set<ExactText>
    /// Whether the key is not decided yet: then a purge of any variant means it.
    var isVariantOpen = false
    /// Whether a purge matched it meanwhile.
    var isPurged = false

    /// Whether a purge means it. What is being received is neither fresh nor stale.
    func matches(_ filter: EntryFilter) -> Bool {
        func begins(_ text: String, _ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }
        if filter.state != nil { return false }
        if let key = filter.key, !names(key) { return false }
        if let md5 = filter.md5, self.key.form == .data || md5 != self.key.md5Hex { return false }
        if let url = filter.url, url != self.url { return false }
        if let host = filter.host, host != self.host { return false }
        if let kind = filter.kind, kind != self.kind { return false }
        if let tag = filter.tag, !tags.contains(ExactText(tag)) { return false }
        if let prefix = filter.prefix {
            let text = kind == .data ? key.text : url ?? ""
            if !begins(text, prefix) { return false }
        }
        return true
    }
}

extension Flight {
    /// Whether `text` is the key of the entry to be, as far as that is decided.
    private func names(_ text: String) -> Bool {
        if ExactText(text) == ExactText(key.text) { return true }
        guard isVariantOpen, let other = CacheKey(text) else { return false }
        return other.form == .response && other.md5Hex == key.md5Hex
    }
}

/// The bodies that are being received, so that a purge reaches them.
///
/// Why nothing that was purged comes back: a purge marks the flights that match on the writer's thread, before it
/// removes the first entry, and publishing asks for the mark on the same thread. So a body was either published before
/// the purge began, and is removed by it, or it is marked, or its reservation was made after the purge began.
final class FlightTable: Sendable {
    private struct State {
        var flights: [Int: Flight] = [:]
        var next = 0
    }

    private let state = Locked(State())

    /// Adds a flight; the number by which it is known from then on.
    func begin(_ flight: Flight) -> Int {
        state.withLock { state in
            state.next += 1
            state.flights[state.next] = flight
            return state.next
        }
    }

    /// Forgets a flight.
    func end(_ number: Int) {
        state.withLock { _ = $0.flights.removeValue(forKey: number) }
    }

    /// What is known of a flight; `nil` when it has ended.
    func flight(_ number: Int) -> Flight? {
        state.withLock { $0.flights[number] }
    }

    /// Decides the key of a flight; see ``Flight/isVariantOpen``.
    func decide(_ key: CacheKey, of number: Int) {
        state.withLock { state in
            state.flights[number]?.key = key
            state.flights[number]?.isVariantOpen = false
        }
    }

    /// Adds tags to a flight.
    func add(_ tags: [String], to number: Int) {
        state.withLock { $0.flights[number]?.tags.formUnion(tags.map(ExactText.init)) }
    }

    /// What comes from origins and no purge has met yet, by number, with the key of the entry to be.
    var fetches: [(number: Int, key: CacheKey, isVariantOpen: Bool)] {
        state.withLock { state in
            state.flights.filter { $0.value.kind == .download || $0.value.kind == .response }
                .filter { !$0.value.isPurged }
                .map { ($0.key, $0.value.key, $0.value.isVariantOpen) }
        }
    }

    /// A purge met this flight.
    func purge(_ number: Int) {
        state.withLock { $0.flights[number]?.isPurged = true }
    }

    /// A purge began: marks what it means.
    func purge(_ filter: EntryFilter) {
        state.withLock { state in
            for (number, flight) in state.flights where !flight.isPurged && flight.matches(filter) {
                state.flights[number]?.isPurged = true
            }
        }
    }
}
