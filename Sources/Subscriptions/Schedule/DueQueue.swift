import Primitives

/// The members that wait for a request, by their hosts, and in each host by the time; and the hosts by the time of
/// their first member, so that a list over many hosts costs no search. An element that no longer fits its member stays
/// until it comes to the front; ``front(of:isCurrent:)`` then drops it.
///
/// Invariants:
/// - A host with elements that is not held has an element in `order` with the date that `dates` has. Other elements of
///   `order` are outdated.
/// - No host with elements that is not held comes up later in `order` than its first current element.
struct DueQueue: Sendable {
    struct Element: Comparable, Sendable {
        var due: Timestamp
        var key: String

        static func < (left: Element, right: Element) -> Bool { (left.due, left.key) < (right.due, right.key) }
    }

    private struct HostDate: Comparable, Sendable {
        var date: Timestamp
        var host: String

        static func < (left: HostDate, right: HostDate) -> Bool { (left.date, left.host) < (right.date, right.host) }
    }

    /// No heap is empty.
    private var heaps: [String: Heap<Element>] = [:]
    private var order = Heap<HostDate>()
    private var dates: [String: Timestamp] = [:]
    /// The hosts without a turn before a date; `nil`: before ``free(_:)``.
    private var held: [String: Timestamp?] = [:]

    /// The number of elements, with those that no longer fit.
    var count: Int { heaps.values.reduce(0) { $0 + $1.count } }

    mutating func add(_ element: Element, host: String) {
        heaps[host, default: Heap()].insert(element)
        schedule(host, at: element.due)
    }

    /// The first element that `isCurrent` accepts; `nil` when the host has none.
    mutating func front(of host: String, isCurrent: (Element) -> Bool) -> Element? {
        while let first = heaps[host]?.first {
            if isCurrent(first) { return first }
            removeFront(of: host)
        }
        return nil
    }

    mutating func removeFront(of host: String) {
        heaps[host]?.removeFirst()
        if heaps[host]?.first == nil { heaps[host] = nil }
    }

    // MARK: - Hosts

    /// The host that is first to have a turn, and the date of its turn; `nil` while no host has a date.
    mutating func firstHost(isCurrent: (Element) -> Bool) -> (host: String, date: Timestamp)? {
        while let first = order.first {
            guard dates[first.host] == first.date else {
                order.removeFirst()
                continue
            }
            let due = front(of: first.host, isCurrent: isCurrent)?.due
            let date = due.flatMap { turn(of: first.host, due: $0) }
            if date == first.date { return (first.host, first.date) }
            order.removeFirst()
            dates[first.host] = date
            if let date { order.insert(HostDate(date: date, host: first.host)) }
        }
        return nil
    }

    /// The host has no turn before a date. `nil`: it has none before ``free(_:)``.
    mutating func hold(_ host: String, until date: Timestamp?) {
        held[host] = .some(date)
        dates[host] = nil
        guard let first = heaps[host]?.first else { return }
        schedule(host, at: first.due)
    }

    /// Ends ``hold(_:until:)``.
    mutating func free(_ host: String) {
        guard held.removeValue(forKey: host) != nil, let first = heaps[host]?.first else { return }
        schedule(host, at: first.due)
    }

    private mutating func schedule(_ host: String, at due: Timestamp) {
        guard let date = turn(of: host, due: due), date < dates[host] ?? .distantFuture else { return }
        dates[host] = date
        order.insert(HostDate(date: date, host: host))
    }

    private func turn(of host: String, due: Timestamp) -> Timestamp? {
        guard let hold = held[host] else { return due }
        return hold.map { max($0, due) }
    }
}
