/// What has happened and was not told of yet: bounded in bytes, about. What finds no room is lost, and that is noted. A
/// plain value.
struct EventBacklog {
    private let byteLimit: Int
    private var events: [Event] = []
    private var bytes = 0
    private var hasLost = false

    /// The most events that are taken at once.
    static let pieceLimit = 1024

    init(byteLimit: Int) {
        self.byteLimit = byteLimit
    }

    /// Whether there is nothing to take.
    var isEmpty: Bool { events.isEmpty }

    /// Adds what has happened, in order; where something was lost before, that first.
    mutating func add(_ new: [Event]) {
        for event in new {
            let pieces = (hasLost ? [Event(reset: .gap, at: event.time)] : []) + [event]
            let cost = pieces.reduce(0) { $0 + $1.cost }
            // One is never too large alone.
            guard events.isEmpty || bytes + cost <= byteLimit else {
                hasLost = true
                return
            }
            events += pieces
            bytes += cost
            hasLost = false
        }
    }

    /// Takes the first of them: at most ``pieceLimit``, and at most a quarter of the bytes that there may be, so that
    /// who is told of them finds them still in a window of as many bytes.
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

    /// Whether something was lost that is not told of where it was; it will not be, then.
    mutating func takeLoss() -> Bool {
        defer { hasLost = false }
        return hasLost
    }

    /// Forgets all of it.
    mutating func removeAll() {
        (events, bytes, hasLost) = ([], 0, false)
    }
}
