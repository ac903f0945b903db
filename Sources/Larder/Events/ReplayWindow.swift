import Crypto
import Foundation
import Primitives

/// The latest events, in order, for listeners that reconnect or have not got all events yet. A plain value.
///
/// A place in the window is the number of the last event that was sent to a listener; 0 is the place before the first
/// event. The window keeps only the latest progress event of each download and capture, and only until it ends.
struct ReplayWindow {
    /// A download, or a capture of a page. Their keys differ, but a key is unique only within its namespace.
    private struct Work: Hashable {
        let namespace: String?
        let key: String

        /// `nil` for an event of entries, of the outbox, of a subscription or of the listener.
        init?(of event: Event) {
            namespace = event.namespace
            switch event.subject {
            case .download(let report): key = report.status.key
            case .page(let report): key = report.key
            case .entries, .change, .subscription, .endedSubscription, .listener: return nil
            }
        }
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
    private var progress: [Work: UInt64] = [:]

    /// `seal` makes the ids; each start of the server makes a new seal. `countLimit` counts replaced progress events,
    /// too. `byteLimit` is approximate, and the last event stays even if it alone exceeds the limit.
    init(seal: EventIDSeal, countLimit: Int, byteLimit: Int) {
        self.seal = seal
        self.countLimit = max(1, countLimit)
        self.byteLimit = byteLimit
    }

    private var count: Int { slots.count - head }
    /// The place behind the last event.
    var end: UInt64 { first + UInt64(count) - 1 }
    /// The id of the last event; before the first event, the id of the place 0.
    var endID: EventID { id(at: end) }
    func id(at place: UInt64) -> EventID { seal.id(of: place) }

    /// Adds an event. Removes the older progress event of the same work and, beyond the limits, the oldest events.
    mutating func append(_ event: Event) {
        let id = id(at: end + 1)
        if let work = Work(of: event) {
            if let overtaken = progress.removeValue(forKey: work) { clear(overtaken) }
            if event.kind.isProgress { progress[work] = id.number }
        }
        slots.append(PublishedEvent(event, id: id))
        bytes += event.cost
        while count > countLimit || (bytes > byteLimit && count > 1) { removeFirst() }
    }

    /// Returns the events of the next `limit` places after `place`, and the last of these places. At the end of the
    /// window: no events, and `place`. `nil` when `place` does not exist, or an event after it has left the window.
    func events(after place: UInt64, limit: Int) -> (events: [PublishedEvent], place: UInt64)? {
        guard place <= end, place + 1 >= first else { return nil }
        let found = slots[(head + Int(place + 1 - first))...].prefix(limit)
        return (found.compactMap(\.self), place + UInt64(found.count))
    }

    /// Returns the place of a listener that has seen the event `id` last, or the reason why it has missed events.
    func place(after id: String) -> Result<UInt64, Event.ResetReason> {
        guard let number = seal.number(of: id) else { return .failure(.restart) }
        return events(after: number, limit: 0) == nil ? .failure(.gap) : .success(number)
    }

    /// Forgets all events, because the hub stops recording. Skips a number, so listeners that reconnect get a reset.
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
            if event.kind.isProgress, let work = Work(of: event) { progress[work] = nil }
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

/// An event in the window, with its id. A listener that reconnects sends the id of its last event.
package final class PublishedEvent: Sendable {
    package let id: EventID
    package let event: Event
    private let made = Locked<SharedBytes?>(nil)

    init(_ event: Event, id: EventID) {
        self.event = event
        self.id = id
    }

    /// The event in the form that listeners read. The first call makes the bytes, and all listeners share these bytes.
    package func bytes(_ make: (PublishedEvent) -> SharedBytes) -> SharedBytes {
        if let bytes = made.withLock({ $0 }) { return bytes }
        let bytes = make(self)
        made.withLock { $0 = bytes }
        return bytes
    }
}

/// The id of an event, and of the position behind it. A listener that sends the ``text`` back gets the later events.
///
/// The events of all namespaces are numbered in one sequence. Only ``EventIDSeal`` can make or read a text, and two
/// texts of one event differ, so a listener cannot find out how many events other namespaces have.
package struct EventID: Equatable, Sendable {
    /// Counts up from 1; 0 is the position before the first event.
    package let number: UInt64
    fileprivate let seal: EventIDSeal

    package var text: String {
        let bytes = withUnsafeBytes(of: number.bigEndian) { Data($0) }
        // Sealing fails only for a nonce or a key of a wrong size, and for more than 64 GiB.
        guard let sealed = try? AES.GCM.seal(bytes, using: seal.key).combined else { return "" }
        // 36 bytes encode to base64 without padding.
        return sealed.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
    }

    package static func == (left: EventID, right: EventID) -> Bool {
        left.number == right.number && left.seal === right.seal
    }
}

/// Makes and reads the texts of event ids. A text is the number, encrypted and authenticated with a random key
/// (AES-GCM), so that texts of an earlier process and forged texts are rejected.
package final class EventIDSeal: Sendable {
    fileprivate let key = SymmetricKey(size: .bits128)

    package func id(of number: UInt64) -> EventID { EventID(number: number, seal: self) }

    /// `nil` when the text was not made by this seal.
    package func number(of text: String) -> UInt64? {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        guard let sealed = Data(base64Encoded: base64), let box = try? AES.GCM.SealedBox(combined: sealed),
            let bytes = try? AES.GCM.open(box, using: key), bytes.count == 8
        else { return nil }
        return bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// Events that are not in the ``ReplayWindow`` yet, with a limit of about `byteLimit` bytes. An event beyond the limit
/// is dropped, and the backlog remembers the loss. A plain value.
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

    /// Adds events, in order. If earlier events were dropped, first adds a ``Event/Kind/reset`` in their place.
    mutating func add(_ new: [Event]) {
        for event in new {
            let pieces = (hasLost ? [Event(reset: .gap, at: event.time)] : []) + [event]
            let cost = pieces.reduce(0) { $0 + $1.cost }
            // An empty backlog takes an event of any size.
            guard events.isEmpty || bytes + cost <= byteLimit else {
                hasLost = true
                return
            }
            events += pieces
            bytes += cost
            hasLost = false
        }
    }

    /// Takes the first events: at most ``pieceLimit``, and at most a quarter of the byte limit, so that a window with
    /// the same limit still has all of them when listeners are fed. Takes a larger event alone.
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
