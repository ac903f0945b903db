import Primitives

/// An event that is told of, with the id by which a listener says where it was.
public final class PublishedEvent: Sendable {
    /// Its id.
    public let id: EventID
    /// What happened.
    public let event: Event
    private let made = Locked<SharedBytes?>(nil)

    init(_ event: Event, id: EventID) {
        self.event = event
        self.id = id
    }

    /// The event as its listeners read it: what `make` returns the first time, shared by all of them.
    public func bytes(_ make: (PublishedEvent) -> SharedBytes) -> SharedBytes {
        if let bytes = made.withLock({ $0 }) { return bytes }
        let bytes = make(self)
        made.withLock { $0 = bytes }
        return bytes
    }
}

/// Names an event, and with it all that came before: `5f3a9c21-42`. Whoever gives one back is told what came after.
public struct EventID: Hashable, Sendable {
    /// Another for each time that the server starts: of what was before nothing is known.
    public let run: UInt32
    /// Counts up, from 1.
    public let number: UInt64

    init(run: UInt32, number: UInt64) {
        self.run = run
        self.number = number
    }

    /// Reads a text; `nil` when it is no id.
    public init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2, let run = UInt32(Substring(parts[0]), radix: 16),
            let number = UInt64(Substring(parts[1]))
        else { return nil }
        self.init(run: run, number: number)
    }

    /// The text that stands for it.
    public var text: String { "\(String(run, radix: 16))-\(number)" }
}
