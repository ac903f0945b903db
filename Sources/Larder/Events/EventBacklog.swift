/// Events that are not in the window yet, bounded in approximate bytes. An event that finds no room is dropped, and the
/// backlog remembers the loss. A plain value.
struct EventBacklog {
    private let byteLimit: Int
    private var events: [Event] = []
    private var bytes = 0
    private var hasLost = false

    static let pieceLimit = 1024

    init(byteLimit: Int) {
        self.byteLimit = byteLimit
    }

    var isEmpty: Bool { events.isEmpty }

    /// Adds events, in order. If events were dropped before, adds a ``Event/Kind/reset`` in their place first.
    mutating func add(_ new: [Event]) {
        for event in new {
            let pieces = (hasLost ? [Event(reset: .gap, at: event.time)] : []) + [event]
            let cost = pieces.reduce(0) { $0 + $1.cost }
            // A single event is never too large.
            guard events.isEmpty || bytes + cost <= byteLimit else {
                hasLost = true
                return
            }
            events += pieces
            bytes += cost
            hasLost = false
        }
    }

    /// Takes the first events: at most ``pieceLimit``, and at most a quarter of the byte limit, so that listeners still
    /// find all of them in a window with the same limit. A larger event is taken alone.
    mutating func take() -> [Event] {
        var (count, taken) = (0, 0)
        for event in events.prefix(Self.pieceLimit) {
            let cost = event.cost
            if count > 0, taken + cost > byteLimit / 4 { break }
            count += 1
            taken += cost
        }
        defer {
            events.removeFirst(count)
            bytes -= taken
        }
        return Array(events.prefix(count))
    }

    /// Returns whether events were dropped and no ``Event/Kind/reset`` has taken their place, and forgets the loss.
    mutating func takeLoss() -> Bool {
        defer { hasLost = false }
        return hasLost
    }

    mutating func removeAll() {
        (events, bytes, hasLost) = ([], 0, false)
    }
}
