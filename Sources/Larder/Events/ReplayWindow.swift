/// What happened last, in order, for listeners that come back and for those that are behind: bounded in number and,
/// about, in bytes. A plain value.
///
/// A place in it is the number of the last event that a listener was told of: 0 before the first. Of a download's
/// progress only the last is kept, and only until the download ends: nobody needs what is older.
struct ReplayWindow {
    /// A download, whose key is one in its namespace alone.
    private struct Download: Hashable {
        let namespace: String?
        let key: String
    }

    private let seal: EventIDSeal
    private let countLimit: Int
    private let byteLimit: Int
    /// From `head` on, without gaps in their numbers; `nil` where progress was overtaken.
    private var slots: [PublishedEvent?] = []
    private var head = 0
    /// The number of the event at `head`.
    private var first: UInt64 = 1
    private var bytes = 0
    /// The numbers of the progress that is kept.
    private var progress: [Download: UInt64] = [:]

    /// - Parameters:
    ///   - seal: for the ids; another each time that the server starts.
    ///   - countLimit: how many are kept, overtaken progress included.
    ///   - byteLimit: how many bytes they may take; the last event is kept in any case.
    init(seal: EventIDSeal, countLimit: Int, byteLimit: Int) {
        self.seal = seal
        self.countLimit = max(1, countLimit)
        self.byteLimit = byteLimit
    }

    /// How many there are, overtaken progress included.
    private var count: Int { slots.count - head }

    /// The place of who was told of everything.
    var end: UInt64 { first + UInt64(count) - 1 }

    /// What was told of last, or the place where it goes on.
    var endID: EventID { id(at: end) }

    /// The id that stands for a place.
    func id(at place: UInt64) -> EventID { seal.id(of: place) }

    /// Adds what has happened.
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

    /// What came after a place, and the place behind it: nothing, and the same place, at the end.
    ///
    /// - Parameter limit: how many at the most; more may be there.
    /// - Returns: `nil` when something that came after the place is not there any more, or it is no place at all.
    func events(after place: UInt64, limit: Int) -> (events: [PublishedEvent], place: UInt64)? {
        guard place <= end, place + 1 >= first else { return nil }
        let found = slots[(head + Int(place + 1 - first))...].prefix(limit)
        return (found.compactMap(\.self), place + UInt64(found.count))
    }

    /// Where a listener goes on that gives back the last id that it saw: the place, or why it has missed something.
    func place(after id: String) -> Result<UInt64, Missed> {
        guard let number = seal.number(of: id) else { return .failure(Missed(reason: .restart)) }
        guard events(after: number, limit: 0) != nil else { return .failure(Missed(reason: .gap)) }
        return .success(number)
    }

    /// Why a listener cannot go on where it was.
    struct Missed: Error {
        let reason: Event.ResetReason
    }

    /// Forgets everything, and counts up: from now on nobody knows what happens, and whoever comes back has missed it.
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
        // Places go in batches, so that a long window is not moved for each of them.
        if head > 1024, head > count {
            slots.removeFirst(head)
            head = 0
        }
    }
}
