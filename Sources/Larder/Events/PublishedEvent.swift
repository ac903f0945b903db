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
