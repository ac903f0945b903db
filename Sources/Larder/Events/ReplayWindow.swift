/// The latest events, in order, for listeners that come back or are behind. A plain value.
///
/// A place in the window is the number of the last event that a listener was sent; 0 is the place before the first
/// event. The window keeps only the latest progress event of each download, and only until the download ends, because a
/// newer event replaces it.
struct ReplayWindow {
    /// A key is unique only within its namespace.
    private struct Download: Hashable {
        let namespace: String?
        let key: String
    }

    private let seal: EventIDSeal
    private let countLimit: Int
    private let byteLimit: Int
    /// The events from `head` on, numbered without gaps; `nil` where a newer event replaced a progress event.
    private var slots: [PublishedEvent?] = []
    private var head = 0
    /// The number of the event at `head`.
    private var first: UInt64 = 1
    private var bytes = 0
    /// The numbers of the progress events in the window.
    private var progress: [Download: UInt64] = [:]

    /// A new seal for each start of the server makes the ids. `countLimit` counts the slots of replaced progress
    /// events, too; `byteLimit` is approximate, and the last event stays in any case.
    init(seal: EventIDSeal, countLimit: Int, byteLimit: Int) {
        self.seal = seal
        self.countLimit = max(1, countLimit)
        self.byteLimit = byteLimit
    }

    private var count: Int { slots.count - head }
    /// The place behind the last event.
    var end: UInt64 { first + UInt64(count) - 1 }
    /// The id of the last event, or of the place where the next events begin.
    var endID: EventID { id(at: end) }
    func id(at place: UInt64) -> EventID { seal.id(of: place) }

    /// Replaces the progress event of the same download, and removes the oldest events that exceed the limits.
    mutating func append(_ event: Event) {
        let id = id(at: end + 1)
        if case .download(let report) = event.subject {
            let download = Download(namespace: event.namespace, key: report.status.key)
            if let overtaken = progress.removeValue(forKey: download) { clear(overtaken) }
            if event.kind == .downloadProgress { progress[download] = id.number }
        }
        slots.append(PublishedEvent(event, id: id))
        bytes += event.cost
        while count > countLimit || (bytes > byteLimit && count > 1) { removeFirst() }
    }

    /// The events after a place, in at most `limit` slots, and the place behind them: no events and the same place at
    /// the end of the window. `nil` when an event after the place has left the window, or the place does not exist.
    func events(after place: UInt64, limit: Int) -> (events: [PublishedEvent], place: UInt64)? {
        guard place <= end, place + 1 >= first else { return nil }
        let found = slots[(head + Int(place + 1 - first))...].prefix(limit)
        return (found.compactMap(\.self), place + UInt64(found.count))
    }

    /// The place of a listener that sends the last id that it saw; or the reason why the listener has missed events.
    func place(after id: String) -> Result<UInt64, Missed> {
        guard let number = seal.number(of: id) else { return .failure(Missed(reason: .restart)) }
        guard events(after: number, limit: 0) != nil else { return .failure(Missed(reason: .gap)) }
        return .success(number)
    }

    struct Missed: Error {
        let reason: Event.ResetReason
    }

    /// Forgets all events and skips a number. Events that happen from now on are not recorded, and a listener that
    /// comes back is told that it has missed some.
    mutating func forget() {
        first = end + 2
        (slots, head, bytes, progress) = ([], 0, 0, [:])
    }

    private mutating func clear(_ number: UInt64) {
        let index = head + Int(number - first)
        bytes -= slots[index]?.event.cost ?? 0
        slots[index] = nil
    }

    private mutating func removeFirst() {
        if let event = slots[head]?.event {
            bytes -= event.cost
            if event.kind == .downloadProgress, case .download(let report) = event.subject {
                progress[Download(namespace: event.namespace, key: report.status.key)] = nil
            }
            slots[head] = nil
        }
        head += 1
        first += 1
        // Removes empty slots in batches, because each removal moves the whole array.
        if head > 1024, head > count {
            slots.removeFirst(head)
            head = 0
        }
    }
}
